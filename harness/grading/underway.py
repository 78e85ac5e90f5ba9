"""A grading under way: its grades and answers as they stand, what they make due, what its lead decides."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations

from harness.benchmarks.sheets import GradingTask
from harness.benchmarks.steps import CONSENSUS
from harness.cache.gradings import StoredGrading
from harness.cache.store import Store
from harness.grading.agreement import PairAgreement
from harness.grading.answers_now import AnswersNow, Survey
from harness.grading.book import Book
from harness.grading.calibration import Due, another_round, due_rounds
from harness.grading.checking import questions_of
from harness.grading.course import Course
from harness.grading.joining import check_takes_place, own_round_again, with_another, without
from harness.grading.masking import Mask
from harness.grading.order import rater_order
from harness.grading.roster import Roster
from harness.grading.seats import Seat
from harness.grading.standing import Standing
from harness.grading.state import State
from harness.moments import now_us
from harness.offline.stored_run import StoredRun


class Underway(Course):
    """A grading with its grades. Everything that another process did on its store is seen at `refresh`."""

    def __init__(
        self, store: Store, grading: StoredGrading, stored: StoredRun, task: GradingTask, mask: Mask,
        *, clock: Callable[[], int] = now_us,
    ) -> None:  # fmt: skip
        super().__init__(store, grading, clock=clock)
        self.stored = stored
        self.task = task
        numbers = {item.unit: number for number, item in enumerate(self.plan.items)}
        self._book = Book(numbers)
        self._answers = AnswersNow(store, stored, task, self.plan, mask)
        self._standing = Standing(lambda: self.roster, task, self._book, self._answers, questions_of(stored))
        self._cases = {number: item.unit.case_id for number, item in enumerate(self.plan.items)}
        self._orders: dict[str, tuple[Roster, Sequence[int]]] = {}

    async def refresh(self) -> None:
        """Take in what others did on this store: grades, links, rounds, answers that were asked again."""
        async with self._lock:
            await self._reload()
            self._book.add(await self.store.grades_after(self.stored.run.id, self._book.last))
            await self._answers.refresh()
        await self._advance()

    async def agreement(self) -> Sequence[PairAgreement]:
        """Return how far every two raters agree, over all that both graded, before any consensus.

        Those who have retired are among them.
        """
        await self.refresh()
        numbers, pairs = range(len(self.plan.items)), list(combinations(self.roster.names, 2))
        return await asyncio.to_thread(self._standing.agreement, numbers, self._groups(numbers), pairs)

    async def survey(self) -> Survey:
        """Read every answer once, and tell how many are others than when the grading was made."""
        await self.refresh()
        return await self._answers.survey()

    async def calibrate_again(self, size: int | None = None) -> None:
        """Begin another round of calibration, of other items; `size` None: of as many as the first.

        Once full grading is open, of those who came later and did not reach the threshold, on items that the
        others have graded. Raises ConfigError where none can be begun: a round goes on, or nobody waits.
        """
        await self.refresh()
        waiting = {one.name for one in self.roster.pending}
        others = [name for name in self.roster.active if name not in waiting]
        # Held against those who grade everything; where nobody does, against who grades a share.
        held = [name for name in others if self.roster.grades_all(name)] or others
        graded = [
            number
            for number in range(len(self.plan.items))
            if held
            and number not in self._answers.gone
            and all(self.roster.grades(name, number) for name in held)
            and all(self._has_done(number, name) for name in others)
        ]
        plan, at = self.plan, self._clock
        await self.change(
            lambda now: (
                another_round(plan, now, at(), size)
                if now.opened is None
                else own_round_again(plan, now, graded, at(), size)
            )
        )

    async def add_rater(self, name: str, in_place_of: str | None = None) -> Seat:
        """Add a rater, or one who left and comes back, and return their seat.

        `in_place_of`: they grade what this rater, who retires by it, has left open, beside calibration; else
        everything. Raises ConfigError for a name that cannot be one here, UnknownNameError for nobody's.
        """
        await self.refresh()

        def joined(now: State) -> State:
            if in_place_of is None:
                return with_another(self.plan, now, name, self._clock())
            roster = Roster(self.plan, now)
            check_takes_place(roster, name, in_place_of)
            share = [
                number
                for number in range(len(self.plan.items))
                if roster.grades(in_place_of, number) and not self._standing.has_said(number, in_place_of)
            ]
            moment = self._clock()
            new = with_another(self.plan, now, name, moment, share=share, in_place_of=in_place_of)
            return without(self.plan, new, in_place_of, moment) if in_place_of in roster.active else new

        state = await self.change(joined)
        await self.refresh()
        return next(seat for seat in state.seats if (seat.role, seat.name) == ("rater", name))

    async def retire(self, name: str) -> None:
        """Wait for a rater no more: their grades stay and count, their link opens nothing.

        Raises ConfigError for the only rater, UnknownNameError for nobody's name.
        """
        await self.change(lambda now: without(self.plan, now, name, self._clock()))
        await self.refresh()

    def _has_done(self, number: int, rater: str) -> bool:
        return not self.roster.grades(rater, number) or self._standing.is_done(number, rater)

    def _order(self, name: str) -> Sequence[int]:
        known = self._orders.get(name)
        if known is not None and known[0] is self.roster:
            return known[1]
        if name == CONSENSUS:
            found: Sequence[int] = rater_order(name, self.plan.seed, [], self._cases)
        else:
            found = self.roster.order(name, self._cases)
        self._orders[name] = self.roster, found
        return found

    async def _advance(self) -> None:
        """End rounds that all who partake have finished, and open full grading to those who agree."""
        if self.store.read_only or self.state.withdrawn_at_us is not None:
            return
        for due in due_rounds(self.roster, self._standing):
            groups = self._groups(due.items)
            pairs = await asyncio.to_thread(
                self._standing.agreement, due.items, groups, due.pairs, due.last.kept
            )
            await self.change(partial(self._ended, due, pairs))

    def _ended(self, due: Due, pairs: Sequence[PairAgreement], now: State) -> State | None:
        return due.ended(self.plan, now, pairs, self._clock())

    def _groups(self, numbers: Sequence[int] | range) -> Mapping[int, str]:
        return {number: self.stored.case_index.group(self._cases[number]) for number in numbers}
