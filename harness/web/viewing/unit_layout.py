"""Where the units of a run stand in its columns: by model, condition, case in the run's order, repeat."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.cache.rows import UnitId
from harness.offline.case_index import CaseIndex
from harness.offline.stored_run import StoredRun


class Layout:
    """Row numbers, from 0, of all units that a run wants: no text is kept of any of them."""

    def __init__(self, stored: StoredRun) -> None:
        self.models: Final = tuple(sorted(stored.manifest.models))
        self.conditions: Final = tuple(stored.conditions)
        self.repeats: Final = stored.manifest.repeats
        self.cases: Final[CaseIndex] = stored.case_index
        self._places = [np.fromiter(stored.places(name), np.int32) for name in self.conditions]
        self._positions = [self._inverse(places) for places in self._places]
        of_model = [len(places) * self.repeats for places in self._places]
        sizes = of_model * len(self.models)
        self._starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        self.size: Final = int(self._starts[-1])
        self.model: Final[NDArray[np.uint16]] = np.repeat(
            np.arange(len(self.models), dtype=np.uint16), sum(of_model)
        )
        conditions = np.repeat(np.arange(len(self.conditions), dtype=np.uint16), of_model)
        self.condition: Final[NDArray[np.uint16]] = np.tile(conditions, len(self.models))
        cases = np.concatenate([np.repeat(places, self.repeats) for places in self._places])
        self.place: Final[NDArray[np.int32]] = np.tile(cases, len(self.models))

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Yield the places of each model and condition, in the order of the rows."""
        for model in range(len(self.models)):
            for condition in range(len(self.conditions)):
                yield model, condition

    def block(self, model: int, condition: int) -> slice:
        """Return the rows of a model and condition."""
        number = model * len(self.conditions) + condition
        return slice(int(self._starts[number]), int(self._starts[number + 1]))

    def row_at(self, model: int, condition: int, case_id: str, repeat: int) -> int | None:
        """Return the row of a unit, None where the run wants no such unit."""
        place = self.cases.find(case_id)
        if place is None or not 1 <= repeat <= self.repeats:
            return None
        position = int(self._positions[condition][place])
        if position < 0:
            return None
        start = int(self._starts[model * len(self.conditions) + condition])
        return start + position * self.repeats + repeat - 1

    def row(self, unit: UnitId) -> int | None:
        """Return the row of a unit, None where the run wants no such unit."""
        if unit.model not in self.models or unit.condition not in self.conditions:
            return None
        model, condition = self.models.index(unit.model), self.conditions.index(unit.condition)
        return self.row_at(model, condition, unit.case_id, unit.repeat)

    def unit(self, row: int) -> UnitId:
        """Return the unit of a row."""
        model, condition = int(self.model[row]), int(self.condition[row])
        repeat = (row - self.block(model, condition).start) % self.repeats + 1
        return UnitId(
            self.models[model], self.conditions[condition], self.cases.id(int(self.place[row])), repeat
        )

    def _inverse(self, places: NDArray[np.int32]) -> NDArray[np.int32]:
        found = np.full(len(self.cases), -1, np.int32)
        found[places] = np.arange(len(places), dtype=np.int32)
        return found
