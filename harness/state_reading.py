"""How a run's units stand, read from the store in one pass and little memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from harness.cache.store import Store
from harness.cache.unit_marks import UnitCount
from harness.outcomes import ASKED_AGAIN_ON_RESUME, UnitOutcome
from harness.unit_states import Totals, UnitStates, Wanted


async def read_states(store: Store, run_id: int, wanted: Wanted, *, whole: bool = False) -> UnitStates:
    """Return how a run's units stand.

    A block that is settled in all its units is known from a count: no unit beyond the wanted ones can be in
    it, since the cases are part of a run's identity. `whole`: each unit is read all the same.
    """
    states = UnitStates(wanted)
    counts = _by_block(await store.count_units(run_id))
    places: dict[str, int] = {}
    for model in wanted.models:
        for condition in wanted.conditions:
            found = counts.get((model, condition))
            if found is None:
                continue
            if not whole and wanted.shard is None and _is_settled(found, wanted.n_block(condition)):
                states.add_settled(model, condition, Counter({one: n for one, n in found.items() if one}))
                continue
            places = places or {case_id: position for position, case_id in enumerate(wanted.case_ids)}
            states.add_block(model, condition)
            async for marks in store.unit_marks(run_id, model, condition):
                states.add_marks(model, condition, marks, places)
    return states


async def read_totals(store: Store, run_id: int, wanted: Wanted) -> Totals:
    """Return how this session's units stand, by model; one that never ended is `not_attempted`."""
    if wanted.shard is not None:
        states = await read_states(store, run_id, wanted)
        return {model: states.outcomes(model) for model in wanted.models}
    totals: dict[str, Counter[UnitOutcome]] = {model: Counter() for model in wanted.models}
    for model, condition, outcome, units in await store.count_units(run_id):
        if model in totals and condition in wanted.conditions and outcome is not None:
            totals[model][outcome] += units
    for counts in totals.values():
        if wanted.n_model > counts.total():
            counts[UnitOutcome.NOT_ATTEMPTED] += wanted.n_model - counts.total()
    return totals


def _by_block(counts: Sequence[UnitCount]) -> dict[tuple[str, str], Counter[UnitOutcome | None]]:
    blocks: dict[tuple[str, str], Counter[UnitOutcome | None]] = {}
    for model, condition, outcome, units in counts:
        blocks.setdefault((model, condition), Counter())[outcome] += units
    return blocks


def _is_settled(found: Counter[UnitOutcome | None], n_block: int) -> bool:
    return found.total() == n_block and not any(one is None or one in ASKED_AGAIN_ON_RESUME for one in found)
