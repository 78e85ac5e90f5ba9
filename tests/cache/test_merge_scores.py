"""Half a run here, half elsewhere: joined, it scores as one run would have; also after a kill."""

from __future__ import annotations

import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from store_examples import dump
from sweep_kit import harness

HALVES = {
    "a": "case_id < 'syn-007'",
    "b": "case_id >= 'syn-007'",
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one run of simulated models, retries, failures and reformatted answers in it."""
    folder = tmp_path_factory.mktemp("whole")
    store = folder / "store.sqlite3"
    args = ("--benchmark", "triage", "--models", "sim/flaky,sim/messy", "--limit", "12", "--name", "both")
    done = harness("run", *args, "--store", store)
    assert done.code in {0, 3}, done.err
    return store


@pytest.fixture(scope="module")
def wanted(whole: Path) -> str:
    """The scores of the whole."""
    return score(whole)


def half(whole: Path, path: Path, name: str) -> Path:
    """Return a copy in which only one half of the cases was ever asked."""
    shutil.copy(whole, path)
    mine = HALVES[name]
    with sqlite3.connect(path) as database:
        for statement in (
            f"DELETE FROM unit_exchange WHERE NOT ({mine})",
            f"DELETE FROM unit WHERE NOT ({mine})",
            "DELETE FROM served WHERE exchange_id NOT IN (SELECT exchange_id FROM unit_exchange)",
            "DELETE FROM exchange WHERE id NOT IN (SELECT exchange_id FROM unit_exchange)",
            "DELETE FROM record",
            "DELETE FROM unit_score",
            f"UPDATE session SET started_at_us = started_at_us + {ord(name)}",
        ):
            database.execute(statement)
    database.close()
    return path


def score(store: Path) -> str:
    done = harness("score", "both", "--store", store, "--json")
    assert done.code == 0, done.err
    return done.out


def records(store: Path) -> list[str]:
    done = harness("export", "both", "--raw", "--store", store)
    return sorted(done.out.splitlines())


def merge(store: Path, other: Path, *more: str) -> Any:
    done = harness("store", "merge", other, "--store", store, "--json", *more)
    assert done.code == 0, done.err
    return done.json


@pytest.mark.slow
def test_two_halves_score_as_the_whole_to_the_byte(
    whole: Path, wanted: str, tmp_path: Path
) -> None:
    a, b = (half(whole, tmp_path / f"{name}.sqlite3", name) for name in HALVES)
    assert score(a) != wanted != score(b)
    report = merge(a, b)
    assert report["units_new"] == 12 and report["conflicts"] == 0
    assert score(a) == wanted == score(whole)
    assert records(a) == records(whole)
    assert harness("store", "verify", "--store", a).code == 0


def test_nothing_is_left_to_ask_after_the_halves_are_joined(whole: Path, tmp_path: Path) -> None:  # F29
    a, b = (half(whole, tmp_path / f"{name}.sqlite3", name) for name in HALVES)
    merge(a, b)
    args = ("--benchmark", "triage", "--models", "sim/flaky,sim/messy", "--limit", "12", "--name", "both")
    done = harness("run", *args, "--store", a, "--dry-run", "--json")
    assert done.code == 0, done.err
    assert '"to_send": 0' in done.out and '"to_send": 1' not in done.out


def test_the_order_of_joining_does_not_change_the_score(whole: Path, wanted: str, tmp_path: Path) -> None:
    a, b = (half(whole, tmp_path / f"{name}.sqlite3", name) for name in HALVES)
    merge(b, a)
    assert score(b) == wanted


def test_joining_into_a_new_store_gives_the_same_run(whole: Path, wanted: str, tmp_path: Path) -> None:
    empty = tmp_path / "new.sqlite3"
    for name in HALVES:
        merge(empty, half(whole, tmp_path / f"{name}.sqlite3", name))
    assert score(empty) == wanted


MERGE_SLOWLY = """
import asyncio, os, signal, sys
from pathlib import Path
import harness.cache.merge as merge
from harness.cache.store import Store, bring_up_to_date
merge.ROWS, merge.UNITS = 3, 3
steps = int(sys.argv[3])
original = merge.MergeStore._step
async def step(self, *args, **more):
    global steps
    steps -= 1
    if steps < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return await original(self, *args, **more)
merge.MergeStore._step = step
async def main():
    async with await Store.open(sys.argv[1]) as store:
        await store.merge(Path(sys.argv[2]), bring_up_to_date)
    print("done")
asyncio.run(main())
"""


def merge_in_a_process(store: Path, other: Path, steps: int) -> int:
    """Merge in small steps in a process that kills itself before the given one; return its exit code."""
    given = [sys.executable, "-c", MERGE_SLOWLY, str(store), str(other), str(steps)]
    return subprocess.run(given, capture_output=True, text=True, timeout=120).returncode


@pytest.mark.slow
@pytest.mark.parametrize("steps", [4, 9, 14, 20])
def test_a_merge_that_was_killed_is_finished_by_the_same_merge(
    whole: Path, wanted: str, tmp_path: Path, steps: int
) -> None:  # F23
    a, b = (half(whole, tmp_path / f"{name}.sqlite3", name) for name in HALVES)
    straight = Path(shutil.copy(a, tmp_path / "straight.sqlite3"))
    merge(straight, b)
    assert merge_in_a_process(a, b, steps) == -signal.SIGKILL
    partly = dump(a)
    assert partly != dump(straight)
    assert harness("store", "verify", "--store", a).code == 0
    merge(a, b)
    assert dump(a) == dump(straight)
    assert score(a) == wanted


@pytest.mark.slow
def test_a_merge_may_be_killed_before_any_step(whole: Path, tmp_path: Path) -> None:  # F23
    a, b = (half(whole, tmp_path / f"{name}.sqlite3", name) for name in HALVES)
    straight = Path(shutil.copy(a, tmp_path / "straight.sqlite3"))
    merge(straight, b)
    wanted = dump(straight)
    for steps in range(200):
        target = Path(shutil.copy(a, tmp_path / "killed.sqlite3"))
        code = merge_in_a_process(target, b, steps)
        if code == 0:
            assert steps > 15
            break
        merge(target, b)
        assert dump(target) == wanted, steps
        for name in ("killed.sqlite3", "killed.sqlite3-wal", "killed.sqlite3-shm"):
            (tmp_path / name).unlink(missing_ok=True)
    else:
        pytest.fail("the merge never came to its end")


def test_nothing_is_left_beside_the_other_store(whole: Path, tmp_path: Path) -> None:
    a, b = (half(whole, tmp_path / f"{name}.sqlite3", name) for name in HALVES)
    merge(a, b)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.sqlite3", "b.sqlite3"]
