"""Case files with corrected references, for stored runs of one benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.benchmarks.base import CaseSet
from harness.benchmarks.registry import get_benchmark
from harness.cache.rows import Run
from harness.errors import ConfigError
from harness.offline.step_runs import as_step


def corrected_cases(wanted: Sequence[Run], runs: Sequence[Run], folder: Path | None) -> CaseSet | None:
    """Return the cases of a folder for the wanted runs, of all `runs` of the store; None without a folder.

    Raises ConfigError where one of the wanted runs is a step, which has no case files, and where they are of
    several benchmarks; CaseError as loading does.
    """
    if folder is None:
        return None
    names = {one.digest: one.name for one in runs}
    for run in wanted:
        step = as_step(run)
        if step is not None:
            source = names.get(step.source, step.source[:12])
            raise ConfigError(
                f"run {run.name!r} is a step over run {source!r} and has no case files; give --data when "
                "that one is scored, or leave it out"
            )
    benchmarks = sorted({run.benchmark for run in wanted})
    if len(benchmarks) > 1:
        told = "; ".join(f"{run.name} is {run.benchmark}" for run in wanted)
        raise ConfigError(
            f"--data has the cases of one benchmark, and these runs are of {' and '.join(benchmarks)} "
            f"({told}); name the runs of one benchmark at a time, or leave --data out"
        )
    return get_benchmark(benchmarks[0]).load(folder)
