"""One session of `run` or `resume` at work: signals, progress, and what it came to."""

from __future__ import annotations

import asyncio
import math
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial

from tqdm import tqdm

from harness import exit_codes
from harness.cache.store import Store
from harness.canonical import JSON
from harness.cli.going_on import Invocation
from harness.cli.options import say
from harness.cli.progress import POLL_S, Progress
from harness.media import Media, load
from harness.open_files import file_limit
from harness.planning import Plan
from harness.run_opening import Opening
from harness.session import Live, Stop, exit_code, live_session, run_units, session_info
from harness.shards import Shard
from harness.state_reading import read_totals


async def work_on(
    invocation: Invocation, plan: Plan, store: Store, opening: Opening, keys: Mapping[str, str]
) -> int:
    """Ask all that is open, and keep what the session came to; return the exit code. Raises StoreError."""
    if store.read_only and opening.is_done:
        say("nothing is left to ask")
        return exit_code(opening.totals(), interrupted=False, budget_reached=False)
    if invocation.session.keep_media:
        await _keep_media(plan, store, invocation.session.shard)
    info = session_info(plan, invocation.options, invocation.session, opening.again)
    session_id = await store.start_session(opening.run.id, info)
    if not opening.n_open:
        say("nothing is left to ask")
        code = exit_code(opening.totals(), interrupted=False, budget_reached=False)
        await store.end_session(session_id, code, {"sends": 0, "spent_usd": 0.0})
        return code
    code = exit_codes.FAILED
    ending: dict[str, JSON] = {}
    try:
        with Progress(opening.open_by_model, key_variables(plan)) as progress:
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
                totals = await read_totals(store, opening.run.id, opening.states.wanted)
                code = exit_code(totals, interrupted=interrupted, budget_reached=live.budget.reached)
    finally:
        await store.end_session(session_id, code, ending)
    return code


def key_variables(plan: Plan) -> dict[str, str]:
    """Return model -> the variable that its API key is in."""
    models = plan.all_models().items()
    return {name: model.provider.api_key_env for name, model in models if model.provider.api_key_env}


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
        "spent_by_model": {name: one.to_json() for name, one in sorted(live.budget.by_model.items())},
        "stopped": list(live.budget.stopped.values()),
        "unpriced": sorted(live.budget.unpriced),
        "closed": closed,
    }


def _say_spending(live: Live) -> None:
    """Say which limits were reached, and what the session cost, where anything has a price or lacks one."""
    for told in live.budget.stopped.values():
        say(f"note: {told}")
    unpriced = sorted(live.budget.unpriced)
    if not (live.budget.spent_usd or unpriced):
        return
    without = f"; without a known price: {', '.join(unpriced)}" if unpriced else ""
    spent = sorted(live.budget.by_model.items())
    say(f"spent in this session: ${math.fsum(one.usd for _, one in spent):.4f}{without}")
    for name, one in spent:
        if name not in unpriced and (len(spent) > 1 or one.unknown):
            unknown = f", and what {one.unknown} of its sends cost is not known" if one.unknown else ""
            say(f"  {name}: ${one.usd:.4f}{unknown}")


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
