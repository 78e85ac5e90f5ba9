"""Every unit that a run wants, replayed one after the other in little memory."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import TypeAlias

from harness.cache.rows import UnitId
from harness.cache.store import Store
from harness.cache.units import EVERY_UNIT, Only
from harness.offline.replay import ReplayedUnit, Replayer
from harness.offline.stored_run import StoredRun

RowKey: TypeAlias = tuple[str, str]
"""Model and condition."""


async def replay_units(
    store: Store, stored: StoredRun, replayer: Replayer, *, only: Only = EVERY_UNIT
) -> AsyncGenerator[ReplayedUnit, None]:
    """Yield each wanted unit once; those of one model and condition follow each other.

    Within them, what the run has begun comes first, in the store's order, then what it has not reached,
    in the order of the cases. `only`: those of some models and conditions; the others are not read.
    """
    rows = [
        (model, condition)
        for model in sorted(stored.manifest.models)
        for condition in stored.conditions
        if only.has(model, condition)
    ]
    ahead = dict.fromkeys(rows)
    current: RowKey | None = None
    begun = _Begun(stored)
    async with aclosing(store.linked_units(stored.run.id, only=only)) as stream:
        async for linked in stream:
            unit = linked.state.unit
            if (unit.model, unit.condition) != current:
                for missing in _missing(stored, current, begun):
                    yield replayer.replay(missing, None)
                current, begun = (unit.model, unit.condition), _Begun(stored)
                ahead.pop(current, None)
            if _is_wanted(stored, unit) and begun.add(unit):
                yield replayer.replay(unit, linked)
    for missing in _missing(stored, current, begun):
        yield replayer.replay(missing, None)
    for row in ahead:
        for missing in _missing(stored, row, _Begun(stored)):
            yield replayer.replay(missing, None)


class _Begun:
    """Which units of one row the run has begun: one byte for each that it wants."""

    def __init__(self, stored: StoredRun) -> None:
        self._stored = stored
        self._index = stored.case_index
        self._repeats = stored.manifest.repeats
        self._begun = bytearray(len(self._index) * self._repeats)

    def add(self, unit: UnitId) -> bool:
        """Note a unit; False where the run has no such case."""
        place = self._index.find(unit.case_id)
        if place is None:
            return False
        self._begun[place * self._repeats + unit.repeat - 1] = True
        return True

    def missing(self, condition: str) -> Iterator[tuple[str, int]]:
        """Yield case id and repeat of the others that there are, in the order of the cases."""
        if all(self._begun):
            return
        for place in self._stored.places(condition):
            for repeat in range(self._repeats):
                if not self._begun[place * self._repeats + repeat]:
                    yield self._index.id(place), repeat + 1


def _is_wanted(stored: StoredRun, unit: UnitId) -> bool:
    manifest = stored.manifest
    return (
        unit.model in manifest.models
        and unit.condition in manifest.conditions
        and 1 <= unit.repeat <= manifest.repeats
    )


def _missing(stored: StoredRun, row: RowKey | None, begun: _Begun) -> Iterator[UnitId]:
    if row is None or row[0] not in stored.manifest.models or row[1] not in stored.manifest.conditions:
        return
    for case_id, repeat in begun.missing(row[1]):
        yield UnitId(row[0], row[1], case_id, repeat)
