"""Fills the index of a run from its store, and keeps it fresh while a sweep works on it.

How units stand is read at once, which takes a second for some 200,000 units; what their answers say is read
from the run's scores where these are current, else as scoring reads it, a little at a time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from harness.cache.rows import LinkedUnit, UnitId
from harness.cache.store import Store
from harness.cache.unit_glances import REFORMATTED, Glance
from harness.offline.chosen_grades import ChosenGrades, chosen_grades
from harness.session_standing import any_open
from harness.web.viewing.excerpts import Excerpt, excerpts_of
from harness.web.viewing.index_scores import conventions_of, current_score, read_scores, unusual_conventions
from harness.web.viewing.strata import Strata
from harness.web.viewing.unit_columns import CODES, REFORMATTER, USABLE_CODES, Columns, stage_code
from harness.web.viewing.unit_index import UnitIndex
from harness.web.viewing.unit_reading import ReadUnit, UnitReading, shown_of

Sleep = Callable[[float], Awaitable[None]]

BATCH: Final = 100
"""Answers that are read before others get their turn: some 20 ms of work."""
_TOUCHED: Final = 2_000
"""Units that a look takes one by one; if more were touched, it takes all of the run."""
_WHOLE_EVERY_S: Final = 30.0
"""Seconds between two whole looks at a run at work: what was served from the store makes no new exchange."""
_QUIET_DUTY: Final = 0.5
_WORKING_DUTY: Final = 0.2
"""Shares of a core that reading answers takes, while nobody works on the run, and while a sweep does."""
_AT_WORK_S: Final = 60.0
"""A run is at work if a new exchange was seen within so long."""


class IndexReader:
    """Reads one run for its index; lives in one event loop."""

    def __init__(
        self,
        store: Store,
        index: UnitIndex,
        *,
        sleep: Sleep = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
        worked: Callable[[], float] = time.thread_time,
    ) -> None:
        self._store = store
        self._index = index
        self._sleep = sleep
        self._clock = clock
        self._worked = worked
        self._run_id = index.stored.run.id
        self._last = 0
        self._looked_at = clock()
        self._moved_at = clock() if self.working else -_AT_WORK_S
        self._grades: ChosenGrades | None = None
        self._reading: UnitReading | None = None
        self._of_score: str | None = None
        self._stopped = False

    @property
    def working(self) -> bool:
        """Tell whether a session has not ended: it is at work, or was killed."""
        return any_open(self._index.stored.sessions)

    def stop(self) -> None:
        """End `fill` at its next step: nobody looks any more."""
        self._stopped = True

    async def load(self) -> None:
        """Read the cases, and how every unit stands."""
        index = self._index
        cases = index.layout.cases
        index.strata = Strata(map(cases.case, range(len(cases))), index.stored.benchmark.strata)
        index.texts.set_cases(map(cases.case, range(len(cases))))
        shown = [shown_of(index.stored, name) for name in index.layout.conditions]
        index.has_right = any(one.right is not None for one in shown)
        index.value_paths = tuple(None if one.value == one.right else one.value for one in shown)
        index.lower_is_better = any(one.turned for one in shown)
        await self._look_at_all(await self._store.last_exchange_id())

    async def look(self) -> None:
        """Take what changed since the last look: first what new exchanges tell, now and then everything."""
        before, last = self._last, await self._store.last_exchange_id()
        touched: Sequence[UnitId] | None = ()
        if last != before:
            self._moved_at = self._clock()
            touched = await self._store.touched_units(self._run_id, before, _TOUCHED)
        if touched is None:
            await self._look_at_all(last)
            return
        await self._look_at(touched)
        self._last = last
        due = self._clock() - self._looked_at >= _WHOLE_EVERY_S
        if (last == before or due) and await self._differs():
            await self._look_at_all(last)

    async def read(self, rows: Iterable[int], *, headlines: bool = False) -> None:
        """Read the answers of some rows now, of those that have ended and were not read.

        `headlines`: also what each says in a few words, which only rows that are shown need.
        """
        wanted = [row for row in rows if self._index.unknown(row, headline=headlines)]
        if not wanted:
            return
        reading = await self._ready()
        units = map(self._index.layout.unit, wanted)
        linked = await self._store.some_linked_units(self._run_id, units)
        new = self._index.columns.copy()
        said = dict.fromkeys(wanted, "") if headlines else {}
        for one in linked:
            row = self._index.layout.row(one.state.unit)
            if row is None:
                continue
            read = reading.read(one)
            if not new.read[row]:
                self._put_read(new, row, one, read)
            if headlines:
                said[row] = reading.headline(read)
        new.read[wanted] = True
        self._index.columns = new
        for row, words in said.items():
            self._index.texts.set_headline(row, words)

    async def excerpts(self, wanted: Mapping[int, Sequence[str]]) -> Mapping[int, Sequence[Excerpt]]:
        """Return what stands around words of some rows; nothing of it is kept."""
        return await excerpts_of(self._store, self._index, await self._ready(), wanted)

    async def fill(self, *, scores: bool) -> None:
        """Read what was not read, a little at a time; with `scores`, first from scores that are current."""
        if scores:
            await self.take_scores()
        while not self._stopped and len(unread := self._index.columns.unread):
            began = self._worked()
            await self.read(unread[:BATCH].tolist())
            await self._rest(self._worked() - began)

    async def take_scores(self) -> None:
        """Take texts and numbers from the run's stored scores, if these are current."""
        score = await current_score(self._store, self._index.stored)
        if score is None or score.scoring == self._of_score or score.depends.get("grades") is not None:
            return
        if unusual_conventions(self._index.stored, conventions_of(score)):
            return  # what is read here beside them is by the usual ones: no list may show both
        self._of_score = score.scoring
        began = self._worked()
        async for _ in read_scores(self._store, self._index):
            await self._rest(self._worked() - began)
            began = self._worked()
            if self._stopped:
                return

    async def regrade(self) -> None:
        """Read those units again whose grades are others by now."""
        if not self._index.stored.benchmark.questions:
            return
        before = {} if self._grades is None else self._grades.values
        self._grades = await chosen_grades(self._store, self._index.stored, None)
        self._reading = UnitReading(self._index.stored, self._grades)
        now = {} if self._grades is None else self._grades.values
        changed = [unit for unit in {*before, *now} if before.get(unit) != now.get(unit)]
        rows = [row for unit in changed if (row := self._index.layout.row(unit)) is not None]
        new = self._index.columns.copy()
        new.read[rows] = False
        self._index.columns = new

    def forget_settings(self) -> None:
        """Take the run's settings anew for what is read next: a session brought others."""
        self._reading = None

    async def _ready(self) -> UnitReading:
        if self._reading is None:
            self._grades = await chosen_grades(self._store, self._index.stored, None)
            self._reading = UnitReading(self._index.stored, self._grades)
        return self._reading

    async def _look_at_all(self, last: int) -> None:
        layout = self._index.layout
        for model, condition in layout.blocks():
            names = (layout.models[model], layout.conditions[condition])
            self._take(model, condition, await self._store.unit_glances(self._run_id, *names))
        self._last, self._looked_at = last, self._clock()

    async def _look_at(self, units: Sequence[UnitId]) -> None:
        layout = self._index.layout
        by_row: dict[tuple[str, str], set[str]] = {}
        for unit in units:
            if unit.model in layout.models and unit.condition in layout.conditions:
                by_row.setdefault((unit.model, unit.condition), set()).add(unit.case_id)
        for (name, of), cases in by_row.items():
            glances = await self._store.unit_glances(self._run_id, name, of, cases)
            self._take(layout.models.index(name), layout.conditions.index(of), glances)

    def _take(self, model: int, condition: int, glances: Sequence[Glance]) -> None:
        new = self._index.columns.copy()
        self._put(new, model, condition, glances)
        self._index.columns = new

    def _put(self, new: Columns, model: int, condition: int, glances: Sequence[Glance]) -> None:
        """Note how units stand; those that stand otherwise than before are to be read anew."""
        layout = self._index.layout
        for case_id, repeat, outcome, last, attempt in glances:
            row = layout.row_at(model, condition, case_id, repeat)
            if row is None:
                continue
            code, last = CODES[outcome], last or 0
            if new.read[row] and new.last[row] == last and code and new.outcome[row]:
                continue  # read already, and nothing was asked since
            usable = code in USABLE_CODES
            new.outcome[row], new.last[row], new.read[row] = code, last, False
            new.stage[row] = stage_of(attempt) if usable else 0
            new.put_right(row, None)
            new.put_value(row, None)

    def _put_read(self, new: Columns, row: int, linked: LinkedUnit, read: ReadUnit) -> None:
        """Note what a unit's answer says; it is fresher than what was known of how the unit stands."""
        if linked.state.outcome is None:
            new.outcome[row] = new.stage[row] = 0
            return
        result = read.replayed.result
        ids = (link.exchange_id for link, _ in linked.links)
        new.last[row] = max((id for id in ids if id > linked.state.again_after), default=0)
        new.outcome[row], new.stage[row] = CODES[result.outcome], stage_code(result.stage)
        new.put_right(row, read.right)
        new.put_value(row, read.value, turned=self._index.lower_is_better)
        self._index.texts.set_answer(row, read.replayed.text)

    async def _differs(self) -> bool:
        """Tell whether another number of units has ended than the index knows."""
        ended = sum(
            one.units for one in await self._store.count_units(self._run_id) if one.outcome is not None
        )
        return ended != int(np.count_nonzero(self._index.columns.outcome))

    async def _rest(self, worked_s: float) -> None:
        at_work = self._clock() - self._moved_at < _AT_WORK_S
        duty = _WORKING_DUTY if at_work else _QUIET_DUTY
        await self._sleep(worked_s * (1 - duty) / duty)


def stage_of(attempt: int) -> int:
    """Return the code of the stage of a glance."""
    return REFORMATTER if attempt >= REFORMATTED else min(attempt, REFORMATTER - 1)
