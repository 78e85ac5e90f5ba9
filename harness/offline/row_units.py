"""The units of one row of the scores as columns: a few numbers a unit, no text and no prediction."""

from __future__ import annotations

import math
from array import array
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from harness.benchmarks.base import UnitNumbers, UnitTable
from harness.outcomes import UnitOutcome

OUTCOMES: Final = tuple(UnitOutcome)
"""A column holds an outcome by its place here."""

_CODE: Final = {outcome: code for code, outcome in enumerate(OUTCOMES)}


class UnitColumns:
    """Takes units one by one, in any order; 15 bytes each, and 8 more for every number."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._nothing = (math.nan,) * width
        self._places = array("q")
        self._repeats = array("i")
        self._members = array("B")
        self._outcomes = array("B")
        self._left_out = array("B")
        self._numbers = array("d")

    def add(
        self,
        place: int,
        repeat: int,
        outcome: UnitOutcome,
        numbers: Sequence[float] | None,
        *,
        member: int = 0,
        left_out: bool = False,
    ) -> None:
        """Add the unit of the case at a place (see `CaseIndex`), with all that the metrics need of it.

        `numbers` None: it is nobody's answer. `member`: the place of its condition in the union that these
        columns are of. `left_out`: no model could be sent the case, so it enters no number.
        """
        if numbers is None:
            numbers = self._nothing
        elif len(numbers) != self._width:
            raise ValueError(f"a unit has {len(numbers)} numbers, not {self._width}")
        self._places.append(place)
        self._repeats.append(repeat)
        self._members.append(member)
        self._outcomes.append(_CODE[outcome])
        self._left_out.append(left_out)
        self._numbers.extend(numbers)

    def units(self) -> RowUnits:
        """Return what was added, by case, repeat and condition: databases order text differently."""
        places, repeats, members = (np.array(one) for one in (self._places, self._repeats, self._members))
        order = np.lexsort((members, repeats, places))
        numbers = np.array(self._numbers, dtype=np.float64).reshape(len(places), self._width)
        return RowUnits(
            places[order],
            repeats[order],
            members[order],
            np.array(self._outcomes, dtype=np.uint8)[order],
            np.array(self._left_out, dtype=np.bool_)[order],
            numbers[order],
        )


@dataclass(frozen=True, slots=True)
class RowUnits:
    """Units as arrays of equal length; `numbers` is (units, numbers)."""

    places: NDArray[np.int64]
    repeats: NDArray[np.int32]
    members: NDArray[np.uint8]
    outcomes: NDArray[np.uint8]
    left_out: NDArray[np.bool_]
    numbers: UnitNumbers

    def __len__(self) -> int:
        """Return the number of units."""
        return len(self.places)

    def where(self, mask: NDArray[np.bool_]) -> Self:
        """Return the units for which the mask is true, in order."""
        return type(self)(
            self.places[mask],
            self.repeats[mask],
            self.members[mask],
            self.outcomes[mask],
            self.left_out[mask],
            self.numbers[mask],
        )

    def table(self, clusters: NDArray[np.int64], conditions: tuple[str, ...]) -> UnitTable:
        """Return the units as metrics see them; `clusters` has one number a case, by its place."""
        members = self.members.astype(np.int32)
        return UnitTable(
            self.numbers, self.places, clusters[self.places], self.repeats, members, conditions
        )

    def ended(self, outcomes: Collection[UnitOutcome]) -> NDArray[np.bool_]:
        """Return which units have one of these outcomes."""
        return np.isin(self.outcomes, [_CODE[outcome] for outcome in outcomes])

    def questions(self) -> NDArray[np.int64]:
        """Return one number a unit, equal for the same case in the same condition."""
        return self.places * 256 + self.members
