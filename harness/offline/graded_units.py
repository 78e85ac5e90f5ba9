"""What a step says of the units that people graded, for the comparison of the two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple

from harness.benchmarks.steps import Graded, Step, unit_of_id
from harness.cache.grades import Grade
from harness.cache.rows import UnitId
from harness.cache.store import Store
from harness.canonical import JSON, digest
from harness.offline.grading_progress import GradingProgress, step_progress
from harness.offline.new_answers import NewAnswer, step_case
from harness.offline.replay import ReplayedUnit
from harness.offline.settled_grades import Gradings, gradings_of
from harness.offline.step_runs import source_run
from harness.offline.stored_run import StoredRun, load_run


class GradedUnits:
    """Takes a step's units, and keeps its answers about the graded ones.

    `of_other_answers` grades are left out: they are not about the answer that the step was shown.
    """

    def __init__(
        self,
        step: Step,
        stored: StoredRun,
        grades: Sequence[Grade],
        of_other_answers: int,
        gradings: Gradings,
        progress: GradingProgress | None,
    ) -> None:
        self.progress = progress
        self._gradings = gradings
        self._step = step
        self._stored = stored
        self._grades = grades
        self._of_other_answers = of_other_answers
        self._values: dict[UnitId, dict[str, dict[str, JSON]]] = {}
        for grade in grades:
            raters = self._values.setdefault(grade.unit, {})
            raters.setdefault(grade.rater, {})[grade.question] = grade.value
        self._said: dict[tuple[UnitId, int], JSON] = {}

    def note(self, replayed: ReplayedUnit) -> None:
        """Keep the answer of one of the step's units, if it is about a graded one."""
        about = unit_of_id(replayed.unit.case_id)
        if about in self._values:
            self._said[about, replayed.unit.repeat] = replayed.result.prediction

    def graded(self) -> list[Graded]:
        """Return every graded unit with what the step said, in order; None where it said nothing usable."""
        return [
            Graded(
                unit, repeat, self._said.get((unit, repeat)), self._values[unit], self._group(unit),
                self._waiting(unit),
            )
            for unit in sorted(self._values)
            for repeat in range(1, self._stored.manifest.repeats + 1)
        ]

    def to_json(self) -> Mapping[str, JSON] | None:
        """Return the comparison as the scores have it; None where the step makes none."""
        graded = self.graded()
        found = self._step.agreement(graded) if graded else {}
        if found is None:
            return None
        # Which grades were compared, so that two scores that differ by them can be told apart.
        content = [
            [*astuple(grade.unit), grade.rater, grade.question, grade.value] for grade in self._grades
        ]
        return {
            "grades": len(self._grades),
            "grades_sha256": digest(content),
            "of_other_answers": self._of_other_answers,
            **found,
        }

    def _waiting(self, unit: UnitId) -> Mapping[str, frozenset[str]]:
        """Return question -> whose grades wait for those of other raters; of a consensus nobody's does."""
        said: dict[str, list[str]] = {}
        for rater, grades in self._values[unit].items():
            for name in grades:
                said.setdefault(name, []).append(rater)
        return {name: self._gradings.waiting(unit, name, raters) for name, raters in said.items()}

    def _group(self, unit: UnitId) -> str:
        case = step_case(self._stored, unit)
        return unit.case_id if case is None or case.group is None else case.group


async def graded_units(
    store: Store, stored: StoredRun, new: Mapping[UnitId, NewAnswer]
) -> GradedUnits | None:
    """Return room for the units of a step whose run people graded; None where there is nothing to compare.

    `new`: see `new_answers`.
    """
    wanted, step = stored.manifest.step, stored.benchmark
    if wanted is None or not isinstance(step, Step) or not step.questions:
        return None
    source = await source_run(store, wanted.source)
    if source is None:
        return None
    standing = await store.grades(source.id)
    grades = [grade for grade in standing if grade.question in step.questions]
    if not grades:
        return None
    same = [grade for grade in grades if _of_the_same_answer(grade, new.get(grade.unit))]
    followed = await load_run(store, source)
    gradings = await gradings_of(store, source.id, followed.benchmark.gradings)
    progress = await step_progress(store, followed, same, step.questions)
    return GradedUnits(step, stored, same, len(grades) - len(same), gradings, progress)


def _of_the_same_answer(grade: Grade, new: NewAnswer | None) -> bool:
    """Tell whether person and step saw one and the same answer: the one that stands."""
    return new is None or (new.seen and grade.graded_at_us >= new.since_us)
