"""Bars on a terminal of 80 columns: no line wraps, and what is said stands on lines of its own."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path

import pytest
from scripted_replies import chat_reply
from scripted_server import ScriptedServer
from sweep_kit import answer_text, run_args, write_cases, write_config

from harness.budget import Budget, MaxCost
from harness.cli.options import say
from harness.cli.progress import Progress
from harness.messages import Fault, Usage
from harness.outcomes import ExchangeOutcome
from harness.pools.limits import PoolLimits
from harness.pools.pool import Pool
from harness.settings import Model, Price, Provider

COLUMNS = 80
MOVES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|[\r\n]")

pytestmark = pytest.mark.skipif(not Path("/dev/ptmx").exists(), reason="needs a pseudo terminal")


def spent_by_guess() -> Budget:
    """Return a budget of which one send's cost is known, and that of another is not."""
    lab = Provider(name="lab", adapter="openai", base_url="http://127.0.0.1:1/v1")
    model = Model(name="m", model="m", provider=lab, price=Price(input=1.0, output=2.0), max_output_tokens=9)
    budget = Budget(MaxCost())

    async def send() -> None:
        for usage in (Usage(1000, 5), Usage()):
            async with budget.reserve(model, 1000, {}) as reservation:
                reservation.settle(usage, billed=True)

    asyncio.run(send())
    return budget


def shown_on_terminal(monkeypatch: pytest.MonkeyPatch) -> str:
    """Return what a run of two models with many faults writes to a terminal, and a sentence after it."""
    master, slave = terminal()
    pools = {name: Pool(name, PoolLimits()) for name in ("m", "other")}
    for pool in pools.values():
        for outcome in (ExchangeOutcome.RATE_LIMITED, ExchangeOutcome.UNAVAILABLE, ExchangeOutcome.TIMEOUT):
            pool.report(Fault(outcome, "no", wait_s=42.0))
    with os.fdopen(slave, "w", encoding="utf-8") as stderr, monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", stderr)
        with Progress({"m": 10, "other": 10}) as progress:
            progress.refresh(pools, spent_by_guess(), {"m": 12_345, "other": 12_345})
        say("said after the bars")
    return all_of(master)


def test_a_fault_of_models_that_share_a_pool_is_no_single_ones(capsys: pytest.CaptureFixture[str]) -> None:
    shared, own = Pool("lab m", PoolLimits()), Pool("lab n", PoolLimits())
    for pool in (shared, own):
        pool.report(Fault(ExchangeOutcome.BAD_REQUEST, "no"))
    with Progress({"a": 1, "b": 1, "c": 1}, terminal=False) as progress:
        for _ in range(2):
            progress.refresh({"a": shared, "c": own, "b": shared}, spent_by_guess(), {})
    assert capsys.readouterr().err.splitlines() == ["a, b: bad_request: no", "c: bad_request: no"]


def terminal() -> tuple[int, int]:
    """Return both ends of a pseudo terminal."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    return master, slave


def all_of(master: int) -> str:
    """Return what was written to a pseudo terminal whose other end is closed."""
    pieces = []
    with suppress(OSError):  # Linux gives EIO at the end
        while piece := os.read(master, 65_536):
            pieces.append(piece)
    os.close(master)
    return b"".join(pieces).decode()


def test_no_bar_wraps_and_what_follows_begins_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    written = shown_on_terminal(monkeypatch)
    pieces = [piece for piece in MOVES.split(written) if piece]
    assert any("wait for another process" in piece for piece in pieces), written
    assert max(map(len, pieces)) < COLUMNS
    assert re.search(r"\n\r*said after the bars\r?\n$", written), written[-300:]


def test_a_bar_shows_what_is_known_and_marks_that_more_was_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "$0.0010+?" in shown_on_terminal(monkeypatch)


@pytest.mark.slow
def test_what_a_session_says_at_its_end_stands_below_the_bars(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 3)
    price = "price = { input = 1.0, output = 2.0 }\nparams = { max_tokens = 1000 }\n"
    with ScriptedServer(lambda arrival: chat_reply(answer_text(), usage=(1000, 1000))) as server:
        config = write_config(tmp_path, server.url)
        config.write_text(config.read_text() + price)
        master, slave = terminal()
        command = [sys.executable, "-m", "harness", *map(str, run_args(tmp_path))]
        done = subprocess.run(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=slave, timeout=60)
        os.close(slave)
    written = all_of(master)
    assert done.returncode == 0, written
    bars, _, said = written.rpartition("spent in this session: $0.0090\r\n")
    assert re.search(r"all +3/3 .*\$0\.0090\r\n$", bars), written
    assert "\x1b[A" in bars and "\x1b" not in said and "3/3" not in said, written
