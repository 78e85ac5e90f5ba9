"""The guards that all other tests rely on."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import aiohttp
import pytest
from conftest import LONGEST_FIRST


def test_a_connection_beyond_this_machine_raises() -> None:
    with socket.socket() as stray, pytest.raises(RuntimeError, match="only loopback"):
        stray.connect(("192.0.2.1", 80))


def test_a_name_look_up_raises() -> None:
    with pytest.raises(RuntimeError, match=r"looks up 'example\.org'"):
        socket.getaddrinfo("example.org", 443)


async def test_a_stray_request_is_no_transport_fault_that_code_could_swallow() -> None:
    async with aiohttp.ClientSession() as session:
        with pytest.raises(RuntimeError, match="only loopback"):
            await session.get("http://192.0.2.1/")


def test_loopback_is_reached() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        accepted = threading.Thread(target=lambda: server.accept()[0].close())
        accepted.start()
        socket.create_connection(server.getsockname(), timeout=5).close()
        accepted.join(5)
        assert not accepted.is_alive()


def test_no_key_and_no_own_variable_is_in_the_environment() -> None:
    assert [name for name in os.environ if name.endswith("_API_KEY") or name.startswith("HARNESS_")] == []


def test_tests_stand_in_their_own_empty_folder(tmp_path: Path) -> None:
    assert Path.cwd() == tmp_path
    assert list(tmp_path.iterdir()) == []


def test_the_files_that_are_begun_first_are_there_and_begun_first(
    checkout: Path, request: pytest.FixtureRequest
) -> None:
    assert [name for name in LONGEST_FIRST if not (checkout / name).is_file()] == []
    files = [item.nodeid.partition("::")[0] for item in request.session.items]
    first = [name in LONGEST_FIRST for name in files]
    assert first == sorted(first, reverse=True)
    assert not getattr(request.config.option, "loadscopereorder", False)
