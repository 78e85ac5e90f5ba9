"""What is known of each unit of a run, as columns: made anew with each change, so a page sees one state."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.outcomes import USABLE, UnitOutcome

Rows = NDArray[np.int64]
Flags = NDArray[np.bool_]

OUTCOMES: Final[tuple[UnitOutcome | None, ...]] = (None, *UnitOutcome)
"""By the code in the column; None: the unit has not ended."""
CODES: Final[dict[str | None, int]] = {
    None if outcome is None else str(outcome): code for code, outcome in enumerate(OUTCOMES)
}
USABLE_CODES: Final = frozenset(code for code, outcome in enumerate(OUTCOMES) if outcome in USABLE)
REFORMATTER: Final = 255
"""The code of that stage; those of attempts are their numbers, 0 is none."""
UNKNOWN: Final = -1
"""In the column `right`: no value."""

_LAST: Final = np.iinfo(np.int64).max


def stage_name(code: int) -> str | None:
    """Return the stage of a code."""
    if not code:
        return None
    return "reformatter" if code == REFORMATTER else f"attempt-{code}"


def stage_code(name: str | None) -> int:
    """Return the code of a stage."""
    if name is None:
        return 0
    number = name.removeprefix("attempt-")
    return REFORMATTER if not number.isdecimal() else min(int(number), REFORMATTER - 1)


@dataclass(frozen=True)
class Columns:
    """Columns of equal length, a row a unit.

    `last`: the newest exchange of the unit's present round, 0 for none. `right` 1, 0 or -1 (no value);
    `value` NaN where there is none, and the larger the better. `read`: the last two are known, and the text.
    """

    outcome: NDArray[np.uint8]
    stage: NDArray[np.uint8]
    last: NDArray[np.int64]
    right: NDArray[np.int8]
    value: NDArray[np.float64]
    read: Flags

    @classmethod
    def empty(cls, size: int) -> Columns:
        """Return the columns of units of which nothing is known."""
        return cls(
            np.zeros(size, np.uint8), np.zeros(size, np.uint8), np.zeros(size, np.int64),
            np.full(size, UNKNOWN, np.int8), np.full(size, np.nan), np.zeros(size, np.bool_),
        )  # fmt: skip

    def copy(self) -> Columns:
        """Return columns that may be changed before anyone else sees them."""
        return replace(
            self, outcome=self.outcome.copy(), stage=self.stage.copy(), last=self.last.copy(),
            right=self.right.copy(), value=self.value.copy(), read=self.read.copy(),
        )  # fmt: skip

    def put_right(self, row: int, right: float | None) -> None:
        """Note whether a unit is right: 1, or anything less; None: no value."""
        self.right[row] = UNKNOWN if right is None else int(right == 1)

    def put_value(self, row: int, value: float | None, *, turned: bool = False) -> None:
        """Note the main value of a unit; `turned`: less is better."""
        self.value[row] = np.nan if value is None else -value if turned else value

    @cached_property
    def unread(self) -> Rows:
        """The units that have ended and were not read."""
        return np.flatnonzero((self.outcome != 0) & ~self.read)

    @cached_property
    def worst_first(self) -> Rows:
        """All rows: wrong ones, or those with a value; then those of which nothing is known; right ones."""
        known = self.right != UNKNOWN
        kind = np.where(known, np.where(self.right == 1, 2, 0), np.where(np.isnan(self.value), 1, 0))
        return np.lexsort((np.where(np.isnan(self.value), np.inf, self.value), kind))

    @cached_property
    def latest_first(self) -> Rows:
        """All rows, those that were asked last first; never asked ones last, in the order of the run."""
        return np.argsort(_LAST - self.last, kind="stable")
