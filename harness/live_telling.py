"""A session that tells the store now and then what it is doing, so that others can watch it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final, TypeAlias

from harness.cache.store import Store
from harness.canonical import JSON
from harness.errors import StoreError
from harness.internal_errors import kind_and_place

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

    Nobody waits for it. A store that does not take it, and whatever fails in `state`, harm nothing else:
    `warn` is told once.
    """
    if store.read_only:
        yield
        return
    words = _Words(store, session, state, warn)
    task = asyncio.create_task(words.keep_telling(sleep), name="live")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})
        words.tell_last(task)


@dataclass
class _Words:
    store: Store
    session: int
    state: Callable[[], Mapping[str, JSON]]
    warn: Callable[[str], None]
    warned: bool = False

    async def keep_telling(self, sleep: Sleep) -> None:
        while True:
            try:
                await self.store.tell_live(self.session, self.state())
            except StoreError as error:
                self._note(f" just now: {error}")
            except Exception as error:  # noqa: BLE001 - who is watched asks on
                self._note_fault(error)
            await sleep(TELL_EVERY_S)

    def tell_last(self, task: asyncio.Task[None]) -> None:
        """Tell how it ended; an error of the block stays the one that is raised."""
        if not task.cancelled() and (fault := task.exception()) is not None:
            self._note_fault(fault)
        try:
            self.store.tell_live_last(self.session, self.state())
        except Exception as error:  # noqa: BLE001 - as above
            self._note_fault(error)

    def _note_fault(self, error: BaseException) -> None:
        self._note(f": {kind_and_place(error)}")

    def _note(self, told: str) -> None:
        if not self.warned:
            self.warned = True
            with suppress(Exception):
                self.warn(f"note: what this session is doing cannot be watched{told}")
