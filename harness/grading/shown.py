"""What a seat of a grading gets to see: where the grading stands, one sheet, one disagreement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from harness.benchmarks.sheets import Sheet
from harness.cache.grades import GradeValue
from harness.cache.rows import UnitId
from harness.grading.standing import Dispute
from harness.grading.state import Joined, Round
from harness.media import Media

Phase: TypeAlias = Literal["calibration", "waiting", "full", "done"]
SheetState: TypeAlias = Literal["open", "partly", "done", "gone"]
"""What a seat has said of a sheet: nothing, some of it, all; "gone": there is no answer to grade, for now."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How many sheets a rater has done, of those that are open to them."""

    rater: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Overview:
    """Where a grading stands, as a seat may know it.

    `phase` is the seat's: "calibration" (sheets of a round to do), "waiting" (a round is done: others are
    not, or kappa does not reach the threshold and the lead must decide), "full", "done". `own`: a rater's
    progress, of all sheets open to them; None for others. `raters`, `rounds`, `gone`: for the lead alone,
    else empty; a rater learns nothing of what others did. `disputes` and `settled`: how many questions want a
    consensus, and how many have one; 0 for raters. `round`: number of the current round of calibration, of a
    rater's own, from 1; 0: there is none. `calibrating`: who came later and grades a round alone; `retired`:
    how far those were who left, of the sheets that were open to them; both for the lead alone.
    """

    phase: Phase
    own: Progress | None
    items: int
    round: int
    raters: tuple[Progress, ...] = ()
    rounds: tuple[Round, ...] = ()
    disputes: int = 0
    settled: int = 0
    gone: int = 0
    calibrating: tuple[Joined, ...] = ()
    retired: tuple[Progress, ...] = ()

    @property
    def graded(self) -> bool:
        """Tell whether everybody who is waited for has done all sheets, and none is still to be opened."""
        if not self.raters or self.calibrating:
            return False
        return all(one.done == one.total for one in self.raters)


@dataclass(frozen=True, slots=True)
class SheetMedium:
    """A medium of a sheet: its role in the case, and what it is (never a path or name for a rater)."""

    role: str
    medium: Media


@dataclass(frozen=True, slots=True)
class Shown:
    """A sheet as a seat sees it.

    `sheet` None: its answer is gone for now (`told` says so, without saying whose it is). `grades`: what this
    seat said, question -> value, of the questions that count; `comment` beside. `closed`: why nothing can be
    changed. `disputes`, `comments`: for the consensus seat, what raters said where they differ, and rater ->
    comment. `seen`: give it back with a grade, so that none is taken for an answer that came later. `unit` is
    for the server alone.
    """

    position: int
    total: int
    sheet: Sheet | None
    grades: Mapping[str, GradeValue]
    comment: str
    media: tuple[SheetMedium, ...]
    seen: str
    unit: UnitId
    closed: str | None = None
    told: str | None = None
    disputes: tuple[Dispute, ...] = ()
    comments: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An item on which raters differ, with its position at the consensus seat."""

    position: int
    disputes: tuple[Dispute, ...]

    @property
    def is_settled(self) -> bool:
        """Tell whether everything that needs a consensus has one."""
        return all(one.consensus is not None for one in self.disputes if one.needed)
