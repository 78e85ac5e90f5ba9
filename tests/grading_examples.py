"""A small way of grading triage answers, and gradings of runs that are built by hand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from stored_run_builder import Built, Plan, built_run, case

from harness.benchmarks.base import Question
from harness.benchmarks.sheets import GradingTask, Option, Sheet, SheetPart, SheetQuestion
from harness.benchmarks.steps import Answer, NoCase
from harness.benchmarks.triage.task import Triage
from harness.cache.rows import UnitId
from harness.canonical import JSON
from harness.grading.desk import Desk
from harness.grading.opening import GradingWanted, make_grading
from harness.grading.seats import Seat
from harness.outcomes import UnitOutcome

YES_NO = (Option(0, "n", "no"), Option(1, "y", "yes"))
FIVE = tuple(Option(value, str(value), f"{value} of 5") for value in range(1, 6))


class SmallTask(GradingTask):
    """Whether an answer is right and how well it reads; of one that says SKIP nobody is asked."""

    name: ClassVar[str] = "small"
    title: ClassVar[str] = "Small"
    instructions: ClassVar[tuple[str, ...]] = ("Say whether it is right.",)
    questions: ClassVar[tuple[SheetQuestion, ...]] = (
        SheetQuestion("right", "Is it right?", YES_NO),
        SheetQuestion("reads", "Does it read well?", FIVE),
    )
    calibration: ClassVar[int] = 4

    @property
    def pooled(self) -> tuple[str, ...]:
        return ("right",)

    def sheet(self, answer: Answer) -> Sheet | NoCase:
        assert isinstance(answer.prediction, Mapping)
        text = str(answer.prediction["reasoning"])
        if "SKIP" in text:
            return NoCase("no reasoning")
        return Sheet(
            (
                SheetPart("Complaint", answer.case.fields["chief_complaint"], "context"),
                SheetPart("Explanation", text, "candidate"),
            ),
            media=answer.case.media,
        )


def with_small_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fixture: triage can be graded by the small task, of which `reads` is averaged."""
    questions = {"right": Question((0, 1)), "reads": Question(low=1, high=5, averaged=True)}
    monkeypatch.setattr(Triage, "gradings", property(lambda _: {"small": SmallTask()}))
    monkeypatch.setattr(Triage, "questions", questions)


def unit(number: int, model: str = "alpha") -> UnitId:
    return UnitId(model, "both", f"c{number:03}")


async def answered(built: Built, cases: int, models: Sequence[str]) -> None:
    """Answer every case by every model; each answer is another one."""
    from stored_run_builder import answer

    for model in models:
        for number in range(cases):
            await built.valid(unit(number, model), text=answer(reasoning=f"of {model} on {number}"))


@asynccontextmanager
async def graded_run(
    folder: Path, *, cases: int = 6, models: Sequence[str] = ("alpha", "beta"), **changes: Any
) -> AsyncIterator[Built]:
    """Open a new store with a run of which every unit is answered."""
    plan = Plan([case(f"c{number:03}") for number in range(cases)], models=models, **changes)
    async with built_run(folder, plan) as built:
        await answered(built, cases, models)
        yield built


def wanted(**changes: Any) -> GradingWanted:
    return replace(GradingWanted(task="small", raters=("alice", "bob")), **changes)


async def desk_of(built: Built, **changes: Any) -> Desk:
    """Make a grading of a built run, and open it."""
    made = await make_grading(built.store, built.run, wanted(**changes))
    return await Desk.open(built.store, made)


@dataclass
class Rater:
    """Somebody at a desk, who grades by what the answer behind a position is."""

    desk: Desk
    name: str

    @property
    def seat(self) -> Seat:
        return next(seat for seat in self.desk.seats if seat.name == self.name)

    async def say(self, position: int, **values: JSON) -> None:
        for question, value in values.items():
            await self.desk.grade(self.seat, position, question, value)

    async def say_of(self, number: int, **values: JSON) -> None:
        """Grade an item by its number."""
        await self.say(list(self.desk.order(self.seat)).index(number) + 1, **values)

    async def say_all(self, numbers: Iterable[int], right: Mapping[int, int], reads: int = 3) -> None:
        """Grade items by their numbers, in this order."""
        for number in numbers:
            await self.say_of(number, right=right[number], reads=reads)

    async def all_open(self, right: Mapping[int, int] | None = None, reads: int = 3) -> int:
        """Grade all that is open: item number -> right (0 where nothing is said). Returns how many sheets."""
        count = 0
        while (position := await self.desk.next_open(self.seat)) is not None:
            number = self.desk.order(self.seat)[position - 1]
            await self.say(position, right=(right or {}).get(number, 0), reads=reads)
            count += 1
        return count


async def ask_again(built: Built, one: UnitId, text: str | None, at_us: int) -> None:
    """Ask a unit again, answered by other words at a moment; None: it is not answered yet."""
    await built.store.mark_again(built.run.id, [one])
    if text is None:
        return
    id = await built.exchange(one, text, key=f"again-{at_us}", twin=f"again-{at_us}", started_at_us=at_us)
    await built.finish(one, UnitOutcome.VALID, [(id, "answer", 1)], used=[id], again_after=id - 1)
