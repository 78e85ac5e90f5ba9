"""The work behind `harness run` and `harness resume`."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import click

from harness.cache.location import display, find_store, sqlite_path
from harness.cache.rows import Run
from harness.cache.store import Store
from harness.canonical import JSON
from harness.cli.main import SECRET_VARIABLES
from harness.cli.options import print_json, say
from harness.cli.progress import POLL_S, Progress
from harness.cli.scored import show_score
from harness.cli.tables import Column, render_table
from harness.cli.warnings import warnings_shown
from harness.config import load_config
from harness.dry_run import Forecast, forecast
from harness.errors import ConfigError
from harness.manifest import Manifest, read_manifest
from harness.media import load
from harness.offline.score import score_run
from harness.planning import Plan, make_plan
from harness.run_options import RunOptions, SessionOptions, read_run_options
from harness.session import (
    EXIT_BUDGET,
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    Live,
    Opening,
    Stop,
    check_budget,
    exit_code,
    live_session,
    look_at,
    needed_keys,
    open_run,
    run_units,
    session_info,
)
from harness.twins import twin_notes


@dataclass(frozen=True, slots=True)
class Invocation:
    """One call of `run`, its arguments read."""

    options: RunOptions
    session: SessionOptions
    config_path: Path | None
    store: str | None
    name: str | None
    dry_run: bool = False
    as_json: bool = False


def run(invocation: Invocation) -> int:
    """Work on the run that the options want, and return the exit code."""
    config = load_config(invocation.config_path)
    url = find_store(invocation.store, os.environ, config.store, Path.cwd())
    plan = make_plan(invocation.options, config)
    return _start(invocation, plan, url)


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
    config = load_config(config_path)
    url = find_store(store, os.environ, config.store, Path.cwd())
    found, options = asyncio.run(_stored_options(url, reference))
    if data is not None:
        options = replace(options, data=data)
    plan = make_plan(options, config)
    _check_same(found, plan)
    invocation = Invocation(
        options, session, config_path, store, found.name, dry_run=dry_run, as_json=as_json
    )
    return _start(invocation, plan, url)


def _start(invocation: Invocation, plan: Plan, url: str) -> int:
    with warnings_shown():
        return asyncio.run(
            _dry_run(invocation, plan, url) if invocation.dry_run else _run(invocation, plan, url)
        )


async def _stored_options(url: str, reference: str) -> tuple[Run, RunOptions]:
    async with await Store.open(url, create=False) as store:
        found = await store.find_run(reference)
        sessions = await store.sessions(found.id)
    if not sessions:
        raise ConfigError(f"run {found.name!r} has no session to take its options from; use `harness run`")
    return found, read_run_options(sessions[-1].info.get("options"))


def _check_same(found: Run, plan: Plan) -> None:
    if plan.manifest.digest() == found.digest:
        return
    differing = (
        ", ".join(_differences(read_manifest(found.manifest), plan.manifest)) or "the program's version"
    )
    raise ConfigError(
        f"run {found.name!r} cannot be resumed: what it wants has changed since ({differing}); undo the "
        "change, or use `harness run` for a new run, which takes over every stored answer that still fits"
    )


def _differences(old: Manifest, new: Manifest) -> Iterator[str]:
    before, after = old.to_json(), new.to_json()
    for name in before:
        if name in ("models", "conditions"):
            was, now = before[name], after[name]
            assert isinstance(was, Mapping) and isinstance(now, Mapping)
            yield from (f"{name}: {key}" for key in sorted({*was, *now}) if was.get(key) != now.get(key))
        elif before[name] != after.get(name):
            yield name


async def _dry_run(invocation: Invocation, plan: Plan, url: str) -> int:
    _introduce(plan, url)
    async with _as_it_is(invocation, plan, url) as (store, opening):
        forecasts = await forecast(plan, opening.work, store)
    _print_forecast(forecasts, plan, as_json=invocation.as_json)
    return 0


@asynccontextmanager
async def _as_it_is(
    invocation: Invocation, plan: Plan, url: str
) -> AsyncIterator[tuple[Store | None, Opening]]:
    """Give the store, None where there is none yet, and how far the run has come; nothing is written."""
    async with AsyncExitStack() as stack:
        store = known = None
        if sqlite_path(url).exists():
            store = await stack.enter_async_context(await Store.open(url, create=False))
            digest = plan.manifest.digest()
            known = next((run for run in await store.runs() if run.digest == digest), None)
        yield store, await look_at(store, plan, known, invocation.session, mark=False)


def _print_forecast(forecasts: list[Forecast], plan: Plan, *, as_json: bool) -> None:
    if as_json:
        print_json({"run": plan.manifest.digest(), "models": [one.to_json() for one in forecasts]})
        return
    columns = [
        Column("model", shrink=True),
        *(
            Column(title, right=True)
            for title in ("units", "done", "stored", "to send", "tokens in", "tokens out", "USD")
        ),
    ]
    rows = [
        (
            one.model,
            one.units,
            one.finished,
            one.stored,
            one.to_send,
            _range(one.input_tokens_low, one.input_tokens_high),
            _range(one.output_tokens_low, one.output_tokens_high),
            _usd_range(one.usd_low, one.usd_high),
        )
        for one in forecasts
    ]
    click.echo(render_table(columns, rows))
    click.echo("tokens and USD: one short answer a unit to all attempts in full; without the reformatter")
    unpriced = [one.model for one in forecasts if one.usd_low is None]
    if unpriced:
        click.echo(f"price unknown: {', '.join(unpriced)}")


def _range(low: int, high: int | None) -> str:
    return f"{_short(low)}-{'?' if high is None else _short(high)}"


def _short(count: int) -> str:
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if count >= size:
            return f"{count / size:.3g}{letter}"
    return str(count)


def _usd_range(low: float | None, high: float | None) -> str:
    if low is None:
        return "unknown"
    return f"{low:.2f}-{'?' if high is None else f'{high:.2f}'}"


async def _run(invocation: Invocation, plan: Plan, url: str) -> int:
    _introduce(plan, url)
    async with _as_it_is(invocation, plan, url) as (_, found):
        keys = needed_keys(plan, found, os.environ)
        SECRET_VARIABLES.update(keys)
        check_budget(plan, found, invocation.session)
    async with await Store.open(url, warn=lambda text: say(f"warning: {text}")) as store:
        opening = await open_run(store, plan, invocation.name, invocation.session)
        if opening.n_open:
            structured = plan.manifest.structured
            for note in await twin_notes(plan.benchmark, opening.work, structured, store):
                say(f"note: {note}")
        say(f"run: {opening.run.name}: {plan.manifest.n_units} units, {opening.n_open} open")
        if opening.n_open:
            code = await _session(invocation, plan, store, opening, keys)
        else:
            code = exit_code(opening.work, opening.states, interrupted=False, budget_reached=False)
            say("nothing is left to ask")
        if code != EXIT_INTERRUPTED:
            show_score(await score_run(store, opening.run), as_json=invocation.as_json)
    _say_how_to_go_on(code, opening.run, invocation)
    return code


async def _session(
    invocation: Invocation, plan: Plan, store: Store, opening: Opening, keys: Mapping[str, str]
) -> int:
    if invocation.session.keep_media:
        await _keep_media(plan, store)
    info = session_info(plan, invocation.options, invocation.session)
    session_id = await store.start_session(opening.run.id, info)
    code = EXIT_FAILED
    ending: dict[str, JSON] = {}
    try:
        with Progress(opening.open_by_model) as progress:
            async with live_session(
                store,
                plan,
                opening,
                invocation.session,
                session_id=session_id,
                keys=keys,
                on_unit=progress.unit_done,
            ) as live:
                interrupted = await _watched(live, opening, progress)
                ending = _ending(live)
                states = await store.unit_states(opening.run.id)
                code = exit_code(
                    opening.work, states, interrupted=interrupted, budget_reached=live.budget.reached
                )
    finally:
        await store.end_session(session_id, code, ending)
    return code


async def _watched(live: Live, opening: Opening, progress: Progress) -> bool:
    """Run the units while signals are obeyed and progress is shown; True if it was interrupted."""
    stop = Stop()

    async def show() -> None:
        while True:
            progress.refresh(live.pools, live.budget)
            await asyncio.sleep(POLL_S)

    shown = asyncio.create_task(show(), name="progress")
    try:
        with _signals(stop):
            return await run_units(live, opening.work, stop)
    finally:
        shown.cancel()
        with suppress(asyncio.CancelledError):
            await shown
        progress.refresh(live.pools, live.budget)


@contextmanager
def _signals(stop: Stop) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM ask to stop: the first time soon, the second time now."""

    def on_signal() -> None:
        if stop.ask():
            say("stopping now; the store is sound")
        else:
            say("interrupted: finishing what is in flight; again to stop now")

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, on_signal)
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


def _ending(live: Live) -> dict[str, JSON]:
    counts = live.client.counts
    closed = {name: pool.status().closed for name, pool in live.pools.items() if pool.closed}
    return {
        "sends": counts.sends,
        "served": counts.served,
        "causes": dict(sorted(counts.causes.items())),
        "spent_usd": live.budget.spent_usd,
        "unpriced": sorted(live.budget.unpriced),
        "closed": closed,
    }


async def _keep_media(plan: Plan, store: Store) -> None:
    seen: set[str] = set()
    for case in plan.cases.cases:
        for medium in (one for many in case.media.values() for one in many):
            if medium.sha256 not in seen:
                seen.add(medium.sha256)
                await store.put_blob(await asyncio.to_thread(load, medium, "original"))


def _introduce(plan: Plan, url: str) -> None:
    say(f"store: {display(url)}")
    for note in plan.notes:
        say(f"note: {note}")


def _say_how_to_go_on(code: int, found: Run, invocation: Invocation) -> None:
    if code == 0:
        return
    words = ["harness", "resume", found.name]
    if invocation.config_path is not None:
        words += ["--config", str(invocation.config_path)]
    if invocation.store is not None:
        words += ["--store", invocation.store]
    why = {EXIT_INTERRUPTED: "interrupted", EXIT_BUDGET: "stopped at --max-cost"}.get(
        code, "some units have no answer yet"
    )
    say(f"{why}; to go on: {shlex.join(words)}")
