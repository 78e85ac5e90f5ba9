"""Random schedules of all that can happen to a pool: never above a limit, nothing lost, never stuck."""

from __future__ import annotations

import asyncio
import logging
import math
import random
from dataclasses import dataclass, field

import pytest
from pacing.figures import most_within
from virtual_loop import StuckError, run_virtual

from harness.errors import PoolClosedError
from harness.messages import Fault, Reply, Usage
from harness.outcomes import ExchangeOutcome as Outcome
from harness.pools.gate import Slot
from harness.pools.limits import PoolLimits
from harness.pools.pool import Pool
from harness.providers.limit_headers import LearnedLimits
from harness.retry import AskBudget, Stop

GRACE_S = 0.005
"""How late a timer may be: the gate puts wakings within a millisecond together."""


@dataclass
class Schedule:
    """One pool and what chance does to it."""

    seed: int
    requests: list[tuple[float, float]] = field(default_factory=list)
    over: int = 0
    """How often somebody was let in who should have waited."""

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.clock = asyncio.get_running_loop().time
        pick = self.chance.choice
        self.limits = PoolLimits(
            requests_per_minute=pick([None, 1, 30, 600]),
            tokens_per_minute=pick([None, None, 2_000, 50_000]),
            input_tokens_per_minute=pick([None, 1_000, 20_000]),
            output_tokens_per_minute=pick([None, 1_000, 20_000]),
            max_in_flight=pick([None, 1, 2, 5]),
            max_wait_s=pick([30.0, 600.0]),
        )
        self.pool = Pool(
            "p", self.limits, clock=self.clock, random=self.chance.uniform, wall=self.clock
        )
        self._grant, self.pool._gate._grant = self.pool._gate._grant, self.granted  # type: ignore[method-assign]

    async def run(self) -> None:
        """Let everything happen, then check that nothing is left."""
        asks = [asyncio.create_task(self.ask()) for _ in range(self.chance.randrange(5, 40))]
        watch = asyncio.create_task(self.watch())
        trouble = asyncio.create_task(self.trouble(asks))
        await asyncio.wait(asks)
        await asyncio.gather(trouble)
        watch.cancel()
        await asyncio.gather(watch, return_exceptions=True)
        if watch.done() and not watch.cancelled() and watch.exception() is not None:
            raise watch.exception()  # type: ignore[misc]
        for ask in asks:
            if not ask.cancelled() and (error := ask.exception()) is not None:
                raise error
        await self.check_end()

    def granted(self, slot: Slot, now: float) -> None:
        """Look at each letting-in as it happens: a cut may follow before the send even begins."""
        gate = self.pool._gate
        in_its_way = self.pool.held_for_s() > 0 or (gate.probing and gate._probe is not None)
        self.over += gate.in_flight >= self.pool._limit.value or in_its_way or self.pool.closed
        self._grant(slot, now)
        for bucket in self.pool._pacer._buckets.values():
            alone = len(bucket._entries) == 1
            self.over += not alone and bucket._sum > bucket._capacity + 0.001

    async def ask(self) -> None:
        await asyncio.sleep(self.chance.choice([0.0, self.chance.random() * 5]))
        budget = AskBudget(self.limits.max_sends, self.pool)
        tokens = (self.chance.randrange(1, 400), self.chance.choice([0, 50, 400, 1_500]))
        try:
            while True:
                meaning = await self.send(tokens, budget.ticket)
                if meaning is None or isinstance(meaning, Reply):
                    return
                step = budget.decide(meaning)
                if isinstance(step, Stop):
                    return
                await self.pool.back_off(step.wait_s, step.reason)
        except PoolClosedError:
            return

    async def send(self, tokens: tuple[int, int], ticket: int) -> Reply | Fault | None:
        async with self.pool.admit(*tokens, ticket=ticket) as slot:
            now = self.clock()
            await asyncio.sleep(self.chance.choice([0.0, 0.01, self.chance.random() * 20]))
            if self.chance.random() < 0.05:
                slot.unsent()
                return None
            self.requests.append((now, 1.0))
            share = self.chance.random() * 3
            used = (int(tokens[0] * share), int(tokens[1] * share))
            if self.chance.random() < 0.8:
                slot.settle(used[0], self.chance.choice([used[1], None]))
                await asyncio.sleep(self.chance.choice([0.0, 0.0, 9.0]))  # to store it, say
            meaning = self.meaning()
            if self.chance.random() < 0.1:
                self.pool.learn(LearnedLimits(requests_per_minute=self.chance.choice([10.0, 300.0, 0.1])))
            if self.chance.random() < 0.95:
                self.pool.report(meaning, self.chance.choice([slot, slot, None]))
        return meaning

    def meaning(self) -> Reply | Fault:
        wait_s = self.chance.choice([None, 0.0, 1.0, 20.0, 40.0])
        return self.chance.choices(
            [
                Reply(Outcome.ANSWERED, "yes", usage=Usage(1, 1)),
                Fault(Outcome.RATE_LIMITED, "429", wait_s=wait_s),
                Fault(Outcome.UNAVAILABLE, "503", wait_s=self.chance.choice([None, None, wait_s])),
                Fault(Outcome.UNAVAILABLE, "overloaded", code="529"),
                Fault(Outcome.CONNECTION, "refused"),
                Fault(Outcome.CONNECTION, "reset", maybe_billed=True),
                Fault(Outcome.TIMEOUT, "nothing came", maybe_billed=True),
                Fault(Outcome.BAD_REQUEST, "400"),
            ],
            weights=[10, 3, 2, 1, 3, 1, 1, 1],
        )[0]

    async def trouble(self, asks: list[asyncio.Task[None]]) -> None:
        """Cancel some, close sometimes."""
        for _ in range(self.chance.randrange(0, 12)):
            await asyncio.sleep(self.chance.choice([0.0, self.chance.random() * 3]))
            self.chance.choice(asks).cancel()
        if self.chance.random() < 0.2:
            await asyncio.sleep(self.chance.random() * 30)
            self.pool.close("enough")

    async def watch(self) -> None:
        """Look now and then whether somebody waits who could go: twice, as a timer may be a little late."""
        while True:
            await asyncio.sleep(self.chance.choice([0.013, 0.7, 7.0]))
            before = self.could_go()
            if before is None:
                continue
            await asyncio.sleep(GRACE_S)
            assert self.could_go() != before, f"seed {self.seed}: one waits although nothing is in its way"

    def could_go(self) -> int | None:
        """Return the ticket of who waits first, if neither slot, hold nor pace is in the way."""
        gate, now = self.pool._gate, self.clock()
        waiting = sorted((ticket, order, slot) for ticket, order, slot, one in gate._queue if not one.done())
        if not waiting or gate.in_flight >= self.pool._limit.value or (gate.probing and gate._probe):
            return None
        slot = waiting[0][2]
        paced_s = self.pool._pacer.delay(slot.input_tokens, slot.output_tokens, now)
        return None if self.pool.held_for_s() > 0 or paced_s > 0 else slot.ticket

    async def check_end(self) -> None:
        status = self.pool.status()
        assert (status.in_flight, status.waiting, status.backing_off) == (0, 0, 0)
        await asyncio.sleep(0)
        assert len(asyncio.all_tasks()) == 1
        await asyncio.sleep(61)
        for kind, bucket in self.pool._pacer._buckets.items():
            bucket.delay(0, self.clock())
            assert bucket._sum == 0.0 and bucket._open == 0.0 and not bucket._entries, kind
            assert bucket._paid_until < math.inf
        assert self.over == 0
        if self.limits.requests_per_minute is not None:
            assert most_within(self.requests, 60) <= self.limits.requests_per_minute


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Keep thousands of warnings of requests larger than their limit out of a failure's output."""
    caplog.set_level(logging.CRITICAL, logger="harness.pools.gate")


def _run(seeds: range) -> None:
    for seed in seeds:
        try:
            run_virtual(_schedule(seed))
        except (AssertionError, StuckError) as error:
            raise AssertionError(f"schedule {seed}: {error}") from error


async def _schedule(seed: int) -> None:
    # Half a day is far beyond every wait that can add up here.
    async with asyncio.timeout(43_200):
        await Schedule(seed).run()


@pytest.mark.slow
def test_random_schedules_end_within_their_limits_and_leave_nothing() -> None:  # F30, F31, F41
    _run(range(100))


@pytest.mark.slow
def test_two_thousand_random_schedules_end_within_their_limits_and_leave_nothing() -> None:  # F30, F31, F41
    _run(range(1_000, 3_000))
