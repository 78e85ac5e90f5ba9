"""The units that stored scores keep are those that the numbers are made of, for every benchmark."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sweep_kit import harness

from harness.cache.grades import NewGrade
from harness.cache.store import Store
from harness.cache.stored_scores import PackedUnits, UnitsKey
from harness.errors import StoreError
from harness.offline.kept_units import KeptUnits, pack_units, unpack_units
from harness.offline.row_units import RowKey, UnitColumns
from harness.offline.score_rows import over_repeats
from harness.offline.scored_runs import ScoredRun, scored_run
from harness.outcomes import UnitOutcome
from harness.scoring.resampling import Resampling

ASKED = {
    "triage": ("--models", "sim/messy,sim/flaky", "--conditions", "both,complaint", "--repeats", "2",
               "--limit", "6"),
    "pandent": ("--models", "sim/messy", "--conditions", "report,attribute:caries", "--limit", "5"),
    "medlay": ("--models", "sim/messy,sim/reader", "--conditions", "A,C", "--limit", "4"),
    "radm": ("--models", "sim/messy,sim/flaky", "--conditions", "text,text_images", "--limit", "8"),
}  # fmt: skip
UNIONS = {"triage": "ablation", "pandent": None, "medlay": "ablation", "radm": "text_to_text_images"}
OTHERS = {
    "triage": {"baseline", "rater"}, "pandent": {"baseline"}, "medlay": {"baseline"}, "radm": set[str](),
}  # fmt: skip
"""Kinds of rows that are kept beside models: no drawn baselines."""
CHANGED = "its answers, grades or settings have changed"


@pytest.fixture(autouse=True)
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Leave out the one metric whose program takes seconds to start."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", ASKED)
def test_the_numbers_of_every_row_are_made_of_the_units_that_are_kept(tmp_path: Path, benchmark: str) -> None:
    store = tmp_path / "store.sqlite3"
    done = harness("run", "--benchmark", benchmark, *ASKED[benchmark], "--json", "--store", store)
    assert done.code in {0, 3}, done.err
    told: list[str] = []
    if benchmark == "radm":
        graded = harness("step", "grade", "--model", "sim/careful", "--store", store)
        assert graded.code == 0, graded.err
        asyncio.run(check(store, told, "latest"))
    assert told == [], "what a command has just scored is read"
    found = asyncio.run(check(store, told, done.json["run"]["name"]))
    assert told == ([CHANGED] if benchmark == "radm" else []), "it is graded by now"
    assert {row.kind for row in found.rows} == {"model"} | OTHERS[benchmark]
    assert UNIONS[benchmark] is None or UNIONS[benchmark] in {row.condition for row in found.rows}


def test_a_step_is_scored_anew_when_the_answers_that_it_followed_change(tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite3"
    asked = ("--benchmark", "radm", "--models", "sim/steady", "--conditions", "text", "--limit", "3")
    done = harness("run", *asked, "--json", "--store", store)
    assert done.code == 0, done.err
    assert harness("step", "grade", "--model", "sim/careful", "--store", store).code == 0

    async def again() -> None:
        async with await Store.open(str(store)) as opened:
            step, source = await opened.find_run(), await opened.find_run(done.json["run"]["name"])
            assert not (await scored_run(opened, step)).made
            unit = next(iter(await opened.unit_states(source.id)))
            await opened.mark_again(source.id, [unit])
            told: list[str] = []
            found = await scored_run(opened, step, tell=told.append)
            assert found.score["step"]["answers_changed"] == 1
            assert told == [f"scoring run {step.name!r} first: {CHANGED}"]
            await opened.add_grades(source.id, [NewGrade(unit, "me", "tier_1", 3, 5)])
            assert (await scored_run(opened, step)).made

    asyncio.run(again())


async def check(store: Path, told: list[str], name: str) -> ScoredRun:
    """Recompute every row of a run from the units that are kept of it."""
    async with await Store.open(str(store)) as opened:
        run = await opened.find_run(name)
        found = await scored_run(opened, run, tell=lambda line: told.append(line.rpartition(": ")[2]))
        compared = 0
        for key in found.rows:
            (row,) = rows_of(found, key)
            shown = {path: (one["value"], one["n"], one["ci"]) for path, one in row["as_answered"].items()}
            made = await recomputed(found, key)
            assert made and {path: shown[path] for path in made} == made, key
            compared += sum(value is not None for value, _, _ in made.values())
        with_units = {(key.kind, key.name, key.condition) for key in found.rows}
        for row in found.score["rows"]:
            if row["kind"] != "baseline":
                assert (row["kind"], row["model"], row["condition"]) in with_units
    assert compared > 5
    return found


def rows_of(found: ScoredRun, key: RowKey) -> Iterator[Any]:
    for row in found.score["rows"]:
        if (row["kind"], row["model"], row["condition"]) == key:
            yield row


async def recomputed(found: ScoredRun, key: RowKey) -> dict[str, tuple[object, int, object]]:
    """Return path -> value, n and interval of a row, from its units alone."""
    kept = (await found.numbers(key)).units
    conventions = found.score["conventions"]
    repeats = range(1, (found.score["repeats"] if key.kind == "model" else 1) + 1)
    with found.stored.benchmark.prepared(conventions) as benchmark:
        tables = [kept.where(kept.repeats == one) for one in repeats]
        metrics = over_repeats([benchmark.metrics(one, key.condition, conventions) for one in tables])
        intervals = benchmark.intervals(kept, key.condition, conventions, Resampling())
    ends = {path: None if one.low is None else [one.low, one.high] for path, one in intervals.items()}
    return {path: (one.value, one.n, ends.get(path)) for path, one in metrics.items()}


def kept_columns(width: int, units: int) -> UnitColumns:
    columns, chance = UnitColumns(width), np.random.default_rng(3)
    for place in reversed(range(units)):
        numbers = chance.choice([0.0, 1.0, -0.0, 1 / 3, np.nan, 1e300], width).tolist()
        columns.add(place, 1 + place % 3, UnitOutcome.TRUNCATED, numbers, member=place % 2)
    return columns


@pytest.mark.parametrize(("width", "units"), [(3, 0), (0, 4), (1, 1), (40, 500)])
def test_units_come_back_bit_by_bit(width: int, units: int) -> None:
    kept, rows = KeptUnits(), kept_columns(width, units).units()
    key = RowKey("model", "m\ud800", "both")
    kept.keep(RowKey("rater", "r", "both"), kept_columns(2, 3).units())
    kept.keep(key, rows)
    packed = kept.row(key)
    clusters = np.arange(units) + 7
    found = unpack_units(packed, clusters, ("a", "b"))
    wanted = rows.table(clusters, ("a", "b"))
    assert found.units.numbers.tobytes() == wanted.numbers.tobytes()
    for name in ("numbers", "cases", "clusters", "repeats", "members"):
        one, other = getattr(found.units, name), getattr(wanted, name)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
    np.testing.assert_array_equal(found.units.cases, wanted.cases)
    np.testing.assert_array_equal(found.units.clusters, wanted.clusters)
    np.testing.assert_array_equal(found.units.repeats, wanted.repeats)
    np.testing.assert_array_equal(found.units.members, wanted.members)
    np.testing.assert_array_equal(found.outcomes, rows.outcomes)


def damaged(**changes: Any) -> PackedUnits:
    one, two = np.array([0, 1]), np.array([1, 1], dtype=np.int32)
    small = np.array([0, 1], dtype=np.uint8)
    arrays = {"places": one, "repeats": two, "members": small, "outcomes": small, "numbers": np.ones((2, 3))}
    packed = pack_units(**(arrays | {name: one for name, one in changes.items() if name in arrays}))  # type: ignore[arg-type]
    return PackedUnits(UnitsKey("model", "m", "both"), 2, changes.get("width", 3), changes.get("cut", packed))


@pytest.mark.parametrize(
    "changes",
    [
        {"width": 2}, {"cut": b""}, {"cut": b"no zlib"}, {"places": np.array([0, 2])},
        {"places": np.array([-1, 0])}, {"members": np.array([0, 2], dtype=np.uint8)},
        {"outcomes": np.array([0, 99], dtype=np.uint8)},
    ],
)  # fmt: skip
def test_damaged_units_are_refused(changes: dict[str, Any]) -> None:
    assert len(unpack_units(damaged(), np.arange(2), ("a", "b")).units) == 2
    with pytest.raises(StoreError, match=r"'m' in 'both' are damaged; make them anew with `harness score`"):
        unpack_units(damaged(**changes), np.arange(2), ("a", "b"))
