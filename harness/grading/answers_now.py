"""The answers of a grading as they stand now: what a sheet shows of each, since when, and which are gone."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from harness.benchmarks.sheets import GradingTask, Sheet
from harness.benchmarks.steps import Answer, NoCase
from harness.cache.parts import off_the_loop
from harness.cache.rows import LinkedUnit, UnitId
from harness.cache.store import Store
from harness.cache.units import Only
from harness.grading.masking import Mask
from harness.grading.plan import Plan, answer_digest
from harness.offline.new_answers import answer_since
from harness.offline.replay import ReplayedUnit, Replayer
from harness.offline.replay_stream import replay_units
from harness.offline.stored_run import StoredRun
from harness.outcomes import USABLE

_WORTH: Final = 8
"""So many times as long as compressing a byte takes it to read an answer, and to look for names in it."""


@dataclass(frozen=True, slots=True)
class AnswerNow:
    """What is shown of an item, with names of models hidden in what they wrote, or why there is nothing.

    `answer` is the digest of the prediction, by which another answer is noticed; `names_hidden` counts names
    of models that were hidden in the sheet.
    """

    made: Sheet | NoCase
    names_hidden: int
    answer: str


@dataclass(frozen=True, slots=True)
class Survey:
    """How many items are answered otherwise than when the grading was made, and what is hidden in sheets.

    `names_hidden`: how many names; `sheets_hiding`: in how many sheets.
    """

    other_answers: int
    names_hidden: int
    sheets_hiding: int


class AnswersNow:
    """Reads the items of a grading, each anew whenever it is shown: it may have been asked again meanwhile.

    `since`: item -> since when its answer stands, microseconds since 1970 UTC, where it is another one than
    it was at first; older grades are not about it. `gone`: item -> why it has no answer that could be graded,
    for now; `awaited`: those of them that are being asked again, and are not answered yet.
    """

    def __init__(
        self, store: Store, stored: StoredRun, task: GradingTask, plan: Plan, mask: Mask
    ) -> None:
        self._store = store
        self._stored = stored
        self._task = task
        self._plan = plan
        self._mask = mask
        self._numbers = {item.unit: number for number, item in enumerate(plan.items)}
        self._replayer = Replayer(stored)
        self._known: dict[UnitId, tuple[int, str | None]] = {}
        self.since: dict[int, int] = {}
        self.gone: dict[int, str] = {}
        self.awaited: frozenset[int] = frozenset()

    async def refresh(self) -> None:
        """Look at the items that were asked again since this was done last."""
        again = await self._store.asked_again(self._stored.run.id)
        for unit, mark in again.items():
            if unit in self._numbers and self._known.get(unit) != mark:
                await self.read(self._numbers[unit])
                self._known[unit] = mark
        self.awaited = frozenset(
            self._numbers[unit]
            for unit, (_, outcome) in again.items()
            if outcome is None and unit in self._numbers
        )

    async def read(self, number: int) -> AnswerNow:
        """Return what is shown of an item as it is answered now."""
        unit = self._plan.items[number].unit
        linked = await self._store.linked_unit(self._stored.run.id, unit)
        size = sum(len(one.data.raw.body) for _, one in linked.links) if linked is not None else 0
        found, since = await off_the_loop(
            lambda: self._made(self._replayer.replay(unit, linked), linked), size * _WORTH
        )
        self._note(number, found, since)
        return found

    async def survey(self) -> Survey:
        """Read every item once."""
        others = hidden = hiding = 0
        only = Only(frozenset(self._plan.models), frozenset(self._plan.conditions))
        async with aclosing(replay_units(self._store, self._stored, self._replayer, only=only)) as stream:
            async for replayed in stream:
                number = self._numbers.get(replayed.unit)
                if number is None:
                    continue
                linked = None if replayed.state is None else LinkedUnit(replayed.state, replayed.links)
                now, since = self._made(replayed, linked)
                self._note(number, now, since)
                others += not isinstance(now.made, NoCase) and now.answer != self._plan.items[number].answer
                hidden += now.names_hidden
                hiding += now.names_hidden > 0
        return Survey(others, hidden, hiding)

    def _made(self, replayed: ReplayedUnit, linked: LinkedUnit | None) -> tuple[AnswerNow, int | None]:
        """Return what is shown of a unit, and since when if it was asked again."""
        since = None
        if linked is not None and linked.state.again_after:
            since = answer_since(self._replayer, replayed.unit, linked) or 0
        made, answer = shown_of(self._stored, self._task, replayed), answer_digest(replayed.result.prediction)
        if isinstance(made, NoCase):
            return AnswerNow(made, 0, answer), since
        return AnswerNow(*self._mask.sheet(made), answer), since

    def _note(self, number: int, found: AnswerNow, since: int | None) -> None:
        if since is not None:
            self.since[number] = since
        if isinstance(found.made, NoCase):
            self.gone[number] = found.made.why
        else:
            self.gone.pop(number, None)


def shown_of(stored: StoredRun, task: GradingTask, replayed: ReplayedUnit) -> Sheet | NoCase:
    """Return the sheet of a unit as it was replayed, or why it has none."""
    result, unit = replayed.result, replayed.unit
    if result.outcome not in USABLE:
        return NoCase(result.outcome.value)
    place = stored.case_index.find(unit.case_id)
    if place is None:
        return NoCase("no such case")
    return task.sheet(Answer(unit, stored.case_index.case(place), result.outcome, result.prediction))
