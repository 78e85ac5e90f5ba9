"""The adaptive limit: growth, cuts and pauses."""

from __future__ import annotations

import asyncio
import random

import pytest
from fake_clock import FakeClock

from harness.messages import Fault, Reply
from harness.outcomes import ExchangeOutcome as Outcome
from harness.pools.concurrency import AdaptiveLimit
from harness.pools.pool import Pool, PoolLimits

ANSWERED = Reply(Outcome.ANSWERED, text="yes")
BROKEN = Fault(Outcome.UNAVAILABLE, "bad gateway")


def a_pool(clock: FakeClock, limits: PoolLimits | None = None) -> Pool:
    limits = limits or PoolLimits()
    return Pool("p", limits, clock=clock.time, sleep=clock.sleep, random=lambda low, high: high)


async def flood(
    pool: Pool, clock: FakeClock, count: int, *, failing: float = 0.0, seconds: float = 1.0
) -> None:
    source = random.Random(7)

    async def one() -> None:
        async with pool.admit(0, 0) as slot:
            await clock.sleep(seconds * (0.5 + source.random()))
            pool.report(BROKEN if source.random() < failing else ANSWERED, slot)

    async with asyncio.TaskGroup() as group:
        for _ in range(count):
            group.create_task(one())


async def burst(pool: Pool, faults: list[Fault]) -> None:
    """Have all faults arrive together, each within its slot."""
    slots = [pool.admit(0, 0) for _ in faults]
    for slot in slots:
        await slot.__aenter__()
    for slot, fault in zip(slots, faults, strict=True):
        pool.report(fault, slot)
    for slot in slots:
        await slot.__aexit__(None, None, None)


async def test_starts_at_16_and_grows_while_saturated() -> None:
    clock = FakeClock()
    pool = a_pool(clock)
    assert pool.status().limit == 16
    await flood(pool, clock, 600)
    assert pool.status().limit > 100


async def test_never_grows_beyond_its_ceiling() -> None:
    clock = FakeClock()
    pool = a_pool(clock)
    await flood(pool, clock, 3_000)
    assert pool.status().limit == 512


async def test_slots_that_are_not_used_do_not_grow() -> None:
    clock = FakeClock()
    pool = a_pool(clock)
    for _ in range(20):
        await flood(pool, clock, 15)
    assert pool.status().limit == 16


async def test_an_explicit_limit_is_start_and_ceiling() -> None:
    clock = FakeClock()
    pool = a_pool(clock, PoolLimits(max_in_flight=40))
    assert pool.status().limit == 40
    await flood(pool, clock, 400)
    assert pool.status().limit == 40


async def test_slowness_is_no_failure() -> None:
    clock = FakeClock()
    pool = a_pool(clock)
    await flood(pool, clock, 600, seconds=300)
    assert pool.status().limit > 100


@pytest.mark.parametrize(
    "fault",
    [
        Fault(Outcome.RATE_LIMITED, "slow down"),
        Fault(Outcome.RATE_LIMITED, "slow down", wait_s=1),
        Fault(Outcome.UNAVAILABLE, "Overloaded", code="overloaded_error"),
        Fault(Outcome.UNAVAILABLE, "busy", code="529"),
    ],
)
async def test_a_burst_is_cut_once(fault: Fault) -> None:
    clock = FakeClock()
    pool = a_pool(clock, PoolLimits(max_in_flight=40))
    await burst(pool, [fault] * 40)
    assert pool.status().limit == 28
    await clock.sleep(60)
    await burst(pool, [fault] * 28)
    assert pool.status().limit == 19


async def test_a_straggler_of_an_old_burst_does_not_cut_again() -> None:
    clock = FakeClock()
    pool = a_pool(clock, PoolLimits(max_in_flight=40))
    fault = Fault(Outcome.RATE_LIMITED, "slow down", wait_s=1)
    async with pool.admit(0, 0) as straggler:
        await clock.sleep(1)
        await burst(pool, [fault] * 39)
        await clock.sleep(30)
        pool.report(fault, straggler)
        assert pool.status().limit == 28
        assert pool.held_for_s() == 1


async def test_a_cut_starts_from_what_is_really_used() -> None:
    clock = FakeClock()
    pool = a_pool(clock, PoolLimits(max_in_flight=500))
    await burst(pool, [Fault(Outcome.RATE_LIMITED, "slow down")] * 10)
    assert pool.status().limit == 7


def test_an_isolated_failure_pauses_growth_for_a_round_and_cuts_nothing() -> None:
    limit = AdaptiveLimit()
    limit.failed(in_flight=16)
    for _ in range(16):
        limit.succeeded(saturated=True)
    assert limit.value == 16
    limit.succeeded(saturated=True)
    assert limit.value == 17


def test_a_failure_within_a_pause_does_not_prolong_it() -> None:
    limit = AdaptiveLimit()
    limit.failed(in_flight=16)
    for _ in range(8):
        limit.succeeded(saturated=True)
    limit.failed(in_flight=16)
    for _ in range(9):
        limit.succeeded(saturated=True)
    assert limit.value == 17


def test_more_than_20_percent_of_50_failing_cuts_and_20_do_not() -> None:
    limit = AdaptiveLimit(64)
    for number in range(50):
        if number % 5 == 0:
            limit.failed(in_flight=64)
        else:
            limit.succeeded(saturated=True)
    assert limit.value == 64
    limit.failed(in_flight=64)  # the oldest of the 50 was a failure too
    assert limit.value == 64
    limit.failed(in_flight=64)
    assert limit.value == 44


def test_a_burst_of_broken_sends_is_cut_once_too() -> None:
    limit = AdaptiveLimit(64)
    for in_flight in range(64, 0, -1):
        limit.failed(in_flight=in_flight)
    assert limit.value == 37  # of the 54 that were out when the 11th failed


def test_the_limit_never_falls_below_one_and_recovers() -> None:
    limit = AdaptiveLimit(64)
    for _ in range(1_000):
        limit.failed(in_flight=1)
    assert limit.value == 1
    for _ in range(2_000):
        limit.succeeded(saturated=True)
    assert limit.value == 64


async def test_one_percent_of_failures_costs_no_concurrency() -> None:
    clock = FakeClock()
    pool = a_pool(clock)
    await flood(pool, clock, 4_000, failing=0.01)
    assert pool.status().limit >= 256


async def test_a_fifth_of_failures_does_not_drift_to_one_at_a_time() -> None:  # F42
    clock = FakeClock()
    pool = a_pool(clock)
    begin = clock.time()
    await flood(pool, clock, 2_000, failing=0.2)
    assert pool.status().limit >= 4
    assert 2_000 / (clock.time() - begin) >= 5


async def test_faults_of_single_requests_are_no_failures_of_the_pool() -> None:
    clock = FakeClock()
    pool = a_pool(clock, PoolLimits(max_in_flight=40))
    await burst(pool, [Fault(Outcome.BAD_REQUEST, "bad image")] * 40)
    await burst(pool, [Fault(Outcome.CONTEXT_LENGTH, "too long")] * 40)
    assert pool.status().limit == 40
