"""`--data` of commands that score: case files with corrected references, for stored runs of one benchmark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from harness.benchmarks.base import CaseSet
from harness.benchmarks.registry import get_benchmark
from harness.cache.rows import Run
from harness.cli.step_told import step_facts
from harness.errors import ConfigError


def data_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--data DIR`, as `data`."""
    return click.option(
        "--data",
        metavar="DIR",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="Case files with corrected references; used for cases whose inputs are unchanged.",
    )(command)


def corrected_cases(wanted: Sequence[Run], runs: Sequence[Run], folder: Path | None) -> CaseSet | None:
    """Return the cases of a folder for the wanted runs, of all `runs` of the store; None without a folder.

    Raises ConfigError where one of the wanted runs is a step, which has no case files, and where they are of
    several benchmarks; CaseError as loading does.
    """
    if folder is None:
        return None
    for run in wanted:
        step = step_facts(run, runs)
        if step is not None:
            source = step["source_run"] or step["source"][:12]
            raise ConfigError(
                f"run {run.name!r} is a step over run {source!r} and has no case files; give --data when "
                "that one is scored, or leave it out"
            )
    names = sorted({run.benchmark for run in wanted})
    if len(names) > 1:
        told = "; ".join(f"{run.name} is {run.benchmark}" for run in wanted)
        raise ConfigError(
            f"--data has the cases of one benchmark, and these runs are of {' and '.join(names)} ({told}); "
            "name the runs of one benchmark at a time, or leave --data out"
        )
    return get_benchmark(names[0]).load(folder)
