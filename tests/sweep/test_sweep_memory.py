"""What a sweep holds in memory at once: as much for many cases as for few."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections import Counter
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from medlay_examples import line, write
from scripted_replies import chat_reply
from scripted_server import ScriptedServer
from sweep_kit import finish, harness, right_answer, run_args, spawn, write_cases, write_config

from harness import case_spool, dry_run, window
from harness.benchmarks.base import Case
from harness.cache.rows import UnitId
from harness.cli.progress import Progress
from harness.messages import Request
from harness.outcomes import UnitOutcome
from harness.plans import Unit

WINDOW = window.SMALLEST + 8
"""Units at work for each model when 4 may be in flight, and those that are just coming or going."""
PER_UNIT = 2
"""Tasks and requests for each unit at work."""


class Counted(Case):
    """A case that is counted while it is alive."""

    __slots__ = ("__weakref__",)
    alive: ClassVar[dict[int, weakref.ref[Case]]] = {}

    @classmethod
    def of(cls, case: Case) -> Counted:
        counted = cls(*(getattr(case, one.name) for one in fields(Case)))
        place = id(counted)
        cls.alive[place] = weakref.ref(counted, lambda _: cls.alive.pop(place))
        return counted


@pytest.fixture
def alive(monkeypatch: pytest.MonkeyPatch) -> Mapping[int, object]:
    """The cases in memory, however they were come by."""
    decoded = case_spool._decoded
    monkeypatch.setattr(case_spool, "_decoded", lambda *args: Counted.of(decoded(*args)))
    assert Counted.alive == {}
    return Counted.alive


def in_memory(*kinds: type) -> dict[type, int]:
    gc.collect()
    counts = dict.fromkeys(kinds, 0)
    for one in gc.get_objects():
        if type(one) in counts:
            counts[type(one)] += 1
    return counts


def test_cases_units_and_requests_in_memory_do_not_grow_with_the_run(
    tmp_path: Path, alive: Mapping[int, object], monkeypatch: pytest.MonkeyPatch
) -> None:  # F36
    write_cases(tmp_path / "data", 300)
    done, most = Progress.unit_done, Counter[str]()

    def look(progress: Progress, unit: UnitId, outcome: UnitOutcome) -> None:
        done(progress, unit, outcome)
        now = {"cases": len(alive), "tasks": len(asyncio.all_tasks())}
        if progress._done.total() == 150:
            found = in_memory(Unit, Request)
            now |= {"units": found[Unit], "requests": found[Request]}
        for name, count in now.items():
            most[name] = max(most[name], count)

    monkeypatch.setattr(Progress, "unit_done", look)
    monkeypatch.setattr("harness.cli.run_command.score_run", nothing)
    monkeypatch.setattr("harness.cli.run_command.show_score", lambda *args, **more: None)
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url)
        assert harness(*run_args(tmp_path, "--max-in-flight", "4")).code == 0
        assert len(server.arrivals) == 300
    assert 0 < most["units"] <= WINDOW
    assert 0 < most["cases"] <= WINDOW
    assert 0 < most["requests"] <= PER_UNIT * WINDOW
    assert 0 < most["tasks"] <= PER_UNIT * WINDOW
    assert not alive


async def nothing(*args: object) -> SimpleNamespace:
    """Score no run: scoring may hold cases as it likes."""
    return SimpleNamespace(served_as=list)


def test_planning_and_a_forecast_hold_one_batch_of_cases(
    tmp_path: Path, alive: Mapping[int, object], monkeypatch: pytest.MonkeyPatch
) -> None:  # F36
    monkeypatch.setattr("harness.dry_run.BATCH", 20)
    monkeypatch.setattr("harness.benchmarks.case_loading.BATCH", 20)
    write_cases(tmp_path / "data", 200)
    most = 0
    priced = dry_run._add

    def add(*args: Any) -> None:
        nonlocal most
        most = max(most, len(alive))
        priced(*args)

    monkeypatch.setattr(dry_run, "_add", add)
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url)
        done = harness(*run_args(tmp_path, "--dry-run", "--json"))
    assert done.code == 0 and done.json["models"][0]["to_send"] == 200
    assert 0 < most <= 2 * 20 + 1


PEAK = """
import sys
from harness.benchmarks.medlay import baselines
from harness.cli.main import cli
baselines.MOST = 20
try:
    cli.main(sys.argv[1:])
finally:
    with open("/proc/self/status") as file:
        print(*(words.split()[1] for words in file if words.startswith("VmHWM:")), file=sys.stderr)
"""
CAPTION = "The region of interest shows a hypodense lesion of the liver without enhancement. " * 90


def peak_kib(folder: Path, *args: str | Path) -> int:
    """Return the most memory that a command had as a process of its own."""
    store = ("--store", folder / "store.sqlite3", "--config", folder / "harness.toml")
    done = finish(spawn(*args, *store, cwd=folder, code=PEAK), timeout=240)
    assert done.code == 0, done.err
    return int(done.err.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is Linux's VmHWM")
def test_a_shard_and_its_score_take_little_for_each_case_of_the_run(tmp_path: Path) -> None:  # F36
    counts, peaks = (400, 6_400), []
    with ScriptedServer(lambda arrival: chat_reply("1. A scan.\n2. A spot.\n3. It is harmless.")) as server:
        for count in counts:
            folder = tmp_path / str(count)
            same = {"image": "images/one.png", "lay_caption": CAPTION}
            write(
                folder / "data",
                *(line(f"c{n:05}", expert_caption=f"{n} {CAPTION}", **same) for n in range(count)),
            )
            write_config(folder, server.url, inputs=["text", "image"])
            run = ("run", "--benchmark", "medlay", "--models", "m", "--data", folder / "data")
            before = len(server.arrivals)
            fresh = peak_kib(folder, *run, "--shard", f"1/{count // 40}", "--conditions", "C")
            assert 20 <= len(server.arrivals) - before <= 70
            again = peak_kib(folder, "resume", "--dry-run")
            peaks.append([fresh, again, peak_kib(folder, "score", "latest")])
    per_case = [(many - few) / (counts[1] - counts[0]) for few, many in zip(*peaks, strict=True)]
    # A case has 15 KiB. What is kept of each are its id, where it stands and the byte of its unit.
    assert max(per_case) < 4, (per_case, peaks)
