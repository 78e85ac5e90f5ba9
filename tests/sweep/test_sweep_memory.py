"""What a sweep holds in memory at once: as much for many cases as for few."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripted_server import ScriptedServer
from sweep_kit import harness, right_answer, run_args, write_cases, write_config

from harness import window
from harness.benchmarks.base import Case
from harness.cli.progress import Progress
from harness.messages import Request
from harness.plans import Unit

WINDOW = window.SMALLEST + 8
"""Units at work for each model when 4 may be in flight, and those that are just coming or going."""
PER_UNIT = 2
"""Cases for each unit at work: its own, and the one that its model's next unit may share."""


class Watched:
    """The most of each kind that was alive whenever a unit had ended."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.most: dict[str, int] = {}
        done = Progress.unit_done

        def look(progress: Progress, *args: object) -> None:
            done(progress, *args)  # type: ignore[arg-type]
            if progress._done.total() % 25 == 0:
                self.look()

        monkeypatch.setattr(Progress, "unit_done", look)

    def look(self) -> None:
        gc.collect()
        counts = {"tasks": len(asyncio.all_tasks()), "cases": 0, "units": 0, "requests": 0}
        for one in gc.get_objects():
            for name, kind in (("cases", Case), ("units", Unit), ("requests", Request)):
                counts[name] += type(one) is kind
        self.most = {name: max(count, self.most.get(name, 0)) for name, count in counts.items()}


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    yield Watched(monkeypatch)


def test_cases_units_and_requests_in_memory_do_not_grow_with_the_run(
    tmp_path: Path, watched: Watched
) -> None:  # F36
    write_cases(tmp_path / "data", 500)
    gc.collect()
    before = sum(type(one) is Case for one in gc.get_objects())
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url)
        assert harness(*run_args(tmp_path, "--max-in-flight", "4", "--structured", "off")).code == 0
        assert len(server.arrivals) == 500
    assert 0 < watched.most["units"] <= WINDOW
    assert 0 < watched.most["cases"] - before <= PER_UNIT * WINDOW
    assert 0 < watched.most["requests"] <= PER_UNIT * WINDOW
    assert 0 < watched.most["tasks"] <= 2 * WINDOW


def test_planning_and_a_forecast_hold_one_batch_of_cases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # F36
    monkeypatch.setattr("harness.dry_run.BATCH", 20)
    monkeypatch.setattr("harness.benchmarks.case_loading.BATCH", 20)
    write_cases(tmp_path / "data", 300)
    gc.collect()
    before = sum(type(one) is Case for one in gc.get_objects())
    most = 0
    from harness import dry_run

    add = dry_run._add

    def counting(*args: object) -> None:
        nonlocal most
        most = max(most, sum(type(one) is Case for one in gc.get_objects()))
        add(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(dry_run, "_add", counting)
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url)
        done = harness(*run_args(tmp_path, "--dry-run", "--json"))
    assert done.code == 0 and done.json["models"][0]["to_send"] == 300
    assert 0 < most - before <= 45
