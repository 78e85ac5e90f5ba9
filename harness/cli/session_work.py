"""One session of `run` or `resume` at work: signals, progress, and what it came to."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial

from tqdm import tqdm

from harness import exit_codes
from harness.budget import NOTHING_SENT
from harness.cache.owner import this_process
from harness.cache.rows import UnitId
from harness.cache.store import Store
from harness.canonical import JSON
from harness.cli.going_on import Invocation
from harness.cli.options import say
from harness.cli.progress import POLL_S, Progress
from harness.live_state import Observed, Tally, live_state
from harness.live_telling import telling
from harness.media import Media, load
from harness.open_files import file_limit
from harness.outcomes import UnitOutcome
from harness.planning import Plan
from harness.run_opening import Opening
from harness.session import Live, Stop, exit_code, live_session, run_units, session_info
from harness.shards import Shard
from harness.state_reading import read_totals


@dataclass(frozen=True, slots=True)
class Ended:
    """How a session ended: its exit code, and which limits of `--max-cost` stopped it, in words."""

    code: int
    stopped: tuple[str, ...] = ()


async def work_on(
    invocation: Invocation, plan: Plan, store: Store, opening: Opening, keys: Mapping[str, str]
) -> Ended:
    """Ask all that is open, and keep what the session came to. Raises StoreError."""
    if store.read_only and opening.is_done:
        say("nothing is left to ask")
        return Ended(exit_code(opening.totals(), interrupted=False, budget_reached=False))
    if invocation.session.keep_media:
        await _keep_media(plan, store, invocation.session.shard)
    info = session_info(plan, invocation.options, invocation.session, opening.again)
    session_id = await store.start_session(opening.run.id, info)
    if not opening.n_open:
        say("nothing is left to ask")
        code = exit_code(opening.totals(), interrupted=False, budget_reached=False)
        await store.end_session(session_id, code, NOTHING_SENT)
        return Ended(code)
    code = exit_codes.FAILED
    ending: dict[str, JSON] = {}
    tally = Tally(opening.open_by_model)
    try:
        with Progress(opening.open_by_model, key_variables(plan)) as progress:

            def on_unit(unit: UnitId, outcome: UnitOutcome) -> None:
                progress.unit_done(unit, outcome)
                tally.unit_done(unit, outcome)

            async with live_session(
                store,
                plan,
                opening,
                invocation.session,
                session_id=session_id,
                keys=keys,
                on_unit=on_unit,
            ) as live:
                _say_few_files(live, progress)
                told = _Telling(store, session_id, live, tally, progress)
                interrupted = await _watched(opening, told)
                ending = _ending(live)
        _say_spending(live)  # below the bars
        totals = await read_totals(store, opening.run.id, opening.states.wanted)
        code = exit_code(totals, interrupted=interrupted, budget_reached=live.budget.reached)
    finally:
        await store.end_session(session_id, code, ending)
    return Ended(code, tuple(live.budget.stopped.values()))


def key_variables(plan: Plan) -> dict[str, str]:
    """Return model -> the variable that its API key is in."""
    models = plan.all_models().items()
    return {name: model.provider.api_key_env for name, model in models if model.provider.api_key_env}


def _say_few_files(live: Live, progress: Progress) -> None:
    """Say where the limit of open files keeps requests from being sent at once."""
    held_back = {pool.name: pool.most_in_flight for pool in live.pools.values() if pool.held_back}
    if held_back:
        progress.write(
            f"note: {file_limit()} files may be open at once here, so the requests in flight of a pool are "
            f"limited to {min(held_back.values())}; raise that with `ulimit -n`"
        )


@dataclass(frozen=True, slots=True)
class _Telling:
    """A session at work, and where it shows what it is doing: on stderr, and in the store for others."""

    store: Store
    session: int
    live: Live
    tally: Tally
    progress: Progress

    def shown(self) -> None:
        """Show it on stderr."""
        self.progress.refresh(self.live.pools, self.live.budget, self.live.client.claim_waits)

    def state(self, began_s: float, stop: Stop) -> Mapping[str, JSON]:
        """Return it as others are told."""
        client, counts = self.live.client, self.live.client.counts
        seen = Observed(
            self.live.pools,
            self.live.budget,
            client.claim_waits,
            counts.sends,
            counts.served,
            counts.causes,
            self.tally,
        )
        elapsed_s = time.monotonic() - began_s
        return live_state(seen, this_process(), elapsed_s=elapsed_s, stopping=stop.soon.is_set())


async def _watched(opening: Opening, told: _Telling) -> bool:
    """Run the units while signals are obeyed and progress is shown; True if it was interrupted."""
    stop = Stop()
    began_s = time.monotonic()

    async def show() -> None:
        while True:
            told.shown()
            await asyncio.sleep(POLL_S)

    shown = asyncio.create_task(show(), name="progress")
    try:
        state = partial(told.state, began_s, stop)
        async with telling(told.store, told.session, state, told.progress.write):
            with _signals(stop):
                return await run_units(told.live, opening.work, stop)
    finally:
        shown.cancel()
        with suppress(asyncio.CancelledError):
            await shown
        told.shown()


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
    spent = live.budget.spending()
    closed = {name: pool.status().closed for name, pool in live.pools.items() if pool.closed}
    return {
        "sends": counts.sends,
        "served": counts.served,
        "causes": dict(sorted(counts.causes.items())),
        "cut_off": counts.cut_off,
        "spent_usd": spent.usd,
        "unknown_cost_sends": spent.unknown,
        "at_most_usd": spent.at_most_usd,
        "spent_by_model": {name: one.to_json() for name, one in sorted(live.budget.by_model.items())},
        "stopped": list(live.budget.stopped.values()),
        "unpriced": sorted(live.budget.unpriced),
        "closed": closed,
    }


def _say_spending(live: Live) -> None:
    """Say what the session cost, where anything has a price or lacks one, and what was cut off."""
    unpriced = sorted(live.budget.unpriced)
    spent = live.budget.spending(but=unpriced)
    if spent.usd or spent.unknown or unpriced:
        without = f"; without a known price: {', '.join(unpriced)}" if unpriced else ""
        say(f"spent in this session: {spent.told()}{without}")
    if len(live.budget.by_model) > 1:
        for name, one in sorted(live.budget.by_model.items()):
            if name not in unpriced and (one.usd or one.unknown):
                say(f"  {name}: {one.told()}")
    cut_off = live.client.counts.cut_off
    if cut_off:
        requests = "1 request was" if cut_off == 1 else f"{cut_off} requests were"
        say(f"note: {requests} cut off in flight, of which nothing is stored; providers may bill that")


async def _keep_media(plan: Plan, store: Store, shard: Shard | None) -> None:
    """Keep the bytes of all media of this session's cases; those that are kept already are not read."""
    seen: set[str] = set()
    for case in plan.cases.cases:
        if shard is not None and not shard.holds(case.id):
            continue
        for medium in (one for many in case.media.values() for one in many):
            if medium.sha256 not in seen:
                seen.add(medium.sha256)
                await store.put_blob_pieces(medium.sha256, partial(_original, medium))


def _original(medium: Media) -> Iterator[bytes]:
    yield load(medium, "original")
