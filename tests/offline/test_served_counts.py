"""Who answered how often: the same by the scores, which read all, and by the store, which counts."""

from __future__ import annotations

from pathlib import Path

from stored_run_builder import SCALING, Plan, answer, built_run, case

from harness.cache.rows import UnitId
from harness.offline.score import score_run
from harness.outcomes import ExchangeOutcome, UnitOutcome


async def test_an_ask_that_two_processes_had_answered_counts_its_last_answer(tmp_path: Path) -> None:
    """A process that slept past its lease may have sent what another sent meanwhile."""
    unit = UnitId("alpha", "both", "c1")
    async with built_run(tmp_path, Plan([case("c1", SCALING)], models=("alpha",))) as built:
        first = await built.exchange(unit, "no", served_model="m-1")
        late = await built.exchange(unit, "no", served_model="m-2")
        busy = await built.exchange(
            unit, b"busy", attempt=2, status=503, outcome=ExchangeOutcome.UNAVAILABLE, served_model=None
        )
        again = await built.exchange(unit, answer(SCALING), attempt=2, served_model="m-1")
        links = [(first, "answer", 1), (late, "answer", 1), (busy, "answer", 2), (again, "answer", 2)]
        await built.finish(unit, UnitOutcome.VALID, links, used=[again])
        score = await score_run(built.store, built.run)
        counted = await built.store.count_served(built.run.id)
    expected = {("answer", "m-2"): 1, ("answer", "m-1"): 1}
    assert [dict(row.served) for row in score.rows if row.kind == "model"] == [expected]
    assert counted == {"alpha": expected}
