"""One grading at work: what each seat may see, the grades that they give, and what follows from them.

Everything goes to the store at once, and everything that another process on the same store did is seen at the
next call: several servers may serve one grading. Positions count from 1 and are a seat's own; which answer
lies behind one is known here alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from harness.benchmarks.sheets import COMMENT
from harness.benchmarks.steps import CONSENSUS, NoCase
from harness.cache.grades import GradeValue, NewGrade
from harness.cache.gradings import StoredGrading
from harness.cache.store import Store
from harness.canonical import JSON, digest
from harness.errors import ConfigError, GradeRefusedError, StoreError, UnknownNameError
from harness.grading.answers_now import AnswerNow
from harness.grading.checking import questions_of
from harness.grading.masking import Mask
from harness.grading.run_names import all_names
from harness.grading.seats import Seat
from harness.grading.shown import Disagreement, Overview, Phase, Progress, SheetMedium, SheetState, Shown
from harness.grading.standing import Dispute
from harness.grading.state import read_state
from harness.grading.taking import LONGEST_COMMENT, taken_value
from harness.grading.underway import Underway
from harness.moments import now_us, shown_moment
from harness.offline.stored_run import load_run

__all__ = [
    "LONGEST_COMMENT", "Desk", "Disagreement", "Overview", "Phase", "Progress", "SheetMedium", "SheetState",
    "Shown",
]  # fmt: skip


_GONE: Final = "this answer is being asked for again; there is nothing to grade"
_SETTLED: Final = "a consensus was found on this answer; its grades stay as they are"
_TRIES: Final = 100


class Desk(Underway):
    """One grading, opened on a store. Make one with `Desk.open`; it lives as long as the store is open."""

    @property
    def averages(self) -> bool:
        """Tell whether raters' grades count by their mean, so that no question needs a consensus."""
        questions = questions_of(self.stored)
        return all(questions[one.name].averaged for one in self.task.questions)

    @classmethod
    async def open(cls, store: Store, grading: StoredGrading, *, clock: Callable[[], int] = now_us) -> Desk:
        """Open a grading. Raises ConfigError where it was withdrawn or its task is not known, StoreError."""
        ended_us = read_state(grading.state).withdrawn_at_us
        if ended_us is not None:
            raise ConfigError(
                f"grading {grading.name!r} was withdrawn, {shown_moment(ended_us)}; its grades are in the "
                "store, and another grading of its run goes on with them"
            )
        run = next((one for one in await store.runs() if one.id == grading.run_id), None)
        if run is None:
            raise StoreError(f"the run of grading {grading.name!r} is not in this store")
        stored = await load_run(store, run)
        name = str(grading.settings.get("task"))
        task = stored.benchmark.gradings.get(name)
        if task is None:
            raise ConfigError(
                f"{stored.benchmark.name} has no task {name!r} here, which grading {grading.name!r} is of"
            )
        mask = Mask(await all_names(store, stored))
        desk = cls(store, grading, stored, task, mask, clock=clock)
        await desk.refresh()
        return desk

    async def overview(self, seat: Seat) -> Overview:
        """Return where the grading stands, as a seat may know it."""
        await self._enter(seat)
        state, items = self._state, range(len(self.plan.items))
        found = Overview(self._phase(seat), None, len(items), len(state.rounds))
        if seat.role == "rater":
            own = len(self.roster.rounds_of(seat.name))
            return replace(found, own=self._progress(seat.name), round=own)
        disputes = [one for number in items for one in self._disputes(number) if one.needed]
        found = replace(
            found, disputes=len(disputes), settled=sum(one.consensus is not None for one in disputes)
        )
        if seat.role == "consensus":
            return found
        return replace(
            found, raters=tuple(map(self._progress, self.roster.active)), rounds=state.rounds,
            gone=len(self._answers.gone), calibrating=self.roster.pending,
            retired=tuple(self._progress(one.name) for one in state.retired),
        )  # fmt: skip

    def order(self, seat: Seat) -> Sequence[int]:
        """Return the item numbers in the order of a seat's positions, those alone that are open to it.

        A rater's: each round of calibration, shuffled; then, once full grading is open, the others, shuffled.
        The consensus seat's: all items. The lead has none.
        """
        if seat.role == "lead":
            return ()
        found = self._order(seat.name)
        return found if seat.role == "consensus" else found[: self.roster.open_first(seat.name)]

    async def sheet(self, seat: Seat, position: int) -> Shown:
        """Return a sheet as a seat sees it. Raises UnknownNameError for a position that is not open to it."""
        await self._enter(seat)
        return await self._shown(seat, position)

    async def grade(
        self, seat: Seat, position: int, question: str, value: JSON, *, seen: str | None = None
    ) -> Shown:
        """Keep what a seat says of one question of a sheet, at once, and return the sheet as it is then.

        `value` is one of the question's options, or text for `COMMENT`. `seen`: that of the sheet that it is
        about. Raises GradeRefusedError where it is not taken, with the reason, StoreError.
        """
        for _ in range(_TRIES):
            await self._enter(seat)
            shown = await self._shown(seat, position)
            if shown.sheet is None or shown.closed is not None:
                raise GradeRefusedError(str(shown.closed or shown.told))
            if seen is not None and seen != shown.seen:
                raise GradeRefusedError(
                    "there is another answer on this sheet by now; read it again before you grade it"
                )
            number = self.order(seat)[position - 1]
            if await self._keep(seat, number, question, taken_value(self.task, question, value)):
                await self.refresh()
                return await self._shown(seat, position)
        raise StoreError("this sheet is graded by others all the time; try again")

    async def next_open(self, seat: Seat, after: int = 0) -> int | None:
        """Return the first position with something left to say, after one and then from the start."""
        await self._enter(seat)
        order = self.order(seat)
        places = [*range(after, len(order)), *range(min(after, len(order)))]
        return next((place + 1 for place in places if self._is_open(seat, order[place])), None)

    async def sheet_states(self, seat: Seat) -> Sequence[SheetState]:
        """Return what a seat has said of each sheet that is open to it, in the order of its positions."""
        await self._enter(seat)
        return [self._sheet_state(seat, number) for number in self.order(seat)]

    async def disagreements(self) -> Sequence[Disagreement]:
        """Return the items on which raters differ, in the order of the consensus seat, once all is open."""
        await self.refresh()
        if len(self.roster.names) < 2:
            return ()
        order = self._order(CONSENSUS)
        found = ((place, tuple(self._disputes(number))) for place, number in enumerate(order, start=1))
        return tuple(Disagreement(place, disputes) for place, disputes in found if disputes)

    async def _enter(self, seat: Seat) -> None:
        await self.refresh()
        if seat not in self._state.seats:
            raise GradeRefusedError("this link was replaced; ask whoever leads the grading for yours")

    def _phase(self, seat: Seat) -> Phase:
        latest, place = self.roster.calibrates(seat.name), len(self._state.rounds) - 1
        if latest is not None:
            raters = (seat.name,) if seat.role == "rater" else self.roster.partakers(place)
            done = all(self._standing.is_done(number, rater) for number in latest.items for rater in raters)
            ended = seat.role == "rater" or latest.ended_at_us is not None
            return "waiting" if done and ended else "calibration"
        raters = (seat.name,) if seat.role == "rater" else self.roster.active
        items = tuple(range(len(self.plan.items)))
        done = bool(raters) and all(self._has_done(number, rater) for number in items for rater in raters)
        if done and seat.role != "rater":
            done = not any(one.needed and one.consensus is None for n in items for one in self._disputes(n))
        return "done" if done else "full"

    def _progress(self, rater: str) -> Progress:
        numbers = self._order(rater)[: self.roster.open_first(rater)]
        return Progress(rater, self._standing.done(numbers, rater), self._standing.there(numbers))

    def _disputes(self, number: int) -> list[Dispute]:
        return self._standing.disputes(number) if self._state.opened is not None else []

    def _is_open(self, seat: Seat, number: int) -> bool:
        if seat.role == "consensus":
            return any(one.needed and one.consensus is None for one in self._disputes(number))
        return not self._standing.is_done(number, seat.name)

    def _sheet_state(self, seat: Seat, number: int) -> SheetState:
        if number in self._answers.gone:
            return "gone"
        if not self._is_open(seat, number):
            return "done"
        begun = any(name != COMMENT for name in self._standing.grades(number, seat.name))
        return "partly" if begun else "open"

    async def _shown(self, seat: Seat, position: int) -> Shown:
        order = self.order(seat)
        if not 1 <= position <= len(order):
            raise UnknownNameError(f"there is no sheet {position} here; there are {len(order)}")
        number = order[position - 1]
        now = await self._answers.read(number)
        grades = self._standing.grades(number, seat.name)
        sheet = None if isinstance(now.made, NoCase) else now.made
        media = {} if sheet is None else sheet.media
        return Shown(
            position=position,
            total=len(order),
            sheet=sheet,
            grades={name: value for name, value in grades.items() if name != COMMENT},
            comment=str(grades.get(COMMENT, "")),
            media=tuple(SheetMedium(role, one) for role, many in media.items() for one in many),
            seen=self._seen(seat, now),
            unit=self.plan.items[number].unit,
            closed=self._closed(seat, number),
            told=None if sheet is not None else _GONE,
            disputes=tuple(self._disputes(number)) if seat.role == "consensus" else (),
            comments=self._comments(number) if seat.role == "consensus" else {},
        )

    def _comments(self, number: int) -> dict[str, str]:
        said = {rater: self._standing.grades(number, rater).get(COMMENT) for rater in self.roster.names}
        return {rater: str(text) for rater, text in said.items() if text}

    def _closed(self, seat: Seat, number: int) -> str | None:
        # What a rater never said of a settled answer is still theirs to say: else a sheet would stay open.
        if seat.role == "rater" and self._standing.is_settled(number):
            return _SETTLED if self._standing.is_done(number, seat.name) else None
        if seat.role == "consensus" and not self._disputes(number):
            return "the raters do not differ about this answer"
        return None

    async def _keep(self, seat: Seat, number: int, question: str, value: GradeValue) -> bool:
        """Keep a grade; False where the answer got another one meanwhile, and all must be looked at anew."""
        disputed = {one.question for one in self._disputes(number)}
        if seat.role == "consensus" and question not in {COMMENT, *disputed}:
            raise GradeRefusedError(f"the raters do not differ about {question!r}")
        settled = seat.role == "rater" and self._standing.is_settled(number)
        if settled and question in self._standing.grades(number, seat.name):
            raise GradeRefusedError(_SETTLED)
        unit, since = self.plan.items[number].unit, self._answers.since.get(number, 0)
        newest = self._book.newest_us(number, seat.name, question)
        # A value that was given for an earlier answer is given anew for this one, whatever the clocks say.
        at = max(self._clock(), newest + 1, since) if since and newest < since else None
        grade = NewGrade(unit, seat.name, question, value, at)
        return await self.store.add_next_grade(self.stored.run.id, grade, self._book.last)

    def _seen(self, seat: Seat, now: AnswerNow) -> str:
        # With the lead's token, which no rater knows: else a hidden name could be found by trying names.
        return digest([self.lead.token, seat.token, now.answer])[:16]
