"""What every test has: no network, no keys, and a folder of its own to stand in."""

from __future__ import annotations

import gc
import ipaddress
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from postgres_server import PostgresServer, a_server

LONGEST_FIRST = (
    "tests/scoring/test_known_truth.py",
    "tests/faults/test_fault_table.py",
    "tests/sweep/test_demo.py",
    "tests/offline/test_many_units.py",
    "tests/offline/test_many_step_cases.py",
    "tests/independent/test_reports_recomputed.py",
    "tests/scoring/test_meteor15.py",
    "tests/fuzz/test_fuzz.py",
    "tests/report/test_page_browser.py",
    "tests/scoring/test_statistics_coverage.py",
    "tests/independent/test_triage_recomputed.py",
    "tests/cache/test_store_processes.py",
    "tests/explaining/test_explain.py",
    "tests/sweep/test_sweep_interrupted.py",
    "tests/sweep/test_sweep_outcomes.py",
    "tests/sweep/test_sweep_again.py",
    "tests/sweep/test_sweep_postgres.py",
    "tests/sweep/test_sweep_resume.py",
    "tests/sweep/test_sweep_keys.py",
    "tests/cache/test_merge_scores.py",
    "tests/benchmarks/test_case_loading.py",
    "tests/engine/test_client_load.py",
    "tests/benchmarks/test_pandent_report_scores.py",
    "tests/frames/test_loop_lag.py",
)
"""Files that take a core for longest, of the default suite and of the slow one. They are begun first, so that
none of them is all that is left to do at the end, for one of the two cores."""


def pytest_configure(config: pytest.Config) -> None:
    """Let pytest-xdist keep the order of files; by itself it begins with those of most tests."""
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False
    gc.disable()


def pytest_collection_finish() -> None:
    """Set apart what was collected: a million objects that stay, which a full collection walks through.

    That took a fifth of the suite's time.
    """
    gc.enable()
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first; the order within a file stays."""
    ranks = {name: rank for rank, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: ranks.get(item.nodeid.partition("::")[0], len(ranks)))


class StrayConnectionError(RuntimeError):
    """A test tried to reach something beyond this machine.

    No OSError: the code under test would take one for a network fault and go on.
    """


def _is_local(address: object) -> bool:
    if not isinstance(address, tuple):
        return True  # a Unix socket's path
    host = str(address[0]).split("%")[0]
    if host in {"localhost", ""}:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_local_name(host: object) -> bool:
    if host is None:
        return True
    text = host.decode() if isinstance(host, bytes) else str(host)
    try:
        ipaddress.ip_address(text.split("%")[0])
    except ValueError:
        return text in {"localhost", ""}
    return True  # numbers need no name server


@pytest.fixture(autouse=True, scope="session")
def no_network() -> Iterator[None]:
    """Raise on every connection and every name look-up that leaves this machine."""
    connect, connect_ex, getaddrinfo = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def guarded_connect(self: socket.socket, address: object) -> None:
        if not _is_local(address):
            raise StrayConnectionError(f"a test connects to {address!r}; only loopback servers are allowed")
        return connect(self, address)  # type: ignore[arg-type]

    def guarded_connect_ex(self: socket.socket, address: object) -> int:
        if not _is_local(address):
            raise StrayConnectionError(f"a test connects to {address!r}; only loopback servers are allowed")
        return connect_ex(self, address)  # type: ignore[arg-type]

    def guarded_getaddrinfo(host: object, *args: object, **kwargs: object) -> object:
        if not _is_local_name(host):
            raise StrayConnectionError(f"a test looks up {host!r}; only loopback servers are allowed")
        return getaddrinfo(host, *args, **kwargs)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded_connect)
        patch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
        patch.setattr(socket, "getaddrinfo", guarded_getaddrinfo)
        yield


@pytest.fixture(autouse=True)
def clean_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Take keys, proxies and our own variables out of the environment, and stand in an empty folder."""
    for name in list(os.environ):
        ours = name.startswith("HARNESS_") or name == "COLUMNS"
        if ours or name.endswith("_API_KEY") or name.casefold().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The folder of the checkout that the tests belong to."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def postgres(no_network: None) -> Iterator[PostgresServer]:
    """A Postgres server; skips where none is at hand."""
    with a_server() as server:
        yield server
