"""A provider as it may really be: limits of several kinds, latencies, faults, and what it says of them.

It keeps what it saw, so that what counts is measured where the provider would measure it. Rejected requests
count against no limit (of the providers looked at, none documents that they do).
"""

from __future__ import annotations

import asyncio
import math
import random
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Protocol, TypeAlias

from harness.messages import Fault, RawReply, Reply, Usage
from harness.outcomes import ExchangeOutcome as Outcome
from harness.providers.base import read
from harness.providers.limit_headers import LearnedLimits, limits_from_headers
from harness.settings import Provider

MIDNIGHT = 1_767_571_200.0
"""2026-01-05 00:00 UTC: the time of day at which every simulation starts."""

REFUSED = Fault(Outcome.CONNECTION, "connection refused")

Latency: TypeAlias = Callable[[random.Random, int], float]
"""(chance, requests in flight) -> seconds."""
Trouble: TypeAlias = Callable[[float, random.Random], "Fault | RawReply | None"]
"""(seconds since the start, chance) -> what goes wrong with a request, or None."""
Headers: TypeAlias = Callable[[float], Mapping[str, str]]
"""(seconds since the start) -> headers of every answer."""


def about(mean_s: float, spread: float = 0.5) -> Latency:
    """Return log-normal latencies with a mean."""

    def latency(chance: random.Random, in_flight: int) -> float:
        return mean_s * math.exp(chance.gauss(0.0, spread) - spread * spread / 2)

    return latency


class Limit(Protocol):
    """A rule by which requests are admitted."""

    def admits(self, tokens: tuple[int, int], now: float, in_flight: int) -> bool: ...


@dataclass
class MinuteWindow:
    """So much in any 60 s; `of` gives what of a request counts, None counts requests."""

    per_minute: float
    of: int | None = None
    _seen: deque[tuple[float, float]] = field(default_factory=deque)
    _sum: float = 0.0

    def admits(self, tokens: tuple[int, int], now: float, in_flight: int) -> bool:
        while self._seen and self._seen[0][0] <= now - 60.0:
            self._sum -= self._seen.popleft()[1]
        amount = 1.0 if self.of is None else float(tokens[self.of])
        if self._seen and self._sum + amount > self.per_minute:
            return False
        self._seen.append((now, amount))
        self._sum += amount
        return True


@dataclass
class Refill:
    """A bucket of `capacity` that fills by `per_minute`; requests only."""

    per_minute: float
    capacity: float
    _left: float = math.nan
    _at: float = 0.0

    def admits(self, tokens: tuple[int, int], now: float, in_flight: int) -> bool:
        if math.isnan(self._left):
            self._left, self._at = self.capacity, now
        self._left = min(self.capacity, self._left + (now - self._at) * self.per_minute / 60.0)
        self._at = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


@dataclass
class Slots:
    """So many at once; the number may depend on the seconds since the start."""

    at: Callable[[float], int]

    def admits(self, tokens: tuple[int, int], now: float, in_flight: int) -> bool:
        return in_flight < self.at(now)


@dataclass
class Least:
    """Nothing that reads any tokens at all: one request that is marked so is never taken."""

    def admits(self, tokens: tuple[int, int], now: float, in_flight: int) -> bool:
        return tokens[0] == 0


def too_many(headers: Mapping[str, str] | None = None, words: str = "slow down") -> RawReply:
    """Return a 429 as OpenAI-compatible servers word it."""
    body = f'{{"error": {{"message": "{words}", "type": "requests", "code": "rate_limit_exceeded"}}}}'
    return RawReply(429, dict(headers or {}), body.encode())


UNTOLD = too_many()
OVERLOADED = RawReply(529, {}, b'{"error": {"message": "Overloaded", "type": "overloaded_error"}}')
BROKEN = RawReply(503, {}, b'{"error": {"message": "upstream broke", "type": "server_error"}}')


@dataclass(frozen=True, slots=True)
class Seen:
    """One arrival: seconds since the start; `status` 0 where nothing connected."""

    at: float
    ended: float
    tokens: tuple[int, int]
    status: int


class ModelServer:
    """What stands behind one pool. `send` is one exchange, read by the real adapter."""

    def __init__(
        self,
        *,
        seed: int = 1,
        latency: Latency | None = None,
        limits: Sequence[Limit] = (),
        rejection: RawReply | Callable[[float], RawReply] = UNTOLD,
        trouble: Trouble = lambda since, chance: None,
        headers: Headers = lambda since: {},
        dialect: str = "openai",
    ) -> None:
        self._chance = random.Random(seed)
        self._latency = latency or about(2.0)
        self._limits = limits
        self._rejection = rejection
        self._trouble = trouble
        self._headers = headers
        self._loop = asyncio.get_running_loop()
        self._started = self._loop.time()
        self.provider = Provider.model_validate(
            {"name": "lab", "adapter": "openai", "base_url": "http://lab/v1", "limit_headers": dialect}
        )
        self.in_flight = 0
        self.most_in_flight = 0
        self.seen: list[Seen] = []

    @property
    def since(self) -> float:
        """Seconds since the start."""
        return self._loop.time() - self._started

    async def send(self, tokens: tuple[int, int]) -> tuple[Reply | Fault, LearnedLimits]:
        """Take one request that reads and writes so many tokens; return what it means and what it teaches."""
        began = self.since
        status = 200
        try:
            meaning, status, headers = await self._answer(tokens, began)
        finally:
            self.seen.append(Seen(began, self.since, tokens, status))
        return meaning, limits_from_headers(self.provider.limit_headers, headers)

    async def _answer(
        self, tokens: tuple[int, int], began: float
    ) -> tuple[Reply | Fault, int, Mapping[str, str]]:
        headers = {"date": formatdate(MIDNIGHT + began, usegmt=True), **self._headers(began)}
        trouble = self._trouble(began, self._chance)
        if isinstance(trouble, Fault):
            await asyncio.sleep(0.005)
            return trouble, 0, {}
        rejected = trouble is None and not self._admits(tokens, began)
        if rejected:
            trouble = self._rejection(began) if callable(self._rejection) else self._rejection
            await asyncio.sleep(0.05)
        else:
            await self._work()
        if trouble is None:
            usage = Usage(input_tokens=tokens[0], output_tokens=tokens[1])
            return Reply(Outcome.ANSWERED, "fine", usage=usage), 200, headers
        raw = RawReply(trouble.status, {**headers, **trouble.headers}, trouble.body)
        return read(raw, self.provider), trouble.status, raw.headers

    def _admits(self, tokens: tuple[int, int], now: float) -> bool:
        return all([limit.admits(tokens, now, self.in_flight) for limit in self._limits])

    async def _work(self) -> None:
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(self._latency(self._chance, self.in_flight))
        finally:
            self.in_flight -= 1
