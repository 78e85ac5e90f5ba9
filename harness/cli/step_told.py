"""What commands say of runs that are steps, and of runs that steps follow."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from harness.cache.rows import Run
from harness.cli.options import say
from harness.manifest import read_manifest
from harness.offline.step_runs import as_step, steps_over


def step_facts(run: Run, runs: Sequence[Run]) -> dict[str, Any] | None:
    """Return what a run is a step of, of all `runs` of its store; None for a run of its own.

    `source` is the digest of the run that it follows, `source_run` its name, None where it is elsewhere.
    """
    step = as_step(run)
    if step is None:
        return None
    names = {one.digest: one.name for one in runs}
    wanted = read_manifest(run.manifest).step
    assert wanted is not None
    return {
        "kind": step.kind,
        "model": step.model,
        "source": step.source,
        "source_run": names.get(step.source),
        "not_shown": [asdict(one) for one in wanted.not_shown],
    }


def step_lines(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield the same for people."""
    name, digest = facts["source_run"], facts["source"][:12]
    source = f"run {digest}, which is not in this store" if name is None else f"run {name} ({digest})"
    yield f"step {facts['kind']} by {facts['model']}, of {source}"
    for one in facts["not_shown"]:
        yield f"not looked at: {one['units']} of {one['model']}, {one['condition']}: {one['why']}"


def score_notes(run: Run, runs: Sequence[Run]) -> Iterator[str]:
    """Yield where scores that belong together are found: of the run that a step follows, of steps over it."""
    facts = step_facts(run, runs)
    if facts is not None:
        name = facts["source_run"]
        if name is None:
            yield f"this is a step of run {facts['source'][:12]}, which is not in this store"
        else:
            yield f"this is a step of run {name!r}: `{shlex.join(['harness', 'score', name])}`"
    for step in steps_over(runs, run.digest):
        command = shlex.join(["harness", "score", step.run.name])
        yield f"step {step.kind} by {step.model} over these answers: `{command}`"


def say_whose_step(runs: Sequence[Run], command: str) -> None:
    """Say of latest runs, which nobody named, whose answers they are about, if they are steps."""
    for run in runs:
        if (step := as_step(run)) is not None:
            say(
                f"note: {run.name}, the latest run, is a step over answers of another run; that one: "
                f"{command} {step.source[:12]}"
            )
