"""All units of a run in memory: which there are, how each ended, and which of them filters leave."""

from __future__ import annotations

from dataclasses import dataclass

from harness.cache.rows import UnitId
from harness.offline.stored_run import StoredRun
from harness.outcomes import UnitOutcome
from harness.web.viewing.filters import Filters


@dataclass(frozen=True, slots=True)
class UnitGlance:
    """What the index knows of one unit.

    `outcome` None: it has not ended. `stage` "attempt-1".."attempt-N", "reformatter" or None. `right` None:
    not known, or the benchmark has none. `value`: the benchmark's main value of the unit, None likewise.
    """

    unit: UnitId
    outcome: UnitOutcome | None
    stage: str | None
    right: bool | None
    value: float | None


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Where a unit stands among those that filters leave.

    `place` counts from 1, None where the filters leave it out; then `next` is the first of them.
    """

    previous: UnitId | None
    next: UnitId | None
    place: int | None
    total: int


class UnitIndex:
    """The units of one run; see `Library.index`."""

    stored: StoredRun

    def __len__(self) -> int:
        """Return the number of units that the run wants."""
        raise NotImplementedError

    def glance(self, unit: UnitId) -> UnitGlance | None:
        """Return what is known of a unit, None where the run wants no such unit."""
        raise NotImplementedError

    async def neighbours(self, unit: UnitId, filters: Filters) -> Neighbours:
        """Return what stands before and after a unit among those that filters leave, in their order."""
        raise NotImplementedError
