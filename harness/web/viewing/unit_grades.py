"""What people and steps said of one unit, with its history; and whom a step's unit is about."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Final

from harness.benchmarks.base import Question
from harness.benchmarks.case_steps import SOURCE_CASE
from harness.benchmarks.steps import (
    CONSENSUS,
    Answer,
    Step,
    StepCase,
    id_of_case,
    id_of_unit,
    is_consensus,
    unit_of_id,
)
from harness.cache.grades import Grade, standing
from harness.cache.parts import chunks
from harness.cache.rows import LinkedUnit, UnitId
from harness.canonical import JSON
from harness.moments import shown_moment
from harness.offline.chosen_grades import grading_steps, scored_questions
from harness.offline.new_answers import answer_since
from harness.offline.replay import Replayer
from harness.offline.settled_grades import gradings_of
from harness.offline.step_runs import StepRun, source_run, steps_over
from harness.offline.stored_run import StoredRun
from harness.outcomes import USABLE
from harness.web.viewing.beginnings import readable
from harness.web.viewing.library import Library
from harness.web.viewing.unit_evidence import UnitRead, UnitReader

_TOGETHER: Final = 64
"""Units of a step whose exchanges are read at once."""


@dataclass(frozen=True, slots=True)
class Said:
    """One grade, and when it was given; `is_old`: about an answer in whose place another stands now."""

    value: str
    at: str
    is_old: bool


@dataclass(frozen=True, slots=True)
class GradeLine:
    """What one rater says to one question: the grade that stands, and those before it, newest first."""

    question: str
    rater: str
    said: Said
    before: Sequence[Said] = ()


@dataclass(frozen=True, slots=True)
class StepSaid:
    """What one repeat of a step over this run says of the unit; `outcome` is that of the step's unit.

    `grades`: question -> grade, where the step gives any. `prediction` None: it said nothing usable.
    `is_old`: it was shown another answer than the one that stands now.
    """

    step: StepRun
    unit: UnitId
    outcome: str
    prediction: str | None
    is_old: bool = False
    grades: Mapping[str, JSON] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UnitGrades:
    """All that was said of a unit.

    `values` are the grades that its scores are computed with, `by` who gave them, in words; None: nobody.
    """

    lines: Sequence[GradeLine]
    steps: Sequence[StepSaid]
    values: Mapping[str, JSON]
    by: str | None


@dataclass(frozen=True, slots=True)
class About:
    """Whom a step's unit is about; `run` None: the run that it follows is not in this store.

    `unit` None: a whole case, `case_id`.
    """

    kind: str
    run: str | None
    unit: UnitId | None
    case_id: str


async def unit_grades(library: Library, reader: UnitReader, read: UnitRead) -> UnitGrades:
    """Return what people and the steps over this run said of a unit. Raises StoreError."""
    (found,) = await grades_of_units(library, reader, [read])
    return found


async def grades_of_units(
    library: Library, reader: UnitReader, reads: Sequence[UnitRead]
) -> Sequence[UnitGrades]:
    """Return the same of several units of one run, in order; what steps say of them is read together."""
    if not reads:
        return []
    steps = steps_over(await library.store.runs(), reads[0].stored.run.digest)
    by_step = [await _said_by(library, reader, step, reads) for step in steps]
    return [
        await _grades(library, read, [said for of_step in by_step for said in of_step[place]])
        for place, read in enumerate(reads)
    ]


async def _grades(library: Library, read: UnitRead, steps: Sequence[StepSaid]) -> UnitGrades:
    store, stored = library.store, read.stored
    history = await store.unit_grade_history(stored.run.id, read.unit)
    since = 0 if not history else await asyncio.to_thread(_since, read)
    lines, questions = _lines(history, since), scored_questions(stored)
    counted = _counted(questions, history, since)
    if counted:
        raters = ", ".join(sorted({rater for said in counted.values() for rater in said}))
        gradings = await gradings_of(store, stored.run.id, stored.benchmark.gradings)
        settled = {
            name: gradings.settle(read.unit, name, said, questions[name]) for name, said in counted.items()
        }
        values = {name: one.value for name, one in settled.items() if one.why_not is None}
        return UnitGrades(lines, steps, values, f"the grades of {raters}")
    if not questions or await store.is_graded(stored.run.id, questions.keys()):
        return UnitGrades(lines, steps, {}, None)
    chosen = [one.run.id for one in grading_steps(stored, await store.runs())]
    first = next((one for one in steps if [one.step.run.id] == chosen), None)
    if first is None or first.is_old:
        return UnitGrades(lines, steps, {}, None)
    by = f"what {first.step.model} said in the step {first.step.run.name}"
    return UnitGrades(lines, steps, first.grades, by)


def _since(read: UnitRead) -> int:
    """Return since when the answer stands that a grade must be about, microseconds since 1970 UTC."""
    state = read.replayed.state
    if state is None or not state.again_after:
        return 0
    linked = LinkedUnit(state, tuple((send.link, send.exchange) for send in read.sends))
    return answer_since(Replayer(read.stored), read.unit, linked) or 0


def _counted(
    questions: Mapping[str, Question], history: Sequence[Grade], since: int
) -> dict[str, dict[str, JSON]]:
    """Return question -> rater -> the grade that stands, of those that scores use."""
    found: dict[str, dict[str, JSON]] = {}
    for grade in standing(history):
        known = questions.get(grade.question)
        if known is not None and known.takes(grade.value) and grade.graded_at_us >= since:
            rater = CONSENSUS if is_consensus(grade.rater) else grade.rater
            found.setdefault(grade.question, {})[rater] = grade.value
    return found


def _lines(history: Sequence[Grade], since: int) -> list[GradeLine]:
    said: dict[tuple[str, str], list[Said]] = {}
    for grade in history:
        one = Said(
            readable(grade.value), shown_moment(grade.graded_at_us), is_old=grade.graded_at_us < since
        )
        said.setdefault((grade.question, grade.rater), []).insert(0, one)
    return [
        GradeLine(question, rater, newest, before)
        for (question, rater), (newest, *before) in sorted(said.items(), key=lambda item: item[0])
    ]


async def _said_by(
    library: Library, reader: UnitReader, step: StepRun, reads: Sequence[UnitRead]
) -> Sequence[Sequence[StepSaid]]:
    """Return what a step says of each unit, repeat by repeat; nothing of those it does not look at."""
    stored = await library.stored(step.run.digest)
    benchmark = stored.benchmark
    said: list[list[StepSaid]] = [[] for _ in reads]
    if not isinstance(benchmark, Step):
        return said
    cases = [_case_of(stored, read.unit) for read in reads]
    models, repeats = sorted(stored.manifest.models), range(1, stored.manifest.repeats + 1)
    asked = [
        UnitId(model, stored.conditions[0], case_id, repeat)
        for case_id, model, repeat in product(dict.fromkeys(cases), models, repeats)
        if case_id is not None
    ]
    for part in chunks(asked, _TOGETHER):
        for own in await reader.read_all(stored, part):
            for place, case_id in enumerate(cases):
                if case_id == own.unit.case_id:
                    said[place].append(_step_said(step, benchmark, reads[place], own))
    return said


def _case_of(stored: StoredRun, unit: UnitId) -> str | None:
    """Return the case by which a step looks at a unit, or at its whole case; None: it does not."""
    ids = (id_of_unit(unit), id_of_case(unit.case_id))
    return next((one for one in ids if stored.case_index.find(one) is not None), None)


def _step_said(step: StepRun, benchmark: Step, read: UnitRead, own: UnitRead) -> StepSaid:
    prediction = own.replayed.result.prediction
    return StepSaid(
        step, own.unit, own.state_name,
        None if prediction is None else readable(prediction), _is_old(benchmark, read, own),
        {} if prediction is None else benchmark.grades_of(prediction),
    )  # fmt: skip


def _is_old(step: Step, read: UnitRead, own: UnitRead) -> bool:
    """Tell whether a step's unit is about an answer in whose place another one stands now."""
    result = read.replayed.result
    if result.outcome not in USABLE:
        return False
    made = step.step_case(Answer(read.unit, read.case, result.outcome, result.prediction))
    return not isinstance(made, StepCase) or dict(made.fields) != dict(own.case.fields)


async def about(library: Library, read: UnitRead) -> About | None:
    """Return whom a step's unit is about; None for a unit of any other run."""
    step = read.stored.manifest.step
    if step is None:
        return None
    source = await source_run(library.store, step.source)
    whole = read.case.reference.get(SOURCE_CASE)
    unit = None if whole is not None else unit_of_id(read.unit.case_id)
    case_id = str(whole) if unit is None else unit.case_id
    return About(step.kind, None if source is None else source.name, unit, case_id)
