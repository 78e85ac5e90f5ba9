"""A bounded number of units at work: as many as the pool can use, however many there are."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from types import TracebackType
from typing import Any, Protocol, Self

LOOK_AHEAD = 2
"""Units at work for each slot: while some are read and stored, others are ready to be sent."""
SMALLEST = 64
"""Units at work at least, so that stored answers are looked up many at a time."""
LOOK_EVERY_S = 0.1
ASLEEP = 4
"""How many times its size a window grows while units sleep before a retry."""


class Load(Protocol):
    """What a window has to know of a pool: how many may be in flight, and how many sleep before a retry."""

    @property
    def limit(self) -> int: ...
    @property
    def backing_off(self) -> int: ...


class Window:
    """Starts units as tasks of one group, and waits when enough are at work.

    Units that sleep before a retry, or wait for another pool (`elsewhere`), do not count, up to a bound on
    them too. The first exception of a unit cancels the others and is raised at the end, as in every
    `asyncio.TaskGroup`.
    """

    def __init__(self, status: Callable[[], Load], elsewhere: Callable[[], int] = lambda: 0) -> None:
        self._status = status
        self._elsewhere = elsewhere
        self._active = 0
        self._done = asyncio.Event()
        self._group = asyncio.TaskGroup()

    async def start(self, unit: Coroutine[Any, Any, None]) -> None:
        """Start a unit as soon as the window has room for it."""
        try:
            while not self._has_room():
                self._done.clear()
                # A unit that falls asleep makes room as well, and tells nobody.
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._done.wait(), LOOK_EVERY_S)
        except BaseException:
            unit.close()
            raise
        self._active += 1
        self._group.create_task(unit).add_done_callback(self._ended)

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._group.__aexit__(kind, error, trace)

    def _has_room(self) -> bool:
        status = self._status()
        size = max(SMALLEST, LOOK_AHEAD * status.limit)
        asleep = min(status.backing_off + self._elsewhere(), ASLEEP * size)
        return self._active - asleep < size

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._active -= 1
        self._done.set()
