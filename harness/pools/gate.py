"""The gate of a pool: who may send next, and when.

A send is let in when the pool is not held, its turn has come by pace, and a slot is free, all at one
instant: whoever waits, for whatever reason, holds neither a slot nor a share of the pace.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import math
from collections.abc import Awaitable, Callable
from heapq import heappop, heappush
from types import TracebackType
from typing import TypeAlias

from harness.errors import PoolClosedError
from harness.pools.concurrency import AdaptiveLimit
from harness.pools.holds import Holds
from harness.pools.pacing import Pacer, Reservation

Clock: TypeAlias = Callable[[], float]
Sleep: TypeAlias = Callable[[float], Awaitable[None]]

_MIN_SLEEP_S = 0.001

_log = logging.getLogger(__name__)


class Slot:
    """One send's place in the pool: an async context manager that waits on entry and frees on exit.

    Token estimates stand unless `settle` or `unsent` says otherwise. Entry raises PoolClosedError.
    """

    __slots__ = ("_gate", "_reservation", "input_tokens", "number", "output_tokens", "ticket")

    def __init__(self, gate: Gate, input_tokens: int, output_tokens: int, ticket: int) -> None:
        self._gate = gate
        self._reservation: Reservation | None = None
        self.input_tokens = input_tokens
        self.output_tokens = output_tokens
        self.ticket = ticket
        """Place in the queue; a retry that gives it again goes before all who came later."""
        self.number = 0
        """Which send of the pool it is, counted from 1 as they are let in."""

    async def __aenter__(self) -> Slot:
        await self._gate.enter(self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._gate.leave(self)

    def settle(self, input_tokens: int | None, output_tokens: int | None) -> None:
        """Replace the estimates by the tokens really used; where one is None its estimate stands."""
        if self._reservation is not None:
            self._reservation.settle(input_tokens, output_tokens)
            self._gate.advance()

    def unsent(self) -> None:
        """Take the send back: nothing reached the server, so nothing counts."""
        if self._reservation is not None:
            self._reservation.refund()
            self._reservation = None
            self._gate.sends -= 1
            self._gate.advance()


class Gate:
    """The queue in front of a pool: by ticket, so first come first served, and retries keep their turn.

    Letting in happens in `advance`, which never waits and runs whenever something changed; one timer
    task exists only while the head of the queue waits for a time to come.
    """

    def __init__(
        self, name: str, pacer: Pacer, limit: AdaptiveLimit, holds: Holds, *, clock: Clock, sleep: Sleep
    ) -> None:
        self.in_flight = 0
        self.waiting = 0
        self.admitted = 0
        """Sends ever let in, those taken back included."""
        self.sends = 0
        self.probing = False
        """True while nothing connects: then one send at a time is let in."""
        self._name = name
        self._pacer = pacer
        self._limit = limit
        self._holds = holds
        self._clock = clock
        self._sleep = sleep
        self._closed_by: Callable[[], PoolClosedError] | None = None
        self._probe: Slot | None = None
        self._queue: list[tuple[int, int, Slot, asyncio.Future[None]]] = []
        self._order = itertools.count()
        self._timer: asyncio.Task[None] | None = None
        self._wake_at = math.inf
        self._warned = False

    async def enter(self, slot: Slot) -> None:
        """Wait until `slot` may be used; cancelled at any point, it leaves nothing behind."""
        self.raise_if_closed()
        self._warn_if_oversize(slot)
        future = asyncio.get_running_loop().create_future()
        heappush(self._queue, (slot.ticket, next(self._order), slot, future))
        self.waiting += 1
        self.advance()
        try:
            await future
        except asyncio.CancelledError:
            self._give_up(slot, future)
            raise
        if self._closed_by is not None:
            slot.unsent()
            self.leave(slot)
            raise self._closed_by()

    def leave(self, slot: Slot) -> None:
        """Free the slot; what it reserved and did not settle or take back stays counted."""
        self.in_flight -= 1
        if self._probe is slot:
            self._probe = None
        self.advance()

    def close(self, error: Callable[[], PoolClosedError]) -> None:
        """Let nobody in any more; all who wait are told now."""
        self._closed_by = error
        self._fail_all(error)
        self._stop_timer()

    def raise_if_closed(self) -> None:
        """Raise PoolClosedError once the gate is closed."""
        if self._closed_by is not None:
            raise self._closed_by()

    def advance(self) -> None:
        """Let in all who may go now, and see to it that the next is looked at in time."""
        delay = self._let_in()
        if delay is not None:
            self._start_timer(self._clock() + delay)
        elif self.waiting == 0:
            self._stop_timer()

    def _let_in(self) -> float | None:
        """Return in how many seconds the head may go; None when that is no matter of time."""
        while (head := self._head()) is not None:
            if self.in_flight >= self._limit.value or (self.probing and self._probe is not None):
                return None
            slot, future = head
            now = self._clock()
            delay = self._holds.remaining_s(now)
            delay = delay or self._pacer.delay(slot.input_tokens, slot.output_tokens, now)
            if delay > 0:
                return delay
            heappop(self._queue)
            self._grant(slot, now)
            future.set_result(None)
        return None

    def _head(self) -> tuple[Slot, asyncio.Future[None]] | None:
        queue = self._queue
        while queue and queue[0][3].done():
            heappop(queue)
        return (queue[0][2], queue[0][3]) if queue else None

    def _grant(self, slot: Slot, now: float) -> None:
        self.admitted += 1
        slot.number = self.admitted
        slot._reservation = self._pacer.reserve(slot.input_tokens, slot.output_tokens, now)
        self.waiting -= 1
        self.in_flight += 1
        self.sends += 1
        if self.probing:
            self._probe = slot

    def _give_up(self, slot: Slot, future: asyncio.Future[None]) -> None:
        if future.cancelled():
            self.waiting -= 1
            self.advance()
        elif future.exception() is None:
            slot.unsent()
            self.leave(slot)

    def _warn_if_oversize(self, slot: Slot) -> None:
        if self._warned or (found := self._pacer.oversize(slot.input_tokens, slot.output_tokens)) is None:
            return
        self._warned = True
        kind, amount, limit = found
        _log.warning(
            "pool %s: a request of about %d %s is larger than the limit of %g a minute; such requests are "
            "sent alone, with a minute before and after", self._name, amount, kind.replace("_", " "), limit,
        )

    def _start_timer(self, at: float) -> None:
        if self._timer is not None and not self._timer.done():
            if self._wake_at <= at + _MIN_SLEEP_S:
                return
            self._timer.cancel()
        self._wake_at = at
        self._timer = asyncio.get_running_loop().create_task(self._tick(), name=f"pool timer {self._name}")
        self._timer.add_done_callback(self._fail_if_broken)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _tick(self) -> None:
        while True:
            await self._sleep(max(self._wake_at - self._clock(), _MIN_SLEEP_S))
            delay = self._let_in()
            if delay is None:
                return
            self._wake_at = self._clock() + delay

    def _fail_if_broken(self, timer: asyncio.Task[None]) -> None:
        """Pass a failure of the timer on to all who wait: they would wait for ever."""
        if timer.cancelled() or (error := timer.exception()) is None:
            return
        failure = error
        self._fail_all(lambda: failure)

    def _fail_all(self, error: Callable[[], BaseException]) -> None:
        told = [future for _, _, _, future in self._queue if not future.done()]
        for future in told:  # one that was cancelled leaves by itself
            self.waiting -= 1
            future.set_exception(error())
        self._queue.clear()
