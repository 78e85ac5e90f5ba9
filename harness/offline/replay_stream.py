"""Every unit that a run wants, replayed one after the other in little memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeAlias

from harness.cache.rows import UnitId
from harness.cache.store import Store
from harness.offline.replay import ReplayedUnit, Replayer
from harness.offline.stored_run import StoredRun

RowKey: TypeAlias = tuple[str, str]
"""Model and condition."""


async def replay_units(store: Store, stored: StoredRun, replayer: Replayer) -> AsyncIterator[ReplayedUnit]:
    """Yield each wanted unit once; those of one model and condition follow each other.

    Within them, what the run has begun comes first, in the store's order, then what it has not reached,
    in the order of the cases.
    """
    rows = [(model, condition) for model in sorted(stored.manifest.models) for condition in stored.conditions]
    ahead = dict.fromkeys(rows)
    current: RowKey | None = None
    begun: set[tuple[str, int]] = set()
    async for linked in store.linked_units(stored.run.id):
        unit = linked.state.unit
        if (unit.model, unit.condition) != current:
            for missing in _missing(stored, current, begun):
                yield replayer.replay(missing, None)
            current, begun = (unit.model, unit.condition), set()
            ahead.pop(current, None)
        if _is_wanted(stored, unit):
            begun.add((unit.case_id, unit.repeat))
            yield replayer.replay(unit, linked)
    for missing in _missing(stored, current, begun):
        yield replayer.replay(missing, None)
    for row in ahead:
        for missing in _missing(stored, row, frozenset()):
            yield replayer.replay(missing, None)


def _is_wanted(stored: StoredRun, unit: UnitId) -> bool:
    manifest = stored.manifest
    return (
        unit.model in manifest.models
        and unit.condition in manifest.conditions
        and unit.case_id in stored.case_by_id
        and 1 <= unit.repeat <= manifest.repeats
    )


def _missing(
    stored: StoredRun, row: RowKey | None, begun: AbstractSet[tuple[str, int]]
) -> Iterator[UnitId]:
    if row is None or row[0] not in stored.manifest.models or row[1] not in stored.manifest.conditions:
        return
    repeats: Sequence[int] = range(1, stored.manifest.repeats + 1)
    for case in stored.cases.cases:
        for repeat in repeats:
            if (case.id, repeat) not in begun:
                yield UnitId(row[0], row[1], case.id, repeat)
