"""The work behind `harness run` and `harness resume`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from harness import exit_codes
from harness.cache.location import display, find_store
from harness.cache.rows import Run
from harness.cache.store import Store
from harness.canonical import JSON
from harness.cli.forecast_table import print_forecast
from harness.cli.going_on import Invocation, say_how_to_go_on, say_shard
from harness.cli.main import SECRET_VARIABLES
from harness.cli.options import say
from harness.cli.run_planning import planned, store_as_it_is
from harness.cli.scored import show_score
from harness.cli.session_work import work_on
from harness.cli.step_again import step_moved_on
from harness.cli.warnings import warnings_shown
from harness.config import Config, load_config
from harness.credentials import check_values
from harness.dry_run import forecast
from harness.errors import ConfigError
from harness.event_loop import run_session
from harness.frames.clip_frames import keep_frames_in
from harness.frames.place import frames_folder
from harness.manifest import differences, read_manifest
from harness.offline.score import score_run
from harness.open_files import raise_file_limit
from harness.planning import Plan
from harness.providers.base import TRANSLATED
from harness.providers.litellm_presence import check_installed
from harness.run_opening import Opening, look_at, note_media, open_run
from harness.run_options import RunOptions, SessionOptions, read_run_options
from harness.served_models import served_as, served_notes, together
from harness.session import check_budget, check_frames, check_headers, needed_keys, open_plans
from harness.settings import Model
from harness.state_reading import read_totals
from harness.twins import twin_notes


def run(invocation: Invocation) -> int:
    """Work on the run that the options want, and return the exit code."""
    config = configured(invocation.config_path)
    url = find_store(invocation.store, os.environ, config.store, Path.cwd())
    with warnings_shown():
        return run_session(start(invocation, config, url, None))


def resume(
    reference: str,
    session: SessionOptions,
    config_path: Path | None,
    store: str | None,
    *,
    data: str | None,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Go on with a stored run, and return the exit code. Raises ConfigError where it cannot be rebuilt."""
    config = configured(config_path)
    url = find_store(store, os.environ, config.store, Path.cwd())

    async def go_on() -> int:
        found, options = await _stored_options(url, reference)
        if data is not None and options.step is not None:
            raise ConfigError(f"run {found.name!r} is a step and has no case files; leave out --data")
        if data is not None:
            options = replace(options, data=data)
        invocation = Invocation(
            options, session, config_path, store, found.name, dry_run=dry_run, as_json=as_json
        )
        return await start(invocation, config, url, found)

    with warnings_shown():
        return run_session(go_on())


def configured(path: Path | None) -> Config:
    """Return the configuration; from here on its keys are shown in no error."""
    config = load_config(path)
    SECRET_VARIABLES.update(config.api_keys(os.environ))
    return config


async def start(invocation: Invocation, config: Config, url: str, resumed: Run | None) -> int:
    """Plan the run, look at what the store has of it, and dry-run it or work on it."""
    keep_frames_in(frames_folder(url, config.frames, os.environ, Path.cwd()))
    async with store_as_it_is(url) as as_it_is:
        plan = await planned(invocation.options, config, as_it_is)
        if resumed is not None:
            await _check_same(resumed, plan, invocation, await as_it_is.get())
        _introduce(plan, url)
        store = await as_it_is.get()
        found = await _look(store, plan, invocation.session)
        check_frames(plan, found)
        if invocation.dry_run:
            return await _dry_run(invocation, plan, store, found, config)
        _check_name(invocation.name)
        secrets = config.api_keys(os.environ).values()
        check_headers(plan, secrets)
        check_values(_all_params(plan, invocation.options), secrets)
        keys = needed_keys(plan, found, os.environ)
        check_budget(plan, found, invocation.session)
        await _check_reformatters(plan, found, keys)
        await _check_translated(plan, found, keys)
    return await _run(invocation, plan, url, found, config, keys)


async def _stored_options(url: str, reference: str) -> tuple[Run, RunOptions]:
    async with await Store.open(url, create=False) as store:
        found = await store.find_run(reference)
        sessions = await store.sessions(found.id)
    if read_manifest(found.manifest).imported:
        raise ConfigError(
            f"run {found.name!r} holds imported answers, and nobody can be asked for the rest; add files to "
            "it with `harness import`, or ask the model in a run of its own with `harness run`"
        )
    if not sessions:
        raise ConfigError(f"run {found.name!r} has no session to take its options from; use `harness run`")
    return found, read_run_options(sessions[-1].info.get("options"))


async def _check_same(found: Run, plan: Plan, invocation: Invocation, store: Store | None) -> None:
    if plan.manifest.digest() == found.digest:
        return
    if plan.manifest.step is not None and store is not None:
        raise ConfigError(await step_moved_on(store, found, plan.manifest, invocation))
    differing = (
        ", ".join(differences(read_manifest(found.manifest), plan.manifest)) or "the program's version"
    )
    raise ConfigError(
        f"run {found.name!r} cannot be resumed: what it wants has changed since ({differing}); undo the "
        "change, or use `harness run` for a new run, which takes over every stored answer that still fits"
    )


async def _look(store: Store | None, plan: Plan, session: SessionOptions) -> Opening:
    """Return how far the run has come; nothing is written."""
    digest = plan.manifest.digest()
    known = None if store is None else next((run for run in await store.runs() if run.digest == digest), None)
    return await look_at(store, plan, known, session, mark=False)


async def _dry_run(
    invocation: Invocation, plan: Plan, store: Store | None, opening: Opening, config: Config
) -> int:
    forecasts, restating = await forecast(plan, opening.work, store)
    for check in (
        lambda: check_headers(plan, config.api_keys(os.environ).values()),
        lambda: check_values(_all_params(plan, invocation.options), config.api_keys(os.environ).values()),
        lambda: needed_keys(plan, opening, os.environ),
        lambda: check_budget(plan, opening, invocation.session),
        lambda: _check_translator(plan, opening),
    ):
        try:
            check()
        except ConfigError as error:
            say(f"note: without --dry-run this would stop: {error}")
    if store is not None:
        await _say_twins(plan, opening, config, store)
    say_shard(opening)
    print_forecast(forecasts, restating, plan, opening.states, as_json=invocation.as_json)
    return 0


def _all_params(plan: Plan, options: RunOptions) -> Iterator[tuple[str, JSON]]:
    """Give every parameter that is kept: of the models and their reformatters, and as the user wrote it."""
    yield from options.params.items()
    for one in plan.models.values():
        yield from one.params.items()
    for model in plan.all_models().values():
        yield from model.params.items()


def _check_name(name: str | None) -> None:
    if name is not None and not (name.strip() and name.isprintable()):
        raise ConfigError(f"--name {name!r} is no name; use letters, digits and dashes")


async def _run(
    invocation: Invocation, plan: Plan, url: str, found: Opening, config: Config, keys: Mapping[str, str]
) -> int:
    raise_file_limit()
    async with await Store.open(url, warn=lambda text: say(f"warning: {text}")) as store:
        opening = found
        if not found.is_done:
            opening = await open_run(store, plan, invocation.name, invocation.session, found)
        elif not store.read_only:  # for a finished run, a store for reading only is enough
            await note_media(store, plan)
        _say_name(invocation, opening.run)
        if opening.n_open:
            await _say_twins(plan, opening, config, store)
        if opening.again.left:
            say(f"note: finishing the earlier list of this --again: {opening.again.left} units")
        say(f"run: {opening.run.name}: {plan.manifest.n_units} units, {opening.n_open} open")
        say_shard(opening)
        ended = await work_on(invocation, plan, store, opening, keys)
        if ended.code == exit_codes.INTERRUPTED:
            counts = await store.count_served(opening.run.id)
            served = together(served_as(plan.manifest, name, one) for name, one in counts.items())
        else:
            score = await score_run(store, opening.run)
            served = score.served_as()
            show_score(score, as_json=invocation.as_json)
        for note in served_notes(served):
            say(f"warning: {note}")
        totals = await read_totals(store, opening.run.id, opening.states.wanted)
    for told in ended.stopped:  # below the table, where it is read
        say(f"note: {told}")
    say_how_to_go_on(ended.code, opening, totals, invocation)
    return ended.code


async def _say_twins(plan: Plan, opening: Opening, config: Config, store: Store) -> None:
    """Say of which models the store holds answers that nearly fit, before they are paid for again."""
    for note in await twin_notes(plan, opening.work, config, store):
        say(f"note: {note}")


async def _check_reformatters(plan: Plan, opening: Opening, keys: Mapping[str, str]) -> None:
    needed = {
        one.reformatter.name: one.reformatter
        for one in open_plans(plan, opening)
        if one.reformatter is not None
    }
    if needed:
        from harness.availability import check_known

        await check_known(needed.values(), keys)


async def _check_translated(plan: Plan, opening: Opening, keys: Mapping[str, str]) -> None:
    """Say what LiteLLM changes for the models that it translates for, or stop: nothing is sent yet."""
    for model, params in _translated(plan, opening):
        check_installed()
        from harness.providers.litellm_sending import check

        key = keys.get(model.provider.api_key_env or "")
        for change in await asyncio.to_thread(check, model, params, key):
            say(f"note: model {model.name!r}, as LiteLLM sends it: {change}")


def _translated(plan: Plan, opening: Opening) -> Iterator[tuple[Model, Mapping[str, JSON]]]:
    """Give the models that LiteLLM is to translate for, with their parameters."""
    for one in open_plans(plan, opening):
        asked = [] if one.model.retired else [(one.model, one.params)]
        if one.reformatter is not None:
            asked.append((one.reformatter, one.reformatter.params))
        yield from (pair for pair in asked if pair[0].provider.adapter in TRANSLATED)


def _check_translator(plan: Plan, opening: Opening) -> None:
    """Raise ConfigError where a model needs LiteLLM, and it is not there."""
    if any(_translated(plan, opening)):
        check_installed()


def _say_name(invocation: Invocation, found: Run) -> None:
    if invocation.name is not None and invocation.name != found.name:
        say(f"note: this run is called {found.name!r} already; --name {invocation.name!r} is not used")


def _introduce(plan: Plan, url: str) -> None:
    say(f"store: {display(url)}")
    for note in plan.notes:
        say(f"note: {note}")
