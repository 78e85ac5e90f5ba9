"""The units of one row of the scores as columns: a few numbers a unit, no text and no prediction."""

from __future__ import annotations

import math
from array import array
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from harness.benchmarks.scored import UnitNumbers, UnitTable
from harness.outcomes import UnitOutcome

OUTCOMES: Final = tuple(UnitOutcome)
"""A column holds an outcome by its place here."""

RowKind: TypeAlias = Literal["model", "rater", "baseline"]

ROW_KINDS: Final[tuple[RowKind, ...]] = ("model", "rater", "baseline")
"""The kinds of a score's rows, in the order of a table."""


class RowKey(NamedTuple):
    """What names a row of a run's scores."""

    kind: RowKind
    name: str
    condition: str


_CODE: Final = {outcome: code for code, outcome in enumerate(OUTCOMES)}


class UnitColumns:
    """Takes units one by one, in any order; 24 bytes each, and 8 more for every number of an answered one."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._places = array("q")
        self._repeats = array("i")
        self._members = array("B")
        self._outcomes = array("B")
        self._left_out = array("B")
        self._restated = array("B")
        self._count = 0
        self._rows = array("q")
        self._numbers = array("d", (math.nan,) * width)
        """Of answered units; the first row stands for all others."""

    def add(
        self,
        place: int,
        repeat: int,
        outcome: UnitOutcome,
        numbers: Sequence[float] | None,
        *,
        member: int = 0,
        left_out: bool = False,
        unrestated: Sequence[float] | None = None,
    ) -> None:
        """Add the unit of the case at a place (see `CaseIndex`), with all that the metrics need of it.

        `numbers` None: it is nobody's answer. `member`: the place of its condition in the union that these
        columns are of. `left_out`: no model could be sent the case, so it enters no number. `unrestated`: its
        numbers if nobody had restated the answer, where somebody has.
        """
        for given in (numbers, unrestated):
            if given is not None and len(given) != self._width:
                raise ValueError(f"a unit has {len(given)} numbers, not {self._width}")
        self._places.append(place)
        self._repeats.append(repeat)
        self._members.append(member)
        self._outcomes.append(_CODE[outcome])
        self._left_out.append(left_out)
        self._restated.append(unrestated is not None)
        self._rows.append(0 if numbers is None else self._answered())
        self._numbers.extend(numbers or ())
        if unrestated is not None:
            self._answered()
            self._numbers.extend(unrestated)

    def _answered(self) -> int:
        """Return the row that the numbers of the next answered unit will be."""
        self._count += 1
        return self._count

    def units(self) -> RowUnits:
        """Return what was added, by case, repeat and condition: databases order text differently."""
        places, repeats, members = (np.array(one) for one in (self._places, self._repeats, self._members))
        order = np.lexsort((members, repeats, places))
        return RowUnits(
            places[order],
            repeats[order],
            members[order],
            np.array(self._outcomes, dtype=np.uint8)[order],
            np.array(self._left_out, dtype=np.bool_)[order],
            np.array(self._restated, dtype=np.bool_)[order],
            np.array(self._rows)[order],
            np.array(self._numbers, dtype=np.float64).reshape(self._count + 1, self._width),
        )


@dataclass(frozen=True, slots=True)
class RowUnits:
    """Units as arrays of equal length; their numbers are the `rows` of `kept` (answered units, numbers).

    Those of a `restated` answer have one row more after their own: what they are worth as it stood before.
    """

    places: NDArray[np.int64]
    repeats: NDArray[np.int32]
    members: NDArray[np.uint8]
    outcomes: NDArray[np.uint8]
    left_out: NDArray[np.bool_]
    restated: NDArray[np.bool_]
    rows: NDArray[np.int64]
    kept: UnitNumbers

    def __len__(self) -> int:
        """Return the number of units."""
        return len(self.places)

    @property
    def numbers(self) -> UnitNumbers:
        """Return their numbers, shape (units, numbers); NaN of units that are nobody's answer."""
        return self.kept[self.rows]

    def where(self, mask: NDArray[np.bool_]) -> Self:
        """Return the units for which the mask is true, in order."""
        return type(self)(
            self.places[mask],
            self.repeats[mask],
            self.members[mask],
            self.outcomes[mask],
            self.left_out[mask],
            self.restated[mask],
            self.rows[mask],
            self.kept,
        )

    def unrestated(self) -> Self:
        """Return the same units as if nobody had restated an answer."""
        return replace(self, rows=self.rows + self.restated, restated=np.zeros_like(self.restated))

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
