"""Every run of a store in a few words: what it asks, how far it has come, what it spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from harness.benchmarks.registry import get_benchmark
from harness.cache.rows import Run, Session
from harness.cache.store import Store
from harness.errors import HarnessError
from harness.manifest import Manifest, read_manifest
from harness.offline.step_runs import as_step
from harness.outcomes import INCOMPLETE
from harness.session_standing import any_open

_INCOMPLETE: Final = frozenset(str(outcome) for outcome in INCOMPLETE)


@dataclass(frozen=True, slots=True)
class StepOf:
    """What a run follows: the kind of the step, and the run, None where it is not in this store."""

    kind: str
    run: str | None
    digest: str


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run as a list shows it.

    `flags` "SYNTHETIC", "SIMULATED", "IMPORTED", as far as they are true. `usd`: what ended sessions spent,
    where they knew all prices; `uncounted` is how many could not say so: they were killed, or are at work.
    `unknown` sends had no price. `is_open`: a session has not ended, be it the last one or not.
    """

    run: Run
    title: str
    flags: tuple[str, ...]
    step: StepOf | None
    models: tuple[str, ...]
    conditions: tuple[str, ...]
    units: int
    done: int
    last: Session | None
    is_open: bool
    usd: float
    uncounted: int
    unknown: int


class Summaries:
    """Summaries of all runs; those whose sessions have all ended are counted once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._done: dict[int, tuple[tuple[Session, ...], int]] = {}

    async def all(self) -> Sequence[RunSummary]:
        """Return all runs, the one that was worked on last first."""
        runs = await self._store.newest_runs()
        by_run = await self._store.sessions_by_run()
        sessions = {run.id: by_run.get(run.id, ()) for run in runs}
        await self._count([run.id for run in runs if self._is_stale(run.id, sessions[run.id])], sessions)
        names = {run.digest: run.name for run in runs}
        return [_summary(run, sessions[run.id], self._done[run.id][1], names) for run in runs]

    def _is_stale(self, run_id: int, sessions: tuple[Session, ...]) -> bool:
        known = self._done.get(run_id)
        return known is None or known[0] != sessions or any_open(sessions)

    async def _count(self, run_ids: Sequence[int], sessions: dict[int, tuple[Session, ...]]) -> None:
        done = dict.fromkeys(run_ids, 0)
        if run_ids:
            for run_id, outcome, units in await self._store.unit_totals(run_ids):
                if outcome is not None and outcome not in _INCOMPLETE:
                    done[run_id] += units
        for run_id, units in done.items():
            self._done[run_id] = (sessions[run_id], units)


def flags_of(manifest: Manifest) -> tuple[str, ...]:
    """Return what must stand beside a run's name, as far as it is true."""
    told = {
        "SYNTHETIC": manifest.synthetic, "SIMULATED": manifest.simulated, "IMPORTED": manifest.imported
    }  # fmt: skip
    return tuple(name for name, is_so in told.items() if is_so)


def step_of(run: Run, names: dict[str, str]) -> StepOf | None:
    """Return what a run follows, None for a run of its own; `names`: digest -> name of the store's runs."""
    step = as_step(run)
    return None if step is None else StepOf(step.kind, names.get(step.source), step.source)


def title_of(benchmark: str) -> str:
    """Return the title of a benchmark, or its name where this program does not know it."""
    try:
        return get_benchmark(benchmark).title
    except HarnessError:
        return benchmark


def _summary(run: Run, sessions: tuple[Session, ...], done: int, names: dict[str, str]) -> RunSummary:
    manifest = read_manifest(run.manifest)
    spent = [one.info.get("spent_usd") for one in sessions]
    unknown = [one.info.get("unknown_cost_sends") for one in sessions]
    return RunSummary(
        run=run,
        title=title_of(run.benchmark),
        flags=flags_of(manifest),
        step=step_of(run, names),
        models=tuple(sorted(manifest.models)),
        conditions=tuple(manifest.conditions),
        units=manifest.n_units,
        done=done,
        last=sessions[-1] if sessions else None,
        is_open=any_open(sessions),
        usd=sum(one for one in spent if isinstance(one, int | float)),
        uncounted=sum(one is None for one in spent),
        unknown=sum(one for one in unknown if isinstance(one, int)),
    )
