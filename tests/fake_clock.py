"""Virtual time for tests: waits of hours pass in no time, in the same order every time.

    clock = FakeClock()
    pool = Pool("p", limits, clock=clock.time, sleep=clock.sleep)

Time stands still while any task can run. Once every task waits, it jumps to the earliest sleeper, wakes
that one alone, and stands still again until all wait anew; sleepers of one moment wake in the order in
which they fell asleep. `slept` lists all sleeps asked for.

Work in threads and on sockets cannot be seen: to time, a task that waits for it waits like any other.
Where both occur (a store on aiosqlite, a loopback server), give `grace_s`: how many real seconds every
task must have waited before time jumps. Use one clock an event loop, or neither ever sees all tasks wait.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sized
from heapq import heappop, heappush
from typing import Any, cast

_IDLE_PASSES = 2
"""Turns of the loop without anything to run before time jumps; the first lets it look at sockets."""


class FakeClock:
    """A clock whose `time` and `sleep` replace `time.monotonic` and `asyncio.sleep`; seconds."""

    def __init__(self, start: float = 1_000.0, *, grace_s: float = 0.0) -> None:
        self.slept: list[float] = []
        self._now = start
        self._grace_s = grace_s
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = itertools.count()
        self._watching: asyncio.AbstractEventLoop | None = None
        self._idle = 0

    def time(self) -> float:
        """Return the virtual time."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Move time on by hand, for code that only reads the clock; nobody is woken."""
        self._now += seconds

    async def sleep(self, seconds: float) -> None:
        """Wait for virtual time to pass."""
        self.slept.append(seconds)
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        heappush(self._sleepers, (self._now + seconds, next(self._order), future))
        if self._watching is not loop:
            self._watching = loop
            loop.call_soon(self._watch, loop)
        await future

    @property
    def sleepers(self) -> int:
        """How many tasks sleep now."""
        return sum(not future.done() for _, _, future in self._sleepers)

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._sleepers and self._sleepers[0][2].done():
            heappop(self._sleepers)
        if not self._sleepers:
            self._watching = None
            return
        # The loop offers no public way to ask whether anything is ready to run.
        ready = cast(Sized, cast(Any, loop)._ready)
        self._idle = 0 if len(ready) else self._idle + 1
        if self._idle < _IDLE_PASSES:
            if self._grace_s > 0 and self._idle == 1:
                loop.call_later(self._grace_s, self._watch, loop)
            else:
                loop.call_soon(self._watch, loop)
            return
        self._idle = 0
        wake_at, _, future = heappop(self._sleepers)
        self._now = max(self._now, wake_at)
        future.set_result(None)
        loop.call_soon(self._watch, loop)
