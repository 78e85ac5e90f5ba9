"""One import at a time into a store: two that look for the same answers at once would both store them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from harness.cache.store import Store
from harness.canonical import digest
from harness.errors import StoreError

TURN: Final = digest({"turn": "import"})
"""The key that an import claims, as a request is claimed: it lapses with its process."""

POLL_S: Final = 0.5

Sleep = Callable[[float], Awaitable[None]]
Check = Callable[[], Awaitable[None]]


@asynccontextmanager
async def turn(
    store: Store, say: Callable[[str], None], sleep: Sleep = asyncio.sleep
) -> AsyncIterator[Check]:
    """Wait until no other import is at work on the store, and keep others waiting meanwhile.

    Gives a check to be made before each batch is stored; it raises StoreError where another import took over
    while this one was suspended.
    """
    waited = False
    while not await store.claim(TURN):
        if not waited:
            say("another import into this store is at work; waiting for its end (Ctrl-C gives up)")
        waited = True
        await sleep(POLL_S)

    async def check() -> None:
        if not await store.still_claimed(TURN):
            raise StoreError(
                "another import into this store began while this one was suspended; give the same command "
                "again: what was stored is kept, and only the rest is added"
            )

    try:
        yield check
    finally:
        await store.release(TURN)
