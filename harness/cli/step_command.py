"""The work behind `harness step`: whom it asks about which run, then as `harness run` does."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.benchmarks.registry import STEPS, get_benchmark
from harness.benchmarks.steps import Step
from harness.cache.location import find_store
from harness.cache.rows import Run
from harness.cache.runs import LATEST
from harness.cache.store import Store
from harness.cli.going_on import Invocation
from harness.cli.options import say
from harness.cli.run_command import configured, start
from harness.cli.warnings import warnings_shown
from harness.errors import ConfigError
from harness.event_loop import run_session
from harness.offline.step_runs import as_step, source_run
from harness.run_options import RunOptions, SessionOptions, StepOptions


def start_step(
    kind: str,
    reference: str,
    session: SessionOptions,
    config_path: Path | None,
    store: str | None,
    wanted: Mapping[str, Any],
) -> int:
    """Work on a step over a stored run, and return the exit code. Raises ConfigError, StoreError."""
    config = configured(config_path)
    url = find_store(store, os.environ, config.store, Path.cwd())

    async def work() -> int:
        async with await Store.open(url, create=False) as opened:
            run = await _followed(opened, kind, reference)
        options = _options(kind, run, wanted)
        invocation = Invocation(
            options, session, config_path, store, wanted["name"],
            dry_run=wanted["dry_run"], as_json=wanted["as_json"],
        )
        return await start(invocation, config, url, None)

    with warnings_shown():
        return run_session(work())


async def _followed(store: Store, kind: str, reference: str) -> Run:
    """Return the run that the step is to be about. Raises ConfigError for one that it cannot be about."""
    run = await store.find_run(reference)
    if reference == LATEST:
        return await _latest(store, kind, run)
    followed = as_step(run)
    if followed is not None:
        source = await source_run(store, followed.source)
        where = ""
        if source is not None and source.benchmark in STEPS[kind]:
            where = f": `harness step {kind} {shlex.quote(source.name)}`"
        raise ConfigError(
            f"run {run.name!r} is a step itself ({followed.kind}), and steps are about the answers of runs "
            f"of {' or '.join(STEPS[kind])}; give the run that it follows{where}"
        )
    if run.benchmark not in STEPS[kind]:
        raise ConfigError(
            f"run {run.name!r} is of {run.benchmark}, which has no step {kind!r}; runs of "
            f"{', '.join(STEPS[kind])} have"
        )
    return run


async def _latest(store: Store, kind: str, latest: Run) -> Run:
    """Return the newest run that has the step, and say so where it is not the latest.

    The latest may be a step, as after the first call of the same command: then its run is meant.
    """
    newest = await store.newest_runs()
    by_digest = {run.digest: run for run in newest}
    for run in newest:
        followed = as_step(run)
        found = run if followed is None else by_digest.get(followed.source)
        if found is None or found.benchmark not in STEPS[kind]:
            continue
        if run.id != latest.id:
            say(
                f"note: the latest run, {latest.name!r}, is of {latest.benchmark}, which has no step "
                f"{kind!r}; the latest that has is {found.name!r}, which is taken"
            )
        elif followed is not None:
            say(f"note: the latest run, {latest.name!r}, is a step over {found.name!r}, which is taken")
        return found
    raise ConfigError(
        f"no run of the store has a step {kind!r}: it is about the answers of runs of "
        f"{' or '.join(STEPS[kind])}, and the latest run, {latest.name!r}, is of {latest.benchmark}"
    )


def _options(kind: str, run: Run, wanted: Mapping[str, Any]) -> RunOptions:
    step = get_benchmark(f"{run.benchmark}.{kind}")
    assert isinstance(step, Step)
    model = wanted["model"] or step.default_model
    if model is None:
        raise ConfigError(
            f"the step {kind!r} of {run.benchmark} has no model of its own, {step.no_default}; give "
            "--model NAME"
        )
    return RunOptions(
        benchmark=step.name,
        models=(model,),
        data=wanted["data"],
        limit=wanted["limit"],
        cases=wanted["cases"],
        repeats=wanted["repeats"],
        attempts=wanted["attempts"],
        reformatter="none",
        reask=wanted["reask"],
        structured=wanted["structured"],
        params=wanted["params"],
        prompt=wanted["prompt"],
        drop_unsupported=wanted["drop_unsupported"],
        step=StepOptions(run.digest, wanted["models"], wanted["conditions"]),
    )
