"""Which stored runs are steps over which others: found by the digests in their manifests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from harness.cache.rows import Run
from harness.cache.store import Store


@dataclass(frozen=True, slots=True)
class StepRun:
    """A stored run that is a step: what kind, who is asked, and the digest of the run that it follows."""

    run: Run
    kind: str
    model: str
    source: str


def as_step(run: Run) -> StepRun | None:
    """Return what a run's manifest says of its step; None for a run of its own."""
    step = cast("Mapping[str, Any] | None", run.manifest.get("step"))
    if step is None:
        return None
    models = cast("Mapping[str, Any]", run.manifest["models"])
    return StepRun(run, step["kind"], ", ".join(models), step["source"])


def steps_over(runs: Iterable[Run], digest: str) -> Iterator[StepRun]:
    """Yield the steps that follow the run with a digest, in the order of the runs."""
    for step in map(as_step, runs):
        if step is not None and step.source == digest:
            yield step


async def source_run(store: Store, digest: str) -> Run | None:
    """Return the run with a whole digest; None where the store does not hold it."""
    return next((run for run in await store.runs() if run.digest == digest), None)
