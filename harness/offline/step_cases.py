"""The cases of a step, made from the stored answers of the run that it follows."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from harness.benchmarks.base import Case, CaseSet
from harness.benchmarks.case_steps import CaseStep, case_of_case
from harness.benchmarks.registry import get_benchmark
from harness.benchmarks.steps import Answer, NoCase, Step, step_case_of
from harness.cache.rows import Run
from harness.cache.store import Store
from harness.case_spool import SpoolWriter, case_ids
from harness.errors import ConfigError, UnknownNameError
from harness.manifest import NotShown, StepWanted
from harness.media import Media
from harness.nearest import nearest
from harness.offline.replay import ReplayedUnit, Replayer
from harness.offline.replay_stream import replay_units
from harness.offline.step_media import media_places, with_places
from harness.offline.step_runs import source_run
from harness.offline.stored_run import StoredRun, load_run
from harness.outcomes import INCOMPLETE, USABLE
from harness.run_options import RunOptions


@dataclass(frozen=True, slots=True)
class Followed:
    """A run as a step sees it: a case for each unit that it looks at, and what the manifest says of that."""

    run: Run
    wanted: StepWanted
    cases: CaseSet
    looks_at: str = "answer"

    @property
    def name_stem(self) -> str:
        """Return what a step without a name is called after: its kind, and the run that it follows."""
        return f"{self.wanted.kind}-of-{self.run.name}"

    def notes(self) -> Iterator[str]:
        """Yield what the user should know before the first request: what is looked at, and what is not."""
        n = len(self.cases.cases)
        yield f"the step looks at {n} {self.looks_at}{'' if n == 1 else 's'} of run {self.run.name!r}"
        why = Counter[str]()
        for one in self.wanted.not_shown:
            why[one.why] += one.units
        if why:
            told = ", ".join(f"{reason} {units}" for reason, units in sorted(why.items()))
            yield f"it does not look at {why.total()} other{'' if why.total() == 1 else 's'}: {told}"
        missing = sum(why[outcome.value] for outcome in INCOMPLETE)
        if missing and not self.wanted.imported:
            yield (
                f"without an answer so far: {missing}; when they have one (`harness resume "
                f"{shlex.quote(self.run.name)}`), the same step asks only about these"
            )


async def follow(store: Store, options: RunOptions) -> Followed:
    """Return the cases of a step over a stored run, as its answers are read today.

    Raises ConfigError for a run of another benchmark and for names that it does not have, StoreError.
    """
    step_options = options.step
    assert step_options is not None
    run = await _source(store, step_options.source)
    step = cast("Step", get_benchmark(options.benchmark))
    if run.benchmark != step.benchmark:
        raise ConfigError(
            f"run {run.name!r} is of {run.benchmark}, and the step {step.name!r} is about {step.benchmark}"
        )
    stored = await load_run(store, run)
    folder = None if options.data is None else Path(options.data)
    if folder is not None and not step.shows_media:
        raise ConfigError(f"the step {step.kind!r} of {step.benchmark} shows no media; leave out --data")
    if isinstance(step, CaseStep):
        return _of_cases(stored, options, step)
    chosen = _Chosen(stored, options, step)
    spool, skipped = SpoolWriter(), Counter[tuple[str, str, str]]()
    places: Mapping[str, Media] = {}
    lost = 0
    if step.shows_media:
        places = await media_places(store, get_benchmark(step.benchmark), stored.cases.cases, folder)
    async with aclosing(replay_units(store, stored, Replayer(stored))) as stream:
        async for replayed in stream:
            if not chosen.has(replayed):
                continue
            made = _made(step, stored, replayed)
            if isinstance(made, NoCase):
                skipped[replayed.unit.model, replayed.unit.condition, made.why] += 1
            else:
                case = with_places(made, places) if made.media else made
                lost += case.problem is not None
                spool.append(case)
    cases = spool.finish()
    if lost and lost == len(cases):
        # Kept as a run, it would hold the step's name with cases that nobody can be asked about.
        raise ConfigError(
            f"none of the files that the step {step.kind!r} shows was found where run {run.name!r} read it; "
            "give --data the folder of the case files"
        )
    if not len(cases):
        raise _nothing_to_show(run, step, skipped)
    wanted = StepWanted(
        kind=step.kind,
        source=run.digest,
        simulated=stored.manifest.simulated,
        imported=stored.manifest.imported,
        not_shown=tuple(NotShown(*key, units) for key, units in sorted(skipped.items())),
    )
    return Followed(run, wanted, CaseSet(cases, synthetic=stored.manifest.synthetic))


def _nothing_to_show(run: Run, step: Step, skipped: Mapping[tuple[str, str, str], int]) -> ConfigError:
    why = Counter[str]()
    for (_, _, one), units in skipped.items():
        why[one] += units
    told = ", ".join(f"{one} {units}" for one, units in sorted(why.items()))
    return ConfigError(
        f"run {run.name!r} has no answer that the step {step.kind!r} could look at"
        f"{f' ({told})' if told else ''}; choose others, or ask for answers first: "
        f"`harness resume {shlex.quote(run.name)}`"
    )


def _of_cases(stored: StoredRun, options: RunOptions, step: CaseStep) -> Followed:
    """Return the cases of a step about cases; of one that it does not look at nothing is kept."""
    wanted = options.step
    assert wanted is not None
    if wanted.models or wanted.conditions:
        raise ConfigError(
            f"the step {step.kind!r} is about cases, whoever was asked about them; leave out --of and "
            "--conditions"
        )
    ids = case_ids(stored.cases.cases)
    chosen = _known(options.cases, ids, "case", stored.run)
    spool, n, why = SpoolWriter(), 0, Counter[str]()
    for case in stored.cases.cases:
        if case.id not in chosen or n == options.limit:
            continue
        made = step.made_of(case)
        if isinstance(made, NoCase):
            why[made.why] += 1
        else:
            spool.append(case_of_case(case, made))
            n += 1
    if not n:
        told = ", ".join(f"{one} {cases}" for one, cases in sorted(why.items()))
        raise ConfigError(
            f"run {stored.run.name!r} has no case that the step {step.kind!r} could look at ({told}); name a "
            "run of other cases"
        )
    return Followed(
        stored.run,
        StepWanted(
            kind=step.kind,
            source=stored.run.digest,
            simulated=stored.manifest.simulated,
            imported=stored.manifest.imported,
        ),
        CaseSet(spool.finish(), synthetic=stored.manifest.synthetic),
        looks_at="case",
    )


async def _source(store: Store, digest: str) -> Run:
    found = await source_run(store, digest)
    if found is None:
        raise UnknownNameError(
            f"the run that the step is about (digest {digest[:12]}) is not in this store; join the one that "
            "has it by `harness store merge`, or name another one with --store"
        )
    return found


def _made(step: Step, stored: StoredRun, replayed: ReplayedUnit) -> Case | NoCase:
    result, unit = replayed.result, replayed.unit
    if result.outcome not in USABLE:
        return NoCase(result.outcome.value)
    case = stored.case_index.case(stored.case_index.place(unit.case_id))
    answer = Answer(unit, case, result.outcome, result.prediction)
    made = step.step_case(answer)
    return made if isinstance(made, NoCase) else step_case_of(answer, made)


class _Chosen:
    """Which units of a run the user wants the step to look at."""

    def __init__(self, stored: StoredRun, options: RunOptions, step: Step) -> None:
        wanted = options.step
        assert wanted is not None
        ids = case_ids(stored.cases.cases)
        followed = [name for name in stored.conditions if step.follows(name)]
        self._models = _known(wanted.models, sorted(stored.manifest.models), "model", stored.run)
        self._conditions = _known(wanted.conditions, followed, "condition", stored.run)
        wanted_cases = _known(options.cases, ids, "case", stored.run)
        cases = [one for one in ids if one in wanted_cases]
        self._cases = frozenset(cases[: options.limit])

    def has(self, replayed: ReplayedUnit) -> bool:
        unit = replayed.unit
        return (
            unit.model in self._models and unit.condition in self._conditions and unit.case_id in self._cases
        )


def _known(wanted: Collection[str], known: Collection[str], what: str, run: Run) -> frozenset[str]:
    """Return the names that are wanted, all of them where none is named. Raises UnknownNameError."""
    names = frozenset(known)
    for name in wanted:
        if name not in names:
            raise UnknownNameError(f"run {run.name!r} has no {what} {name!r}{nearest(name, known)}")
    return frozenset(wanted) or names
