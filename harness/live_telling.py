"""A session that tells the store now and then what it is doing, so that others can watch it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final, TypeAlias

from harness.cache.store import Store
from harness.canonical import JSON
from harness.errors import StoreError

TELL_EVERY_S: Final = 2.0

Sleep: TypeAlias = Callable[[float], Awaitable[None]]


@asynccontextmanager
async def telling(
    store: Store,
    session: int,
    state: Callable[[], Mapping[str, JSON]],
    warn: Callable[[str], None],
    *,
    sleep: Sleep = asyncio.sleep,
) -> AsyncIterator[None]:
    """Tell `state` every 2 s while the block runs, and once more at its end, however it ends.

    Nobody waits for it, and a store that does not take it harms nothing else: `warn` is told once.
    """
    if store.read_only:
        yield
        return
    task = asyncio.create_task(_keep_telling(store, session, state, warn, sleep), name="live")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})
        store.tell_live_last(session, state())


async def _keep_telling(
    store: Store,
    session: int,
    state: Callable[[], Mapping[str, JSON]],
    warn: Callable[[str], None],
    sleep: Sleep,
) -> None:
    warned = False
    while True:
        try:
            await store.tell_live(session, state())
        except StoreError as error:
            if not warned:
                warned = True
                warn(f"note: what this session is doing cannot be watched just now: {error}")
        await sleep(TELL_EVERY_S)
