"""Every adapter against aimock, a server by others that speaks the providers' formats and breaks them.

Skipped unless HARNESS_TEST_AIMOCK names a running one (CONTRIBUTING says how to start it), whose answers and
journal are then cleared. One run asks a model for every fault, in every format, still and streamed, at once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from aimock_faults import FAULTS, OF_STREAMS, Aimock, Fault
from sweep_kit import Done, harness, records, run_args, write_cases

URL = os.environ.get("HARNESS_TEST_AIMOCK", "")  # read here: tests have an environment without it
PATHS = {"openai": "/v1", "openai-responses": "/v1", "anthropic": "/v1", "gemini": "/v1beta"}
KEY = "sk-0123456789abcdefghijklmnop"
LONGEST_WAIT_S = 1.5

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not URL, reason="HARNESS_TEST_AIMOCK names no aimock server"),
]


def models() -> dict[str, tuple[str, bool, str]]:
    """Return each model's adapter, whether it streams, and which fault it meets, by a name of one word."""
    return {
        f"{adapter}.{'stream' if streams else 'still'}.{fault.replace(' ', '.')}": (adapter, streams, fault)
        for adapter in PATHS
        for streams in (False, True)
        for fault in FAULTS
    }


def expected(adapter: str, streams: bool, name: str) -> Fault:
    """Return what comes of a fault in a format."""
    if name in OF_STREAMS and not streams:
        return FAULTS["none"]
    if name == "blocked" and adapter == "openai-responses":
        # aimock says "failed" without a reason there, where OpenAI says "incomplete" with one.
        return Fault((), "provider_error", ("unavailable",) * 2, ("unavailable",))
    return FAULTS[name]


def config(max_sends: int) -> Iterator[str]:
    for adapter, path in PATHS.items():
        yield f'[providers.at-{adapter}]\nadapter = "{adapter}"\nbase_url = "{URL.rstrip("/")}{path}"'
        yield 'api_key_env = "AIMOCK_API_KEY"'
    for name, (adapter, streams, _) in models().items():
        yield f'[models."{name}"]\nprovider = "at-{adapter}"\nmodel = "{name}"\nmax_sends = {max_sends}'
        yield f"max_output_tokens = 4096\nstream = {str(streams).lower()}"


def ask_all(folder: Path, max_sends: int, monkeypatch: pytest.MonkeyPatch) -> Done:
    """Ask every model about one case."""
    monkeypatch.setenv("AIMOCK_API_KEY", KEY)
    write_cases(folder / "data", 1)
    (folder / "harness.toml").write_text("\n".join(config(max_sends)) + "\n", encoding="utf-8")
    return harness(*run_args(folder, "--max-wait", str(LONGEST_WAIT_S), models=",".join(models())))


@pytest.mark.parametrize("max_sends", [4, 1])
def test_every_fault_ends_as_the_table_says_with_as_many_arrivals(
    max_sends: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, asked = Aimock(URL), models()
    server.load({name: FAULTS[fault] for name, (_, _, fault) in asked.items()})
    done = ask_all(tmp_path, max_sends, monkeypatch)
    assert done.code == 3, done.err
    arrivals = server.arrivals()
    found: dict[str, tuple[str, tuple[str, ...], int]] = {}
    for record in records(tmp_path):
        sends = tuple(exchange["outcome"] for exchange in record["exchanges"])
        found[record["model"]] = (record["outcome"], sends, arrivals[record["model"]])
    assert found == {name: wanted(expected(*what), max_sends) for name, what in asked.items()}
    assert sum(arrivals.values()) == sum(len(sends) for _, sends, _ in found.values())
    assert KEY not in done.out + done.err
    for written in filter(Path.is_file, tmp_path.rglob("*")):
        assert KEY.encode() not in written.read_bytes(), written


def wanted(fault: Fault, max_sends: int) -> tuple[str, tuple[str, ...], int]:
    """Return a unit's outcome, the outcomes of its exchanges, and how many requests arrived."""
    sends, ends = fault.sends, fault.ends
    if max_sends == 1:
        sends = fault.sends if fault.once is None else fault.once
        ends = fault.ends_once or fault.ends
    return ends, sends, len(sends)


def test_an_answer_and_its_reasoning_are_read_alike_still_and_streamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, asked = Aimock(URL), models()
    server.load({name: FAULTS["thinking"] for name in asked})
    assert ask_all(tmp_path, 1, monkeypatch).code == 0
    texts: Mapping[str, object] = {
        record["model"]: (record["exchanges"][0]["text"], record["exchanges"][0]["reasoning"])
        for record in records(tmp_path)
    }
    said = FAULTS["thinking"].entries[0]["response"]
    assert texts == {name: (said["content"], said["reasoning"]) for name in asked}
