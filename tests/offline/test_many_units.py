"""Scoring and export of many units: exact, and flat in memory."""

from __future__ import annotations

import asyncio
import gc
import json
import tempfile
import tracemalloc
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import IO, Any

import pytest
from bulk_run import OUTCOMES, bulk_plan, fill, kind_of
from stored_run_builder import Built, Plan, built_run

from harness.cache.rows import UnitId
from harness.offline.export import open_writer
from harness.offline.records import RecordMaker
from harness.offline.replay import Replayer
from harness.offline.replay_stream import replay_units
from harness.offline.score import score_run
from harness.offline.stored_run import load_run

MOST_BYTES_A_UNIT = 100


def expected(plan: Plan) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for model in plan.models:
        units = (UnitId(model, "both", one.id) for one in plan.cases)
        found[model] = Counter(str(OUTCOMES[kind_of(unit)]) for unit in units)
    return found


async def check_scores(built: Built, score: Any) -> None:
    """Every outcome and every derived row must be the one that the bulk was made with."""
    rows = {row["model"]: row for row in score["rows"] if row["kind"] == "model"}
    assert {name: Counter(row["outcomes"]) for name, row in rows.items()} == expected(built.plan)
    assert score["changed_since_run"] == {"units": 0, "steps": {}}
    n_records, n_scores = 0, 0
    async for record in built.store.records(built.run.id):
        n_records += 1
        assert record.outcome is OUTCOMES[kind_of(record.unit)]
    async for one in built.store.unit_scores(built.run.id):
        n_scores += 1
        assert (one.value is None) == (one.reason == "no value for this unit")
    n_units = len(built.plan.cases) * len(built.plan.models)
    errors = sum(counts["provider_error"] for counts in expected(built.plan).values())
    assert (n_records, n_scores) == (n_units, 5 * (n_units - errors))


async def export(built: Built, stream: IO[bytes]) -> None:
    stored = await load_run(built.store, built.run)
    replayer = Replayer(stored)
    writer, maker = open_writer("jsonl", stream), RecordMaker(stored, raw=True)
    async for replayed in replay_units(built.store, stored, replayer):
        writer.write(maker.record(replayed))
    writer.close()


def check_export(built: Built, file: Path) -> None:
    units = set()
    with file.open("rb") as stream:
        for line in stream:
            record = json.loads(line)
            unit = UnitId(record["model"], record["condition"], record["case_id"], record["repeat"])
            units.add(unit)
            assert record["outcome"] == str(OUTCOMES[kind_of(unit)])
            asks = {"valid": 1, "fenced": 1, "unavailable": 1, "second": 2}.get(kind_of(unit), 4)
            assert len(record["exchanges"]) == asks
            used = [one for one in record["exchanges"] if one["used"]]
            assert all(one["body"] and one["key"].endswith(f"-{one['attempt']}") for one in used)
    assert units == {
        UnitId(model, "both", one.id) for model in built.plan.models for one in built.plan.cases
    }


@pytest.mark.slow
async def test_many_units_score_and_export_exactly(tmp_path: Path) -> None:
    async with built_run(tmp_path, bulk_plan(120)) as built:
        assert await fill(built) == 120 * 4 + sum(
            {"second": 1, "reformatted": 3, "unparsable": 3}.get(kind_of(UnitId(model, "both", one.id)), 0)
            for model in built.plan.models
            for one in built.plan.cases
        )
        for _ in range(2):  # the derived rows are replaced, not doubled
            await check_scores(built, (await score_run(built.store, built.run)).to_json())
        with (tmp_path / "records.jsonl").open("wb") as stream:
            await export(built, stream)
    check_export(built, tmp_path / "records.jsonl")


async def _score_peak(built: Built) -> int:
    score = (await score_run(built.store, built.run)).to_json()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    await check_scores(built, score)
    return peak


async def _export_peak(built: Built) -> int:
    with tempfile.NamedTemporaryFile() as stream:
        await export(built, stream.file)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        await asyncio.to_thread(check_export, built, Path(stream.name))
    return peak


@pytest.mark.slow
@pytest.mark.parametrize("peak_of", [_score_peak, _export_peak])
async def test_memory_holds_a_few_numbers_a_unit_and_nothing_else(  # F49
    tmp_path: Path, peak_of: Callable[[Built], Awaitable[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Draws are kept up to a fixed size, and grow with the cases till then.
    monkeypatch.setattr("harness.scoring.resampling._KEPT_BYTES", 0)
    peaks = {}
    for n_cases in (500, 5_000):
        async with built_run(tmp_path, bulk_plan(n_cases), name=str(n_cases)) as built:
            await fill(built)
            gc.collect()
            tracemalloc.start()
            try:
                peaks[n_cases] = await peak_of(built)
            finally:
                tracemalloc.stop()
        (tmp_path / "store.sqlite3").unlink()
    grown = (peaks[5_000] - peaks[500]) / (4_500 * 4)
    assert grown <= MOST_BYTES_A_UNIT, peaks
