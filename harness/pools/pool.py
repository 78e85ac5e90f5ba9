"""Pools: what shares one rate limit, and everything that its exchanges teach about it."""

from __future__ import annotations

import asyncio
import itertools
import logging
import random as chance
import time
from collections import Counter
from datetime import timedelta

from harness.errors import PoolClosedError
from harness.messages import Fault, Reply
from harness.moments import shown_moment
from harness.outcomes import ExchangeOutcome as Outcome
from harness.pools.concurrency import CEILING, AdaptiveLimit
from harness.pools.gate import Clock, Gate, Sleep, Slot
from harness.pools.holds import Holds, Uniform
from harness.pools.limits import PoolLimits, PoolStatus
from harness.pools.pacing import LimitValues, Pacer
from harness.pools.rejections import Rejections

CLOSING = frozenset({Outcome.QUOTA_EXHAUSTED, Outcome.AUTH, Outcome.MODEL_NOT_FOUND})
"""Faults that no further send of the pool can escape."""

_HANDLED = frozenset({Outcome.BAD_REQUEST, Outcome.CONTEXT_LENGTH, Outcome.UNSUPPORTED_INPUT})
"""Faults of one request, given by a server that works."""

_UNCONNECTED = "connection failures"

_OUTAGE = 3
"""Connection failures without a later send that connects, from which on earlier sends prove nothing."""

_SHOWN_S = 315_576_000.0
"""Ten years: the farthest date that is shown."""

_log = logging.getLogger(__name__)


class Pool:
    """All that is sent under one rate limit, within one event loop.

    Report every exchange with `report`, within its slot, before deciding on a retry. `random` gives a
    number between two bounds; `wall` is the time of day, used in messages only.
    """

    def __init__(
        self,
        name: str,
        limits: PoolLimits,
        *,
        clock: Clock = time.monotonic,
        sleep: Sleep = asyncio.sleep,
        random: Uniform = chance.uniform,
        wall: Clock = time.time,
    ) -> None:
        self.name = name
        self.limits = limits
        self.random = random
        self.connects = 0
        """Sends so far that reached the server; a retry counts connection failures by it."""
        self._clock = clock
        self._sleep = sleep
        self._wall = wall
        explicit, most = limits.max_in_flight, limits.most_in_flight
        self.most_in_flight = CEILING if explicit is None else explicit
        self.held_back = most is not None and most < self.most_in_flight
        """Whether this machine allows fewer requests in flight than are wanted."""
        if most is not None and self.held_back:
            self.most_in_flight = most
        self._limit = AdaptiveLimit(
            None if explicit is None else self.most_in_flight, ceiling=self.most_in_flight
        )
        self._holds = Holds(limits.max_wait_s, random)
        self._pacer = Pacer(limits)
        self._gate = Gate(name, self._pacer, self._limit, self._holds, clock=clock, sleep=sleep)
        self._rejections = Rejections()
        self._tickets = itertools.count()
        self._sends_before_cut = -1
        self._refusals = 0
        self._last_refused = -1
        self._closed: tuple[str, float | None] | None = None
        self._naps: dict[asyncio.Future[None], str] = {}
        self._retries = 0
        self._ok = 0
        self._failures: Counter[Outcome] = Counter()
        self._last_messages: dict[Outcome, str] = {}

    @property
    def connected(self) -> bool:
        """False while nothing connects; the pool then probes with one send at a time."""
        return not self._gate.probing

    @property
    def limit(self) -> int:
        """How many requests may be in flight now."""
        return 1 if self._gate.probing else self._limit.value

    @property
    def backing_off(self) -> int:
        """How many sends sleep before they are tried again."""
        return len(self._naps)

    @property
    def closed(self) -> bool:
        """True once the pool takes no more requests."""
        return self._closed is not None

    def ticket(self) -> int:
        """Return the next place in the queue; an ask keeps its own for all its sends."""
        return next(self._tickets)

    def admit(self, input_tokens: int, output_tokens: int, *, ticket: int | None = None) -> Slot:
        """Return the place of one send, to be entered with `async with`.

        Entering waits for the pool's hold, the pace and a slot. Without a ticket it queues up last.
        """
        return Slot(self._gate, input_tokens, output_tokens, self.ticket() if ticket is None else ticket)

    def learn(self, learned: LimitValues) -> None:
        """Take limits that the provider stated; configured ones are never exceeded."""
        self._pacer.learn(learned)
        self._gate.advance()

    def nothing_left(self, hold_s: float) -> None:
        """Let nothing out for so long: an answer says that until then nothing more is allowed."""
        self._holds.nothing_left(self._clock(), hold_s, "limit used up")

    def report(self, result: Reply | Fault, slot: Slot | None = None) -> None:
        """Take in how a send ended.

        With its slot given, late faults of sends older than the last cut are known to be the same burst.
        """
        if isinstance(result, Reply):
            self._ok += 1
        else:
            self._failures[result.outcome] += 1
            self._last_messages[result.outcome] = result.message
        if result.outcome is Outcome.CONNECTION and not (isinstance(result, Fault) and result.maybe_billed):
            self._not_connected(slot)
        else:
            self._reached(slot)
            self._answered(result, slot)
        self._gate.advance()

    def close(self, reason: str, until_s: float | None = None) -> None:
        """Take no more requests in this session; all who wait are told at once. The first close counts."""
        if self._closed is not None:
            return
        _log.info("pool %s is closed: %s", self.name, reason)
        self._closed = (reason, None if until_s is None else self._clock() + until_s)
        self._gate.close(self._closed_error)
        for nap in self._naps:
            nap.cancel()

    async def back_off(self, seconds: float, why: str = "retry") -> None:
        """Sleep before a retry, outside any slot. Raises PoolClosedError as soon as the pool closes."""
        self._gate.raise_if_closed()
        nap = asyncio.ensure_future(self._sleep(seconds))
        self._naps[nap] = why
        self._retries += 1
        try:
            await asyncio.wait({nap})
        finally:
            del self._naps[nap]
            nap.cancel()
        self._gate.raise_if_closed()
        nap.result()

    def own_rejections(self, ticket: int) -> int:
        """Return how often an ask was rejected as too many while others, sent later, were answered."""
        return self._rejections.own(ticket)

    def held_for_s(self) -> float:
        """Return for how many seconds the pool is still held; 0 when it is not."""
        return self._holds.remaining_s(self._clock())

    def status(self) -> PoolStatus:
        """Return the pool as it is now."""
        held = self.held_for_s()
        reason, until = self._closed or (None, None)
        return PoolStatus(
            name=self.name,
            in_flight=self._gate.in_flight,
            limit=self.limit,
            waiting=self._gate.waiting,
            backing_off=self.backing_off,
            backing_off_for=Counter(self._naps.values()),
            retries=self._retries,
            held_until_s=held or None,
            held_why=self._holds.why if held else None,
            closed=reason,
            closed_until_s=None if until is None else max(until - self._clock(), 0.0),
            connected=self.connected,
            sends=self._gate.sends,
            ok=self._ok,
            failures=Counter(self._failures),
            last_messages=dict(self._last_messages),
        )

    def _answered(self, result: Reply | Fault, slot: Slot | None) -> None:
        outcome = result.outcome
        if isinstance(result, Reply) or outcome in _HANDLED:
            if slot is not None:
                self._rejections.handled(slot)
            self._holds.success()
            self._limit.succeeded(saturated=self._gate.in_flight >= self._limit.value)
        elif outcome in CLOSING:
            self._close_for(result)
        elif outcome is Outcome.RATE_LIMITED or _overloaded(result):
            self._pushed_back(result, slot)
        else:
            self._limit.failed(in_flight=self._gate.in_flight)
            self._obey(result, new_burst=True)

    def _close_for(self, fault: Fault) -> None:
        # A per-day quota often comes with a wait of seconds, which is not true: only long ones are told.
        told = fault.wait_s is not None and fault.wait_s > self.limits.max_wait_s
        self.close(f"{_words(fault.outcome)}: {fault.message}", fault.wait_s if told else None)

    def _pushed_back(self, fault: Fault, slot: Slot | None) -> None:
        now = self._clock()
        rate_limited = fault.outcome is Outcome.RATE_LIMITED
        own = rate_limited and slot is not None and self._rejections.rejected(slot)
        sent_since = slot is None or slot.number > self._sends_before_cut
        new_burst = sent_since and not own and self._holds.remaining_s(now) == 0
        if new_burst:
            self._limit.overloaded(in_flight=self._gate.in_flight)
            self._sends_before_cut = self._gate.admitted
        if rate_limited:
            enough = self._holds.trouble(now, _words(fault.outcome))
            if enough is not None:
                self.close(enough.reason, fault.wait_s)
            elif fault.wait_s is None and new_burst:
                self._holds.untold(now, _words(fault.outcome))
        self._obey(fault, new_burst=new_burst)

    def _reached(self, slot: Slot | None) -> None:
        """Take note that a send reached the server, unless that is no news any more.

        In an outage, answers to what was sent before it keep coming in for as long as answers take.
        """
        if slot is not None and slot.number < self._last_refused:
            if self._refusals >= _OUTAGE:
                return
        else:
            self._refusals = 0
        self.connects += 1
        self._gate.probing = False
        self._holds.over(_UNCONNECTED)

    def _not_connected(self, slot: Slot | None) -> None:
        # The first failure only turns to probing: one refused connection among many is no outage.
        now = self._clock()
        self._refusals += 1
        self._last_refused = max(self._last_refused, self._gate.admitted if slot is None else slot.number)
        enough = self._holds.trouble(now, _UNCONNECTED)
        if enough is not None:
            self.close(enough.reason)
        elif self._gate.probing:
            self._holds.untold(now, "nothing connects")
        else:
            self._gate.probing = True

    def _obey(self, fault: Fault, *, new_burst: bool) -> None:
        if fault.wait_s is None or self.closed:
            return
        why = _words(fault.outcome)
        enough = self._holds.told(self._clock(), max(fault.wait_s, 0.0), why, new_burst=new_burst)
        if enough is not None:
            self.close(enough.reason, enough.until_s)

    def _closed_error(self) -> PoolClosedError:
        reason, until = self._closed or ("closed", None)
        text = f"no more requests in this session: {reason}"
        if until is None:
            return PoolClosedError(text)
        left_s = max(until - self._clock(), 0.0)
        moment = shown_moment(int((self._wall() + min(left_s, _SHOWN_S)) * 1_000_000))
        text += f"; closed until {moment} (in {timedelta(seconds=round(left_s))})"
        return PoolClosedError(f"{text}, run the same command again then", until_s=left_s)


def _overloaded(fault: Fault) -> bool:
    """Tell a server that says it is overloaded (529 at Anthropic, 503 elsewhere) from one that broke."""
    if fault.outcome is not Outcome.UNAVAILABLE:
        return False
    return fault.code == "529" or "overload" in f"{fault.code or ''} {fault.message}".lower()


def _words(outcome: Outcome) -> str:
    return outcome.value.replace("_", " ")
