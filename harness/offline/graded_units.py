"""What a step says of the units that people graded, for the comparison of the two."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import astuple, dataclass

from harness.benchmarks.base import Case
from harness.benchmarks.steps import Answer, Graded, Step, StepCase, id_of_unit, unit_of_id
from harness.cache.grades import Grade
from harness.cache.rows import Run, UnitId
from harness.cache.store import Store
from harness.canonical import JSON, digest
from harness.messages import Reply
from harness.offline.replay import ReplayedUnit, Replayer
from harness.offline.step_runs import source_run
from harness.offline.stored_run import StoredRun, load_run
from harness.outcomes import USABLE


class GradedUnits:
    """Takes a step's units, and keeps its answers about the graded ones.

    `of_other_answers` grades are left out: they are not about the answer that the step was shown.
    """

    def __init__(
        self, step: Step, stored: StoredRun, grades: Sequence[Grade], of_other_answers: int = 0
    ) -> None:
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
            Graded(unit, repeat, self._said.get((unit, repeat)), self._values[unit], self._group(unit))
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

    def _group(self, unit: UnitId) -> str:
        case = _step_case(self._stored, unit)
        return unit.case_id if case is None or case.group is None else case.group


async def graded_units(store: Store, stored: StoredRun) -> GradedUnits | None:
    """Return room for the units of a step whose run people graded; None where there is nothing to compare."""
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
    moved = await _asked_again(store, source, step, {grade.unit for grade in grades})
    same = [grade for grade in grades if _of_the_same_answer(grade, moved.get(grade.unit), stored)]
    return GradedUnits(step, stored, same, len(grades) - len(same))


@dataclass(frozen=True, slots=True)
class _NewAnswer:
    """What stands of a unit that was asked once more: since when, and what a step would be shown of it."""

    since_us: int
    shown: Mapping[str, str] | None


async def _asked_again(
    store: Store, source: Run, step: Step, graded: Collection[UnitId]
) -> Mapping[UnitId, _NewAnswer]:
    """Return those graded units that `--again` gave another answer: people may have seen the earlier one."""
    again = [
        state.unit
        async for states in store.unit_state_pages(source.id)
        for state in states
        if state.again_after and state.unit in graded
    ]
    if not again:
        return {}
    stored, found = await load_run(store, source), {}
    replayer = Replayer(stored)
    for unit in again:
        linked = await store.linked_unit(source.id, unit)
        assert linked is not None, "its state was read before"
        replies = [replayer.read(unit, one) for _, one in linked.links]
        if linked.state.outcome and len({one.text for one in replies if isinstance(one, Reply)}) == 1:
            continue  # asked again, and answered alike
        result = replayer.replay(unit, linked).result
        times = [one.data.started_at_us for _, one in linked.links if one.id > linked.state.again_after]
        place = stored.case_index.find(unit.case_id)
        made = None
        if result.outcome in USABLE and place is not None:
            case = stored.case_index.case(place)
            made = step.step_case(Answer(unit, case, result.outcome, result.prediction))
        shown = made.fields if isinstance(made, StepCase) else None
        found[unit] = _NewAnswer(max(times, default=0), shown)
    return found


def _of_the_same_answer(grade: Grade, new: _NewAnswer | None, stored: StoredRun) -> bool:
    """Tell whether person and step saw one and the same answer: the one that stands."""
    if new is None:
        return True
    case = _step_case(stored, grade.unit)
    shown = case is None or (new.shown is not None and dict(case.fields) == dict(new.shown))
    return shown and grade.graded_at_us >= new.since_us


def _step_case(stored: StoredRun, unit: UnitId) -> Case | None:
    place = stored.case_index.find(id_of_unit(unit))
    return None if place is None else stored.case_index.case(place)
