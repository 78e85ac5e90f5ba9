"""Whose grades a run is scored with: imported ones, or those that the model of a step gave. Never both."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import aclosing
from dataclasses import astuple, dataclass, field
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from harness.benchmarks.base import Case, Question
from harness.benchmarks.registry import get_benchmark
from harness.benchmarks.scored import Unsettled
from harness.benchmarks.steps import (
    Answer,
    Step,
    StepCase,
    id_of_unit,
    unit_of_id,
)
from harness.cache.grades import Grade
from harness.cache.rows import Run, UnitId
from harness.cache.store import Store
from harness.canonical import JSON, digest
from harness.errors import ConfigError, UnknownNameError
from harness.nearest import nearest, nearest_or_known
from harness.offline.new_answers import answered_since
from harness.offline.replay import ReplayedUnit, Replayer
from harness.offline.replay_stream import replay_units
from harness.offline.settled_grades import gradings_of, said_of
from harness.offline.step_runs import StepRun, steps_over
from harness.offline.stored_run import StoredRun, load_run
from harness.outcomes import USABLE

GraderKind: TypeAlias = Literal["imported", "model", "none"]

IMPORTED: Final = "imported"
NONE: Final = "none"

NOTHING_UNSETTLED: Final[Mapping[str, Unsettled]] = MappingProxyType({})

_Values: TypeAlias = "Mapping[str, JSON]"


@dataclass(slots=True)
class ChosenGrades:
    """The grades of a run's units, and who gave them.

    `disputed` grades are of raters who disagree without a consensus, where no mean is made; `waiting` ones
    count once all raters of their grading have given theirs; the grades of `other_answers` are about answers
    in whose place others stand now: none of them count. `others`: what else could have been chosen.
    """

    kind: GraderKind
    raters: tuple[str, ...] = ()
    only: frozenset[str] | None = None
    """The raters whose grades alone somebody asked for; None: whoever graded, and is to grade."""
    step: StepRun | None = None
    simulated: bool = False
    disputed: int = 0
    waiting: int = 0
    other_answers: set[UnitId] = field(default_factory=set)
    others: tuple[str, ...] = ()
    values: dict[UnitId, _Values] = field(default_factory=dict)
    unsettled: dict[UnitId, Mapping[str, Unsettled]] = field(default_factory=dict)
    """Question -> why no grade of it stands, though people answered it."""
    corrected: frozenset[str] = frozenset()
    """Cases whose reference was corrected: what was said of answers to them was said by another one."""
    benchmark: Step | None = None
    shown: dict[UnitId, Mapping[str, str]] = field(default_factory=dict)
    """What the step's model was shown of each unit."""

    def of(self, replayed: ReplayedUnit, case: Case) -> _Values:
        """Return the grades that stand of a unit as it is answered now: question -> grade."""
        values = self.values.get(replayed.unit, {})
        if values and replayed.unit.case_id in self.corrected:
            self.other_answers.add(replayed.unit)
            return {}
        if not values or self.benchmark is None or replayed.result.outcome not in USABLE:
            return values
        answer = Answer(replayed.unit, case, replayed.result.outcome, replayed.result.prediction)
        made = self.benchmark.step_case(answer)
        if isinstance(made, StepCase) and dict(made.fields) == dict(self.shown[replayed.unit]):
            return values
        self.other_answers.add(replayed.unit)
        return {}

    def unsettled_of(self, unit: UnitId) -> Mapping[str, Unsettled]:
        """Return why questions that people answered have no grade that stands; see `of`."""
        found = {} if unit.case_id in self.corrected else self.unsettled
        return found.get(unit, NOTHING_UNSETTLED)

    def to_json(self) -> dict[str, JSON]:
        """Return who graded, as the scores have it, with the digest of all grades."""
        graded = sorted(self.values.items())
        content = digest([[*astuple(unit), dict(sorted(values.items()))] for unit, values in graded])
        found: dict[str, JSON] = {"by": self.kind, "raters": list(self.raters), "others": list(self.others)}
        if self.step is not None:
            found |= {
                "step": self.step.run.name, "step_digest": self.step.run.digest, "kind": self.step.kind,
                "model": self.step.model, "simulated": self.simulated,
            }
        return found | {
            "units": len(self.values), "disputed": self.disputed, "waiting": self.waiting,
            "of_other_answers": len(self.other_answers), "sha256": content,
        }


async def chosen_grades(store: Store, stored: StoredRun, wanted: str | None) -> ChosenGrades | None:
    """Return the grades that a run is scored with; None for a benchmark that uses none.

    `wanted`: "imported", "imported:RATER,RATER" for these raters alone, "none" or the run of a step. None:
    imported ones where there are any, else those of the one step that grades this run; of several steps none
    is chosen. Raises ConfigError for no such step or rater.
    """
    benchmark, questions = stored.benchmark, scored_questions(stored)
    if not questions:
        if wanted not in (None, NONE):
            raise ConfigError(f"{benchmark.name} is scored without grades; leave out --grades")
        return None
    steps = grading_steps(stored, await store.runs())
    standing = [
        one
        for one in await store.grades(stored.run.id)
        if one.question in questions and questions[one.question].takes(one.value)
    ]
    if isinstance(benchmark, Step) and not standing and wanted is None:
        return None  # a step's numbers are its own, with or without an audit
    ways = ([IMPORTED] if standing else []) + [step.run.name for step in steps]
    chosen = wanted or _default(standing, steps)
    others = tuple(way for way in ways if way != chosen)
    if chosen == NONE:
        return ChosenGrades("none", others=others)
    if chosen == IMPORTED:
        return await _imported(store, stored, standing, others)
    if chosen.startswith(f"{IMPORTED}:"):
        raters = _raters(chosen.removeprefix(f"{IMPORTED}:"), {one.rater for one in standing})
        theirs = [one for one in standing if one.rater in raters]
        return await _imported(store, stored, theirs, tuple(ways), frozenset(raters))
    step = await _step_of(store, chosen, steps, ways)
    return await _of_step(store, step, tuple(way for way in ways if way != step.run.name))


async def grades_of_others(store: Store, stored: StoredRun) -> list[ChosenGrades]:
    """Return what the model of each step that grades a run said of it."""
    return [await _of_step(store, step, ()) for step in grading_steps(stored, await store.runs())]


def scored_questions(stored: StoredRun) -> Mapping[str, Question]:
    """Return the questions whose grades enter a run's numbers: of a step those about its own answers."""
    benchmark = stored.benchmark
    return benchmark.own_questions if isinstance(benchmark, Step) else benchmark.questions


def _raters(wanted: str, known: Collection[str]) -> set[str]:
    """Return the raters whose names stand in a list, or the one whose name it is."""
    names = {wanted} if wanted in known else {name.strip() for name in wanted.split(",")}
    for name in sorted(names - set(known)):
        raise ConfigError(
            f"--grades {IMPORTED}: this run has no grades of a rater {name!r}"
            f"{nearest_or_known(name, sorted(known))}"
        )
    return names


def _default(standing: Iterable[Grade], steps: list[StepRun]) -> str:
    if any(True for _ in standing):
        return IMPORTED
    return steps[0].run.name if len(steps) == 1 else NONE


def grading_steps(stored: StoredRun, runs: Iterable[Run]) -> list[StepRun]:
    """Return the steps over a run whose answers are grades of its benchmark; nothing follows a step."""
    if isinstance(stored.benchmark, Step):
        return []
    return [step for step in steps_over(runs, stored.run.digest) if _grades(step, stored)]


def _grades(step: StepRun, stored: StoredRun) -> bool:
    benchmark = get_benchmark(step.run.benchmark)
    assert isinstance(benchmark, Step)
    return bool(benchmark.questions.keys() & stored.benchmark.questions.keys())


async def _step_of(store: Store, wanted: str, steps: list[StepRun], ways: list[str]) -> StepRun:
    try:
        run = await store.find_run(wanted)
    except UnknownNameError:
        run = None
    found = next((step for step in steps if run is not None and step.run.id == run.id), None)
    if found is None:
        known = ", ".join([*ways, NONE])
        raise ConfigError(
            f"--grades {wanted!r}: no step of that name grades this run{nearest(wanted, ways)}; to be had: "
            f"{known}"
        )
    return found


async def _imported(
    store: Store,
    stored: StoredRun,
    standing: list[Grade],
    others: tuple[str, ...],
    only: frozenset[str] | None = None,
) -> ChosenGrades:
    graded = tuple(sorted({grade.rater for grade in standing}))
    found = ChosenGrades("imported", raters=graded, only=only, others=others)
    since = await answered_since(store, stored, {grade.unit for grade in standing})
    same = [grade for grade in standing if grade.graded_at_us >= since.get(grade.unit, 0)]
    found.other_answers |= {grade.unit for grade in standing} - {grade.unit for grade in same}
    gradings = await gradings_of(store, stored.run.id, stored.benchmark.gradings)
    gradings, known = gradings.only(only), scored_questions(stored)
    for unit, questions in said_of(same).items():
        settled = {
            name: gradings.settle(unit, name, raters, known[name]) for name, raters in questions.items()
        }
        found.values[unit] = {name: one.value for name, one in settled.items() if one.why_not is None}
        if why_not := {name: one.why_not for name, one in settled.items() if one.why_not is not None}:
            found.unsettled[unit] = why_not
            found.disputed += sum(why == "disputed" for why in why_not.values())
            found.waiting += sum(why == "waiting" for why in why_not.values())
    return found


async def _of_step(store: Store, step: StepRun, others: tuple[str, ...]) -> ChosenGrades:
    """Return what a step's model said; of several repeats the first, which is as good as any."""
    stored = await load_run(store, step.run)
    benchmark = stored.benchmark
    assert isinstance(benchmark, Step)
    simulated = any(model.simulated for model in stored.manifest.models.values())
    found = ChosenGrades("model", raters=(step.model,), step=step, simulated=simulated, others=others)
    found.benchmark = benchmark
    async with aclosing(replay_units(store, stored, Replayer(stored))) as stream:
        async for replayed in stream:
            about = unit_of_id(replayed.unit.case_id)
            if about is None or replayed.unit.repeat != 1 or replayed.result.prediction is None:
                continue
            found.values[about] = benchmark.grades_of(replayed.result.prediction)
            place = stored.case_index.place(id_of_unit(about))
            found.shown[about] = stored.case_index.case(place).fields
    return found
