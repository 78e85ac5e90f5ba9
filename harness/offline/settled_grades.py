"""Which grade of a question stands of all that people said: settled, or waiting, or in dispute.

A grading by `harness grade` says who grades which answers, and that all of them grade all of these. So what
its raters say of a question counts once each of them has answered it: what the first one says alone is not
what the grading comes to. Who has retired is not waited for; what they said stays. Somebody who came later is
waited for at all that is theirs. A consensus counts at once. Grades that no grading speaks of, imported ones
and those of a grading that was withdrawn, count as they are; how many raters a number rests on is told beside
it (`harness.offline.grading_progress`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from harness.benchmarks.base import Question
from harness.benchmarks.scored import Unsettled
from harness.benchmarks.sheets import GradingTask
from harness.benchmarks.steps import CONSENSUS, agreed_grade, is_consensus
from harness.cache.grades import Grade
from harness.cache.rows import UnitId
from harness.cache.store import Store
from harness.canonical import JSON, canonical_json, digest
from harness.grading.plan import Plan, read_plan
from harness.grading.roster import Roster
from harness.grading.state import read_state

Made: TypeAlias = Literal["consensus", "agreed", "mean", "single"]
"""How a grade came to stand: a consensus, what several say alike, their mean, what the only rater says."""

MADE: Final[tuple[Made, ...]] = ("consensus", "agreed", "mean", "single")

Said: TypeAlias = "Mapping[UnitId, Mapping[str, Mapping[str, JSON]]]"
"""Unit -> question -> rater -> the grade that stands of this rater; `CONSENSUS` is one of them."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What stands of a question of an answer: a value and how it was made, or why there is none."""

    value: JSON
    made: Made | None
    why_not: Unsettled | None = None


@dataclass(frozen=True, slots=True)
class KnownGrading:
    """A grading with the numbers of its answers.

    `raters` are all whose grades are this grading's, of those who are asked about here.
    """

    name: str
    plan: Plan
    roster: Roster
    raters: frozenset[str]
    questions: frozenset[str]
    items: Mapping[UnitId, int]

    def graders(self, unit: UnitId) -> frozenset[str]:
        """Return who is waited for at an answer of this grading."""
        return self.raters.intersection(self.roster.graders(self.items[unit]))


class Gradings:
    """The gradings of a run: whose grades of which questions count together."""

    def __init__(self, known: Sequence[KnownGrading]) -> None:
        self.known = known

    def only(self, raters: Collection[str] | None) -> Gradings:
        """Return the gradings as they are where the grades of some raters alone count; None: of all."""
        if raters is None:
            return self
        kept = (replace(one, raters=one.raters.intersection(raters)) for one in self.known)
        return Gradings([one for one in kept if one.raters])

    def about(self, unit: UnitId, question: str) -> list[KnownGrading]:
        """Return the gradings in which a question of an answer is asked."""
        return [one for one in self.known if question in one.questions and unit in one.items]

    def waiting(self, unit: UnitId, question: str, raters: Collection[str]) -> frozenset[str]:
        """Return those of the raters of a question whose grades do not count yet: others have not graded."""
        theirs, complete = set[str](), set[str]()
        for one in self.about(unit, question):
            theirs |= one.raters
            if one.graders(unit).issubset(raters):
                complete |= one.raters
        return frozenset(raters) & (theirs - complete)

    def settle(self, unit: UnitId, name: str, said: Mapping[str, JSON], question: Question) -> Settled:
        """Return what stands of a question, of at least one rater's grade."""
        if CONSENSUS in said:
            return Settled(said[CONSENSUS], "consensus")
        waiting = self.waiting(unit, name, said)
        counted = {rater: value for rater, value in said.items() if rater not in waiting}
        if not counted:
            return Settled(None, None, "waiting")
        value = agreed_grade(counted, question)
        if value is None:
            return Settled(None, None, "disputed")
        if len(counted) == 1:
            return Settled(value, "single")
        return Settled(value, "agreed" if len(set(map(canonical_json, counted.values()))) == 1 else "mean")


async def gradings_of(store: Store, run_id: int, tasks: Mapping[str, GradingTask]) -> Gradings:
    """Return the gradings of a run, by tasks that its benchmark has, but for those that were withdrawn.

    Raises StoreError for a damaged one.
    """
    found = []
    for grading in await store.gradings_of(run_id):
        plan, state = read_plan(grading.settings), read_state(grading.state)
        if plan.task in tasks and state.withdrawn_at_us is None:
            roster = Roster(plan, state)
            questions = frozenset(question.name for question in tasks[plan.task].questions)
            items = {item.unit: number for number, item in enumerate(plan.items)}
            known = KnownGrading(grading.name, plan, roster, frozenset(roster.names), questions, items)
            found.append(known)
    return Gradings(found)


_OF_NO_NUMBER: Final = frozenset({"seats", "port", "server"})


async def agreed_on(store: Store, run_id: int) -> list[JSON]:
    """Return what people agreed on who grade a run, and who came and left since: another value wherever
    other grades may count.
    """
    return [
        [one.name, digest(dict(one.settings)), {k: v for k, v in one.state.items() if k not in _OF_NO_NUMBER}]
        for one in await store.gradings_of(run_id)
    ]


def said_of(grades: Iterable[Grade]) -> dict[UnitId, dict[str, dict[str, JSON]]]:
    """Return what people say of each question: of a consensus written in several ways the newest stands."""
    found: dict[UnitId, dict[str, dict[str, JSON]]] = {}
    for grade in sorted(grades, key=lambda one: one.graded_at_us):
        rater = CONSENSUS if is_consensus(grade.rater) else grade.rater
        found.setdefault(grade.unit, {}).setdefault(grade.question, {})[rater] = grade.value
    return found
