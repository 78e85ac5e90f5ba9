"""All units of a run in memory: which there are, how each ended, and which of them filters leave."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.cache.rows import UnitId
from harness.offline.stored_run import StoredRun
from harness.outcomes import UnitOutcome
from harness.web.viewing.facets import Chosen, FacetCount, Selection
from harness.web.viewing.filters import Facet, Filters
from harness.web.viewing.strata import Strata
from harness.web.viewing.unit_columns import OUTCOMES, UNKNOWN, Columns, Rows, stage_name
from harness.web.viewing.unit_layout import Layout
from harness.web.viewing.unit_texts import UnitTexts


@dataclass(frozen=True, slots=True)
class UnitGlance:
    """What the index knows of one unit.

    `outcome` None: it has not ended. `stage` "attempt-1".."attempt-N", "reformatter" or None. `right` None:
    not known, or the benchmark has none. `value`: the benchmark's main value of the unit, None likewise.
    `headline`: its answer in a few words, "" where its beginning says it, None: not read.
    `read`: its answer was read, so that all of these are known as far as they can be.
    """

    unit: UnitId
    outcome: UnitOutcome | None
    stage: str | None
    right: bool | None
    value: float | None
    beginning: str
    headline: str | None
    read: bool


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Where a unit stands among those that filters leave.

    `place` counts from 1, None where the filters leave it out; then `next` is the first of them.
    """

    previous: UnitId | None
    next: UnitId | None
    place: int | None
    total: int


@dataclass(frozen=True, slots=True)
class Looked:
    """What filters leave of a run: the rows in their order, and what one more choice would leave."""

    rows: Rows
    facets: Mapping[Facet, Sequence[FacetCount]]


class UnitIndex:
    """The units of one run; see `Library.index`.

    `columns` is replaced as a whole; `lower_is_better` tells that values in it have their sign turned.
    `value_paths`: of which metric each condition's values are; None where these say right and wrong, as
    another column does.
    """

    def __init__(self, stored: StoredRun) -> None:
        self.stored = stored
        self.layout = Layout(stored)
        self.columns = Columns.empty(self.layout.size)
        self.texts = UnitTexts(self.layout.size, self.layout.place)
        self.strata = Strata((), ())
        self.has_right = False
        self.value_paths: Sequence[str | None] = ()
        self.lower_is_better = False

    def __len__(self) -> int:
        """Return the number of units that the run wants."""
        return self.layout.size

    @property
    def value_path(self) -> str | None:
        """Of which metric all values are; None where conditions have different ones, or there is none."""
        paths = {*self.value_paths}
        return paths.pop() if len(paths) == 1 else None

    @property
    def has_values(self) -> bool:
        """Tell whether any unit has a value that says more than right or wrong."""
        having = np.array([path is not None for path in self.value_paths], np.bool_)
        return bool((having[self.layout.condition] & ~np.isnan(self.columns.value)).any())

    @property
    def reading(self) -> tuple[int, int]:
        """Return how many of the units that have ended were read, and how many there are."""
        columns = self.columns
        ended = int(np.count_nonzero(columns.outcome))
        return ended - len(columns.unread), ended

    def glance(self, unit: UnitId) -> UnitGlance | None:
        """Return what is known of a unit, None where the run wants no such unit."""
        row = self.layout.row(unit)
        return None if row is None else self.glance_at(row)

    def glance_at(self, row: int) -> UnitGlance:
        """Return what is known of the unit in a row."""
        columns = self.columns
        right, value = int(columns.right[row]), float(columns.value[row])
        turned = -value if self.lower_is_better else value
        return UnitGlance(
            self.layout.unit(row),
            OUTCOMES[columns.outcome[row]],
            stage_name(int(columns.stage[row])),
            None if right == UNKNOWN else right == 1,
            None if math.isnan(value) else turned,
            self.texts.beginning(row),
            self.texts.headline(row),
            bool(columns.read[row]),
        )

    def unknown(self, row: int, *, headline: bool) -> bool:
        """Tell whether a unit's answer is still to be read, or, with `headline`, to be put in a few words."""
        columns = self.columns
        if not columns.outcome[row]:
            return False
        return not columns.read[row] or (headline and self.texts.headline(row) is None)

    async def look(self, filters: Filters, *, facets: bool = True) -> Looked:
        """Return what filters leave, with the counts of all facets; nothing of the store is asked."""
        return await asyncio.to_thread(self._look, filters, facets)

    async def neighbours(self, unit: UnitId, filters: Filters) -> Neighbours:
        """Return what stands before and after a unit among those that filters leave, in their order."""
        rows = (await self.look(filters, facets=False)).rows
        row = self.layout.row(unit)
        at = [] if row is None else np.flatnonzero(rows == row).tolist()
        if not at:
            first = self.layout.unit(int(rows[0])) if len(rows) else None
            return Neighbours(None, first, None, len(rows))
        place = at[0]
        before = self.layout.unit(int(rows[place - 1])) if place else None
        after = self.layout.unit(int(rows[place + 1])) if place + 1 < len(rows) else None
        return Neighbours(before, after, place + 1, len(rows))

    async def cases_around(self, unit: UnitId, filters: Filters) -> tuple[str | None, str | None]:
        """Return the cases before and after a unit's among those of which filters leave any unit.

        They come in the order of their first units; those that the unit's condition is not asked of are left
        out. Of a case that the filters leave out, the one after is the first of them.
        """
        rows = (await self.look(filters, facets=False)).rows
        cases, asked = self.layout.cases, set(self.stored.places(unit.condition))
        places = [place for place in dict.fromkeys(self.layout.place[rows].tolist()) if place in asked]
        wanted = cases.place(unit.case_id)
        if wanted not in places:
            return None, cases.id(places[0]) if places else None
        at = places.index(wanted)
        before = cases.id(places[at - 1]) if at else None
        return before, cases.id(places[at + 1]) if at + 1 < len(places) else None

    def _look(self, filters: Filters, facets: bool) -> Looked:
        columns = self.columns
        chosen = Chosen(filters, self.layout, columns, self.strata, self.texts.having(filters.words()))
        left = chosen.left()
        if filters.sort == "run":
            rows = np.flatnonzero(left)
        else:
            order = columns.worst_first if filters.sort == "worst" else columns.latest_first
            rows = order[left[order]]
        return Looked(rows, Selection(chosen).counts() if facets else {})
