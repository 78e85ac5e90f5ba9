"""How far people have graded a run: beside every number that rests on their grades.

By task of grading, and within it by whose answers: how many there are to grade, how many raters of how many
have graded each, how many wait for another rater, how many are in dispute without a consensus, and how the
grades that stand were made. An answer counts as graded by a rater who has answered all questions of the task
about the answer that stands now. The raters of an answer are those of the gradings that it is in; of answers
that no grading is about, all who graded any such answer of the task, and its questions are those that any
of them answered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from harness.benchmarks.base import Question, Subject
from harness.benchmarks.sheets import GradingTask
from harness.benchmarks.steps import CONSENSUS, Step, is_consensus
from harness.cache.grades import Grade
from harness.cache.rows import UnitId
from harness.cache.store import Store
from harness.canonical import JSON
from harness.grading.sampling import NOT_DRAWN
from harness.offline.new_answers import answered_since
from harness.offline.replay import ReplayedUnit
from harness.offline.settled_grades import MADE, Gradings, KnownGrading, Said, Settled, gradings_of, said_of
from harness.offline.stored_run import StoredRun
from harness.outcomes import USABLE


@dataclass(slots=True)
class _Counts:
    """What is told of some answers; `to_grade` of the `usable` ones are in a grading, or graded."""

    usable: int = 0
    to_grade: int = 0
    by_raters: Counter[tuple[int, int]] = field(default_factory=Counter)
    waiting: int = 0
    disputed: int = 0
    disputed_grades: int = 0
    made: Counter[str] = field(default_factory=Counter)

    def to_json(self) -> dict[str, JSON]:
        """Return it as the scores have it: `by_raters` from the most graded to those that nobody did."""
        order = sorted(self.by_raters, key=lambda one: (-one[0], one[1]))
        return {
            "usable": self.usable,
            "to_grade": self.to_grade,
            "by_raters": {f"{done} of {of}": self.by_raters[done, of] for done, of in order},
            "waiting": self.waiting,
            "disputed": self.disputed,
            "disputed_grades": self.disputed_grades,
            "made": {how: self.made[how] for how in MADE if self.made[how]},
        }

    def note(self, settled: Sequence[Settled]) -> None:
        """Count what stands of the questions of one answer."""
        why_not = Counter(one.why_not for one in settled)
        self.waiting += bool(why_not["waiting"])
        self.disputed += bool(why_not["disputed"])
        self.disputed_grades += why_not["disputed"]
        self.made.update(one.made for one in settled if one.made is not None)


class GradingProgress:
    """Takes the units of a run as they are answered now, and counts their grades, task by task."""

    def __init__(
        self,
        stored: StoredRun,
        said: Said,
        gradings: Gradings,
        raters: Collection[str] | None,
        tasks: Mapping[str, GradingTask] | None = None,
    ) -> None:
        self._stored = stored
        known, self._said = _known(stored), {}
        for unit, questions in said.items():
            self._said[unit] = {
                name: counted
                for name, of_it in questions.items()
                if name in known and (counted := _counted(of_it, known[name], raters))
            }
        self._gradings = gradings.only(raters)
        found = (
            _Task(
                task,
                {question.name: known[question.name] for question in task.questions},
                self._said,
                Gradings([one for one in self._gradings.known if one.plan.task == task.name]),
            )
            for task in (stored.benchmark.gradings if tasks is None else tasks).values()
        )
        self._tasks = [task for task in found if task.is_there]

    @property
    def is_there(self) -> bool:
        """True if anybody graded, or is to grade."""
        return bool(self._tasks)

    def note(self, replayed: ReplayedUnit) -> None:
        """Count one unit, if it has a usable answer."""
        if replayed.result.outcome not in USABLE:
            return
        unit, benchmark = replayed.unit, self._stored.benchmark
        whose = Subject(unit.model, unit.condition)
        if isinstance(benchmark, Step):
            index = self._stored.case_index
            whose = benchmark.subject(index.case(index.place(unit.case_id))) or whose
        self._count(unit, whose)

    def note_graded(self) -> None:
        """Count the answers that are in a grading or graded, where nobody reads the others."""
        units = {unit for one in self._gradings.known for unit in one.items} | self._said.keys()
        for unit in sorted(units):
            self._count(unit, Subject(unit.model, unit.condition))

    def to_json(self) -> list[JSON]:
        """Return it as the scores have it, a task an element."""
        return [task.to_json() for task in self._tasks]

    def _count(self, unit: UnitId, whose: Subject) -> None:
        for task in self._tasks:
            if task.follows(unit.condition):
                task.note(unit, whose, self._said.get(unit, {}))


class _Task:
    """The counts of one task, and of whose answers they are."""

    def __init__(
        self, task: GradingTask, questions: Mapping[str, Question], said: Said, gradings: Gradings
    ) -> None:
        self._task = task
        self._questions = questions
        self._gradings = gradings
        self._whole = _Counts()
        self._rows: dict[Subject, _Counts] = {}
        every = chain.from_iterable(of_unit.items() for of_unit in said.values())
        graded = [(name, rater) for name, raters in every if name in questions for rater in raters]
        self._raters = tuple(sorted({rater for _, rater in graded} - {CONSENSUS}))
        self._asked = questions.keys() if gradings.known else {name for name, _ in graded}

    @property
    def is_there(self) -> bool:
        """True if anybody graded, or is to grade."""
        return bool(self._raters or self._gradings.known)

    def follows(self, condition: str) -> bool:
        return self._task.follows(condition)

    def note(self, unit: UnitId, whose: Subject, said: Mapping[str, Mapping[str, JSON]]) -> None:
        said = {name: raters for name, raters in said.items() if name in self._questions}
        about = [one for one in self._gradings.known if unit in one.items]
        done = self._done(said)
        wanted = frozenset[str]().union(*(one.graders(unit) for one in about))
        if not about and said:
            wanted = frozenset(self._raters)
        settled = [
            self._gradings.settle(unit, name, raters, self._questions[name]) for name, raters in said.items()
        ]
        for counts in (self._whole, self._rows.setdefault(whose, _Counts())):
            counts.usable += 1
            if about or said:
                counts.to_grade += 1
                counts.by_raters[len(done), len(wanted | done)] += 1
                counts.note(settled)

    def to_json(self) -> JSON:
        return {
            "task": self._task.name,
            "raters": list(self._raters),
            "gradings": [_grading_json(one) for one in self._gradings.known],
            "counts": self._task.counts,
            **self._whole.to_json(),
            "rows": [
                {"model": whose.model, "condition": whose.condition, **counts.to_json()}
                for whose, counts in sorted(self._rows.items())
            ],
        }

    def _done(self, said: Mapping[str, Mapping[str, JSON]]) -> frozenset[str]:
        """Return who has answered all questions that anybody is asked."""
        if said.keys() != self._asked:
            return frozenset()
        return frozenset.intersection(*(frozenset(raters) for raters in said.values())) - {CONSENSUS}


def _grading_json(one: KnownGrading) -> JSON:
    plan = one.plan
    drawn_from = len(plan.items) + plan.not_graded.get(NOT_DRAWN, 0)
    by_hand = _opened_by_hand(one)
    return {
        "name": one.name,
        "raters": sorted(one.raters.intersection(one.roster.active)),
        "retired": sorted(one.raters.difference(one.roster.active)),
        "answers": len(plan.items),
        "drawn_from": drawn_from if drawn_from > len(plan.items) else None,
        "seed": plan.seed,
        "conditions": list(plan.conditions),
        "models": list(plan.models),
        **({"opened_by_hand": by_hand} if by_hand else {}),
    }


def _opened_by_hand(one: KnownGrading) -> list[JSON]:
    """Return to whom full grading was opened below the threshold, and why; None: to all."""
    state = one.roster.state
    opened = [(None, state.opened), *((late.name, late.opened) for late in state.joined)]
    return [
        {"rater": name, "reason": how.reason} for name, how in opened if how is not None and how.by == "lead"
    ]


async def grading_progress(
    store: Store, stored: StoredRun, raters: Collection[str] | None
) -> GradingProgress | None:
    """Return room for the units of a run that people grade; None where nobody does.

    `raters`: whose grades the numbers are made of; None: of everybody.
    """
    tasks = stored.benchmark.gradings
    if not tasks:
        return None
    if raters is not None:
        raters = {CONSENSUS if is_consensus(rater) else rater for rater in raters}
    progress = GradingProgress(
        stored,
        said_of(await _about_these_answers(store, stored)),
        await gradings_of(store, stored.run.id, tasks),
        raters,
    )
    return progress if progress.is_there else None


async def step_progress(
    store: Store, source: StoredRun, grades: Iterable[Grade], questions: Collection[str]
) -> GradingProgress | None:
    """Return what people say of the answers that a step looked at, counted: of tasks with its questions.

    `grades` are those that the step is compared with.
    """
    tasks = {
        name: task
        for name, task in source.benchmark.gradings.items()
        if all(question.name in questions for question in task.questions)
    }
    gradings = await gradings_of(store, source.run.id, tasks)
    progress = GradingProgress(source, said_of(grades), gradings, None, tasks)
    progress.note_graded()
    return progress if progress.is_there else None


async def _about_these_answers(store: Store, stored: StoredRun) -> list[Grade]:
    """Return the grades that stand, about answers that stand."""
    known = _known(stored)
    grades = [one for one in await store.grades(stored.run.id) if one.question in known]
    since = await answered_since(store, stored, {one.unit for one in grades})
    return [one for one in grades if one.graded_at_us >= since.get(one.unit, 0)]


def _known(stored: StoredRun) -> Mapping[str, Question]:
    """Return the questions of all tasks: as the scores know them, else by what a sheet offers."""
    benchmark = stored.benchmark
    own = benchmark.own_questions if isinstance(benchmark, Step) else benchmark.questions
    return {
        one.name: own.get(one.name) or Question(tuple(option.value for option in one.options))
        for task in benchmark.gradings.values()
        for one in task.questions
    }


def _counted(
    said: Mapping[str, JSON], question: Question, raters: Collection[str] | None
) -> Mapping[str, JSON]:
    """Return the grades that the numbers use: of these raters, and such as the question takes."""
    return {
        rater: value
        for rater, value in said.items()
        if (raters is None or rater in raters) and question.takes(value)
    }
