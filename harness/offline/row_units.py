"""The units of one row of the scores as columns: a few numbers a unit, no text and no prediction."""

from __future__ import annotations

from array import array
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from harness.benchmarks.base import UnitNumbers
from harness.outcomes import UnitOutcome

OUTCOMES: Final = tuple(UnitOutcome)
"""A column holds an outcome by its place here."""

_CODE: Final = {outcome: code for code, outcome in enumerate(OUTCOMES)}


class UnitColumns:
    """Takes units one by one, in any order; 13 bytes each, and 8 more for every number."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._places = array("q")
        self._repeats = array("i")
        self._outcomes = array("B")
        self._numbers = array("d")

    def add(self, place: int, repeat: int, outcome: UnitOutcome, numbers: tuple[float, ...]) -> None:
        """Add the unit of the case at a place (see `CaseIndex`), with all that the metrics need of it."""
        if len(numbers) != self._width:
            raise ValueError(f"a unit has {len(numbers)} numbers, not {self._width}")
        self._places.append(place)
        self._repeats.append(repeat)
        self._outcomes.append(_CODE[outcome])
        self._numbers.extend(numbers)

    def units(self) -> RowUnits:
        """Return what was added, ordered by case and repeat: databases order text differently."""
        places, repeats = np.array(self._places), np.array(self._repeats)
        order = np.lexsort((repeats, places))
        numbers = np.array(self._numbers, dtype=np.float64).reshape(len(places), self._width)
        outcomes = np.array(self._outcomes, dtype=np.uint8)
        return RowUnits(places[order], repeats[order], outcomes[order], numbers[order])


@dataclass(frozen=True, slots=True)
class RowUnits:
    """Units as arrays of equal length; `numbers` is (units, numbers)."""

    places: NDArray[np.int64]
    repeats: NDArray[np.int32]
    outcomes: NDArray[np.uint8]
    numbers: UnitNumbers

    def __len__(self) -> int:
        """Return the number of units."""
        return len(self.places)

    def where(self, mask: NDArray[np.bool_]) -> Self:
        """Return the units for which the mask is true, in order."""
        return type(self)(self.places[mask], self.repeats[mask], self.outcomes[mask], self.numbers[mask])

    def ended(self, outcomes: Collection[UnitOutcome]) -> NDArray[np.bool_]:
        """Return which units have one of these outcomes."""
        return np.isin(self.outcomes, [_CODE[outcome] for outcome in outcomes])

    def at(self, places: Collection[int]) -> NDArray[np.bool_]:
        """Return which units are of the cases at these places."""
        return np.isin(self.places, list(places))
