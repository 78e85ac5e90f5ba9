"""Gradings made and found: whose answers, drawn how, agreed once and kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field

from harness.benchmarks.sheets import GradingTask
from harness.benchmarks.steps import NoCase, steps_of
from harness.cache.gradings import StoredGrading
from harness.cache.rows import Run, UnitId
from harness.cache.store import Store
from harness.cache.units import Only
from harness.canonical import JSON
from harness.errors import ConfigError, UnknownNameError
from harness.grading.answers_now import shown_of
from harness.grading.calibration import first_state
from harness.grading.plan import SEED, Item, Plan, answer_digest, differences
from harness.grading.sampling import NOT_DRAWN, Drawable, draw
from harness.grading.seats import check_raters, seats_for
from harness.grading.state import State
from harness.moments import now_us
from harness.nearest import nearest, nearest_or_known
from harness.offline.replay import Replayer
from harness.offline.replay_stream import replay_units
from harness.offline.stored_run import StoredRun, load_run


@dataclass(frozen=True, slots=True)
class GradingWanted:
    """What somebody asks for; None and empty: not said, and the task's default, or what was agreed, stands.

    `limit` 0: all answers, where the task would have a sample graded.
    """

    task: str | None = None
    raters: tuple[str, ...] = ()
    name: str | None = None
    models: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    limit: int | None = None
    calibration: int | None = None
    threshold: float | None = None
    seed: int | None = None

    def given(self) -> dict[str, JSON]:
        """Return setting -> value of those that were given, as a plan has them."""
        found: dict[str, JSON] = {
            "task": self.task,
            "raters": list(self.raters) or None,
            "models": sorted(self.models) or None,
            "conditions": sorted(self.conditions) or None,
            "calibration": self.calibration,
            "threshold": self.threshold,
            "seed": self.seed,
        }
        said: dict[str, JSON] = {name: value for name, value in found.items() if value is not None}
        if self.limit is not None:
            said["limit"] = self.limit or None
        return said


async def make_grading(store: Store, run: Run, wanted: GradingWanted) -> StoredGrading:
    """Make a grading of a run's answers as they stand now. Raises ConfigError, StoreError."""
    stored = await load_run(store, run)
    task = task_of(stored, wanted.task)
    check_raters(wanted.raters)
    if wanted.name is not None and not (wanted.name.strip() and wanted.name.isprintable()):
        raise ConfigError(f"--name {wanted.name!r} is no name; use letters, digits and dashes")
    plan = await _plan(store, stored, task, wanted)
    state = first_state(plan, State(seats_for(plan.raters)), now_us())
    name = wanted.name or default_name(run, task)
    return await store.add_grading(run.id, name, plan.to_json(), state.to_json())


async def name_of(store: Store, run: Run, wanted: GradingWanted) -> str:
    """Return what a grading is called that is asked for: as it is said, else by the run and the task."""
    return wanted.name or default_name(run, task_of(await load_run(store, run), wanted.task))


def default_name(run: Run, task: GradingTask) -> str:
    """Return the name of a grading that was given none."""
    return f"{run.name}-{task.name}"


def check_same(grading: StoredGrading, plan: Plan, run: Run, wanted: GradingWanted) -> None:
    """Raise ConfigError where a grading that exists is asked for otherwise, with the differences."""
    told = list(differences(plan, wanted.given()))
    if grading.run_id != run.id:
        told.insert(0, f"it is not of run {run.name}")
    if told:
        raters = wanted.raters and wanted.raters != plan.raters
        change = " (--add-rater and --retire change who grades)" if raters else ""
        raise ConfigError(
            f"grading {grading.name!r} was agreed otherwise: {'; '.join(told)}; leave these out to go on "
            f"with it{change}, or make another one with --name"
        )


def task_of(stored: StoredRun, wanted: str | None) -> GradingTask:
    """Return a way of grading the answers of a run; without a name the only one there is."""
    tasks, name = stored.benchmark.gradings, stored.benchmark.name
    if not tasks:
        raise ConfigError(f"answers of {name} are not graded by people here; {_graded_instead(stored)}")
    if wanted is None:
        if len(tasks) > 1:
            raise ConfigError(
                f"{name} can be graded in several ways; give --task: {', '.join(sorted(tasks))}"
            )
        return next(iter(tasks.values()))
    if wanted not in tasks:
        raise UnknownNameError(f"{name} has no task {wanted!r}{nearest_or_known(wanted, sorted(tasks))}")
    return tasks[wanted]


def _graded_instead(stored: StoredRun) -> str:
    """Return what to do where a run itself is not graded: its steps may be."""
    for step in steps_of(stored.benchmark.name):
        if step.gradings:
            command, tasks = f"harness step {step.kind} {stored.run.name}", ", ".join(step.gradings)
            return f"those of its step {step.kind} are ({tasks}): name the run of `{command}`"
    return "import grades with `harness grades`"


async def _plan(store: Store, stored: StoredRun, task: GradingTask, wanted: GradingWanted) -> Plan:
    followed = [name for name in stored.conditions if task.follows(name)]
    models = _known(wanted.models, sorted(stored.manifest.models), "model", stored)
    conditions = _known(wanted.conditions, followed, "condition", stored)
    found = await _answers(store, stored, task, Only(frozenset(models), frozenset(conditions)))
    if not found.digests:
        raise ConfigError(_nothing(stored, task, found.not_graded))
    seed = SEED if wanted.seed is None else wanted.seed
    limit = task.items if wanted.limit is None else wanted.limit or None
    chosen = sorted(draw(found.drawable, limit, seed, task.per_case))
    if len(chosen) < len(found.drawable):
        found.not_graded[NOT_DRAWN] = len(found.drawable) - len(chosen)
    return Plan(
        task=task.name,
        raters=wanted.raters,
        models=models,
        conditions=conditions,
        limit=limit,
        calibration=task.calibration if wanted.calibration is None else wanted.calibration,
        threshold=task.threshold if wanted.threshold is None else wanted.threshold,
        seed=seed,
        items=tuple(Item(unit, found.digests[unit]) for unit in chosen),
        not_graded=dict(sorted(found.not_graded.items())),
    )


@dataclass(slots=True)
class _Answers:
    """What of a run can be graded, with the digest of each answer, and why how many units cannot."""

    drawable: list[Drawable] = field(default_factory=list)
    digests: dict[UnitId, str] = field(default_factory=dict)
    not_graded: Counter[str] = field(default_factory=Counter)


async def _answers(store: Store, stored: StoredRun, task: GradingTask, only: Only) -> _Answers:
    found = _Answers()
    async with aclosing(replay_units(store, stored, Replayer(stored), only=only)) as stream:
        async for replayed in stream:
            made = shown_of(stored, task, replayed)
            if isinstance(made, NoCase):
                found.not_graded[made.why] += 1
                continue
            place = stored.case_index.place(replayed.unit.case_id)
            stratum = task.stratum(stored.case_index.case(place))
            found.drawable.append(Drawable(replayed.unit, stratum))
            found.digests[replayed.unit] = answer_digest(replayed.result.prediction)
    return found


def _nothing(stored: StoredRun, task: GradingTask, not_graded: Mapping[str, int]) -> str:
    told = ", ".join(f"{why} {n}" for why, n in sorted(not_graded.items()))
    return (
        f"run {stored.run.name!r} has no answer to grade by {task.name!r}{f' ({told})' if told else ''}; "
        "choose others, or ask for answers first"
    )


def _known(wanted: Collection[str], known: Collection[str], what: str, stored: StoredRun) -> tuple[str, ...]:
    """Return the names that are wanted, all of them where none is named, sorted. Raises UnknownNameError."""
    for name in wanted:
        if name not in known:
            raise UnknownNameError(f"run {stored.run.name!r} has no {what} {name!r}{nearest(name, known)}")
    return tuple(sorted(frozenset(wanted) or known))
