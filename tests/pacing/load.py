"""Asks for one pool: the program's own window, canary, budget, retries and pool, before a simulated server.

`Asks.ask` does what `harness.client` does between claim and commit; a test runs the real client through one
of the scenarios and expects the same figures.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from pacing.server import ModelServer

from harness.errors import PoolClosedError
from harness.messages import Fault, Reply
from harness.pools.canary import Canary
from harness.pools.limits import PoolLimits
from harness.pools.pool import Pool
from harness.retry import AskBudget, Stop
from harness.window import Window

Tokens: TypeAlias = tuple[int, int]
TokensOf: TypeAlias = Callable[[int, random.Random], Tokens]


def a_pool(limits: PoolLimits, *, seed: int = 7, wall: Callable[[], float] | None = None) -> Pool:
    """Return a pool on the running loop's time, with chance from a seed."""
    clock = asyncio.get_running_loop().time
    return Pool("lab", limits, clock=clock, random=random.Random(seed).uniform, wall=wall or clock)


@dataclass(frozen=True, slots=True)
class Asked:
    """One ask as it ended: seconds since the start; `queued`: longest wait of a retry in the queue."""

    number: int
    first_sent: float
    ended: float
    sends: int
    end: str
    queued: float


@dataclass
class Asks:
    """The asks of one model. `estimated` and `true` give (input, output) tokens of an ask by its number."""

    pool: Pool
    server: ModelServer
    true: TokensOf = lambda number, chance: (0, 0)
    estimated: Callable[[Tokens], Tokens] = lambda true: true
    cancelled: float = 0.0
    """Share of sends that are cancelled on their way."""
    seed: int = 3
    done: list[Asked] = field(default_factory=list)
    canary: Canary = field(default_factory=Canary)
    cuts: list[float] = field(default_factory=list)
    """When an answer lowered the number of requests in flight, in seconds since the start."""

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)

    async def run(self, *, seconds: float = float("inf"), count: int | None = None) -> None:
        """Ask as much as the window takes, for so long or so many."""
        number = 0
        async with Window(self.pool.status) as window:
            while self.server.since < seconds and (count is None or number < count):
                await window.start(self.ask(number))
                number += 1
                if self.pool.closed:
                    return

    async def ask(self, number: int) -> None:
        """Send until answered, or until it is enough."""
        budget = AskBudget(self.pool.limits.max_sends, self.pool)
        log = _Log()
        end = "not_attempted"
        true = self.true(number, self._chance)
        try:
            async with self.canary.passage():
                while True:
                    meaning = await self._send_once(true, budget.ticket, log)
                    if isinstance(meaning, Reply):
                        end = "answered"
                        break
                    step = budget.decide(meaning)
                    if isinstance(step, Stop):
                        end = step.outcome.value
                        break
                    await self.pool.back_off(step.wait_s, step.reason)
        except PoolClosedError:
            pass
        except TimeoutError:
            end = "cancelled"
        self.done.append(Asked(number, log.first, self.server.since, log.sends, end, log.queued))

    async def _send_once(self, true: Tokens, ticket: int, log: _Log) -> Reply | Fault:
        queued_at = self.server.since
        async with self.pool.admit(*self.estimated(true), ticket=ticket) as slot:
            log.let_in(self.server.since, queued_at)
            patience_s = self._chance.random() if self._chance.random() < self.cancelled else None
            async with asyncio.timeout(patience_s):  # cut off: what was used is unknown, the estimate stands
                meaning, learned = await self.server.send(true)
            slot.settle(meaning.usage.input_tokens, meaning.usage.output_tokens)
            self.pool.learn(learned)
            limit = self.pool.limit
            self.pool.report(meaning, slot)
            if self.pool.limit < limit and self.pool.connected:
                self.cuts.append(self.server.since)
        self.canary.saw(meaning, 200 if isinstance(meaning, Reply) else 0)
        return meaning

    def ends(self) -> Counter[str]:
        """Return how many asks ended how."""
        return Counter(one.end for one in self.done)


@dataclass(slots=True)
class _Log:
    first: float = float("nan")
    sends: int = 0
    queued: float = 0.0

    def let_in(self, now: float, queued_at: float) -> None:
        if self.sends == 0:
            self.first = now
        else:
            self.queued = max(self.queued, now - queued_at)
        self.sends += 1
