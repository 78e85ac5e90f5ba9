"""The work behind `harness run` and `harness resume`."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from tqdm import tqdm

from harness import exit_codes
from harness.cache.location import display, find_store, sqlite_path
from harness.cache.rows import Run, UnitId, UnitState
from harness.cache.store import Store
from harness.canonical import JSON
from harness.cli.forecast_table import print_forecast
from harness.cli.main import SECRET_VARIABLES
from harness.cli.options import say
from harness.cli.progress import POLL_S, Progress
from harness.cli.scored import show_score
from harness.cli.warnings import warnings_shown
from harness.config import load_config
from harness.dry_run import forecast
from harness.errors import ConfigError
from harness.manifest import differences, read_manifest
from harness.media import load
from harness.offline.score import score_run
from harness.open_files import file_limit, raise_file_limit
from harness.outcomes import INCOMPLETE, UnitOutcome
from harness.planning import Plan, make_plan
from harness.run_options import RunOptions, SessionOptions, read_run_options
from harness.session import (
    Live,
    Opening,
    Stop,
    check_budget,
    exit_code,
    final_outcomes,
    live_session,
    look_at,
    needed_keys,
    open_plans,
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
        ", ".join(differences(read_manifest(found.manifest), plan.manifest)) or "the program's version"
    )
    raise ConfigError(
        f"run {found.name!r} cannot be resumed: what it wants has changed since ({differing}); undo the "
        "change, or use `harness run` for a new run, which takes over every stored answer that still fits"
    )


async def _dry_run(invocation: Invocation, plan: Plan, url: str) -> int:
    _introduce(plan, url)
    session = invocation.session
    async with _as_it_is(invocation, plan, url) as (store, opening):
        forecasts = await forecast(plan, opening.work, store)
    for check in (
        lambda: needed_keys(plan, opening, os.environ),
        lambda: check_budget(plan, opening, session),
    ):
        try:
            check()
        except ConfigError as error:
            say(f"note: without --dry-run this would stop: {error}")
    print_forecast(forecasts, plan, as_json=invocation.as_json)
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


async def _run(invocation: Invocation, plan: Plan, url: str) -> int:
    _introduce(plan, url)
    raise_file_limit()
    if invocation.name is not None and not (invocation.name.strip() and invocation.name.isprintable()):
        raise ConfigError(f"--name {invocation.name!r} is no name; use letters, digits and dashes")
    async with _as_it_is(invocation, plan, url) as (_, found):
        keys = needed_keys(plan, found, os.environ)
        SECRET_VARIABLES.update(keys)
        check_budget(plan, found, invocation.session)
        await _check_reformatters(plan, found, keys)
    async with await Store.open(url, warn=lambda text: say(f"warning: {text}")) as store:
        # A finished run is only read: nothing is written, and a store for reading only is enough.
        opening = found if found.is_done else await open_run(store, plan, invocation.name, invocation.session)
        _say_name(invocation, opening.run)
        if opening.n_open:
            for note in await twin_notes(plan.benchmark, opening.work, plan.manifest.structured, store):
                say(f"note: {note}")
        if opening.again.left:
            say(f"note: finishing the earlier list of this --again: {opening.again.left} units")
        say(f"run: {opening.run.name}: {plan.manifest.n_units} units, {opening.n_open} open")
        code = await _session(invocation, plan, store, opening, keys)
        if code != exit_codes.INTERRUPTED:
            show_score(await score_run(store, opening.run), as_json=invocation.as_json)
        states = await store.unit_states(opening.run.id)
    _say_how_to_go_on(code, opening, states, invocation)
    return code


async def _check_reformatters(plan: Plan, opening: Opening, keys: Mapping[str, str]) -> None:
    needed = {
        one.reformatter.name: one.reformatter
        for one in open_plans(plan, opening)
        if one.reformatter is not None
    }
    if needed:
        from harness.availability import check_known

        await check_known(needed.values(), keys)


def _say_name(invocation: Invocation, found: Run) -> None:
    if invocation.name is not None and invocation.name != found.name:
        say(f"note: this run is called {found.name!r} already; --name {invocation.name!r} is not used")


async def _session(
    invocation: Invocation, plan: Plan, store: Store, opening: Opening, keys: Mapping[str, str]
) -> int:
    if store.read_only and opening.is_done:
        say("nothing is left to ask")
        return exit_code(opening.work, opening.states, interrupted=False, budget_reached=False)
    if invocation.session.keep_media:
        await _keep_media(plan, store)
    info = session_info(plan, invocation.options, invocation.session, opening.again)
    session_id = await store.start_session(opening.run.id, info)
    if not opening.n_open:
        say("nothing is left to ask")
        code = exit_code(opening.work, opening.states, interrupted=False, budget_reached=False)
        await store.end_session(session_id, code, {"sends": 0, "spent_usd": 0.0})
        return code
    code = exit_codes.FAILED
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
                _say_few_files(live)
                interrupted = await _watched(live, opening, progress)
                ending = _ending(live)
                _say_spending(live)
                states = await store.unit_states(opening.run.id)
                code = exit_code(
                    opening.work, states, interrupted=interrupted, budget_reached=live.budget.reached
                )
    finally:
        await store.end_session(session_id, code, ending)
    return code


def _say_few_files(live: Live) -> None:
    """Say where the limit of open files keeps requests from being sent at once."""
    held_back = {pool.name: pool.most_in_flight for pool in live.pools.values() if pool.held_back}
    if held_back:
        say(
            f"note: {file_limit()} files may be open at once here, so the requests in flight of a pool are "
            f"limited to {min(held_back.values())}; raise that with `ulimit -n`"
        )


async def _watched(live: Live, opening: Opening, progress: Progress) -> bool:
    """Run the units while signals are obeyed and progress is shown; True if it was interrupted."""
    stop = Stop()

    async def show() -> None:
        while True:
            progress.refresh(live.pools, live.budget, live.client.claim_waits)
            await asyncio.sleep(POLL_S)

    shown = asyncio.create_task(show(), name="progress")
    try:
        with _signals(stop):
            return await run_units(live, opening.work, stop)
    finally:
        shown.cancel()
        with suppress(asyncio.CancelledError):
            await shown
        progress.refresh(live.pools, live.budget, live.client.claim_waits)


@contextmanager
def _signals(stop: Stop) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM ask to stop: the first time soon, the second time now."""

    def on_signal() -> None:
        if stop.ask():
            tqdm.write("stopping now; the store is sound", file=sys.stderr)
        else:
            tqdm.write("interrupted: finishing what is in flight; again to stop now", file=sys.stderr)

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


def _say_spending(live: Live) -> None:
    """Say what the session cost, where anything has a price or lacks one."""
    unpriced = sorted(live.budget.unpriced)
    if live.budget.spent_usd or unpriced:
        without = f"; without a known price: {', '.join(unpriced)}" if unpriced else ""
        say(f"spent in this session: ${live.budget.spent_usd:.4f}{without}")


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


def _say_how_to_go_on(
    code: int, opening: Opening, states: Mapping[UnitId, UnitState], invocation: Invocation
) -> None:
    totals: Counter[UnitOutcome] = Counter()
    for model in opening.work.models:
        totals += final_outcomes(opening.work, states, model)
    if totals[UnitOutcome.NOT_APPLICABLE]:
        say(
            f"units beyond a model's inputs or limits: {totals[UnitOutcome.NOT_APPLICABLE]}; if that was a "
            "setting, mend it and add --again not_applicable"
        )
    if code == 0:
        return
    missing = sum(totals[outcome] for outcome in INCOMPLETE)
    if totals[UnitOutcome.CASE_ERROR]:
        say(
            f"units of cases that cannot be asked: {totals[UnitOutcome.CASE_ERROR]}; mend the files "
            "(`harness data check` lists what is wrong), then give the same `harness run` again, without "
            "--again"
        )
    if missing:
        why = {exit_codes.INTERRUPTED: "interrupted; ", exit_codes.BUDGET: "stopped at --max-cost; "}.get(
            code, ""
        )
        share = f"units without an answer: {missing} of {totals.total()}"
        say(f"{why}{share}; to go on: {_resume(opening, invocation)}")


def _resume(opening: Opening, invocation: Invocation) -> str:
    words = ["harness", "resume", opening.run.name]
    if invocation.config_path is not None:
        words += ["--config", str(invocation.config_path)]
    if invocation.store is not None:
        words += ["--store", invocation.store]
    return shlex.join(words)
