"""The adaptive limit: growth, cuts and pauses."""

from __future__ import annotations

import asyncio
import random

import pytest
from fake_clock import FakeClock

from harness.messages import Fault, Reply
from harness.outcomes import ExchangeOutcome as Outcome
from harness.pools.concurrency import AdaptiveLimit
from harness.pools.limits import PoolLimits
from harness.pools.pool import Pool

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


def grown(limit: AdaptiveLimit, successes: int) -> int:
    """Return the limit after so many successes with every slot in use."""
    for _ in range(successes):
        limit.succeeded(saturated=True)
    return limit.value


def cut_at(in_flight: int) -> AdaptiveLimit:
    """Return a limit that was cut with so many in flight, and all of those reported."""
    limit = AdaptiveLimit()
    while limit.value < in_flight:
        limit.succeeded(saturated=True)
    limit.overloaded(in_flight=in_flight)
    for _ in range(in_flight - 1):
        limit.succeeded(saturated=True)
    return limit


def test_after_a_cut_the_limit_is_soon_back_just_below_its_place_and_stays_there() -> None:
    limit = cut_at(100)
    assert limit.value == 70
    assert grown(limit, 30) == 97
    assert 97 <= grown(limit, 10 * 97) < 100  # half of the twenty rounds


def test_each_time_a_place_is_found_again_it_takes_longer_to_try_it() -> None:
    def successes_to(limit: AdaptiveLimit, place: int) -> int:
        count = 0
        while limit.value < place:
            count += 1
            limit.succeeded(saturated=True)
        return count

    limit = cut_at(100)
    first = successes_to(limit, 100)
    limit.overloaded(in_flight=100)
    grown(limit, 99)  # what was out when it was cut
    assert successes_to(limit, 100) >= 1.7 * first


def test_beyond_the_place_of_the_cut_it_grows_by_a_tenth_a_round() -> None:
    limit = cut_at(100)
    while limit.value < 101:
        limit.succeeded(saturated=True)
    grown(limit, 100)
    assert 109 <= limit.value <= 112


def test_a_capacity_that_is_found_is_kept_in_use() -> None:
    """A server that takes 9: news of a rejection comes when some have ended."""
    limit = AdaptiveLimit()
    used = total = 0
    for _ in range(3_000):
        total += 9
        used += min(limit.value, 9)
        if limit.value > 9:
            limit.overloaded(in_flight=limit.value)
            continue
        for _ in range(limit.value):
            limit.succeeded(saturated=True)
    assert used >= 0.95 * total


def failing(limit: AdaptiveLimit, share: float, sends: int, seed: int = 1) -> None:
    source = random.Random(seed)
    for _ in range(sends):
        if source.random() < share:
            limit.failed(in_flight=limit.value)
        else:
            limit.succeeded(saturated=True)


def test_a_cut_for_failures_that_changes_nothing_is_taken_back() -> None:  # F42
    limit = AdaptiveLimit(64)
    seen = []
    for number in range(1, 151):
        if number % 3 == 0:
            limit.failed(in_flight=limit.value)
        else:
            limit.succeeded(saturated=False)
        seen.append(limit.value)
    assert seen[31] == 64
    assert seen[32] == seen[145] - 20 == 44  # the eleventh failure; 63 that were out; 50 that are watched
    assert seen[144] == 44
    failing(limit, 0.3, 600)
    assert limit.value == 64


def test_a_cut_is_not_taken_back_where_more_than_half_failed_before_it() -> None:
    """From 61 % to 46 % may be what 70 % of the requests make of a server that takes 25 of 64."""
    limit = AdaptiveLimit(64)
    for number in range(18):
        if number < 7:
            limit.succeeded(saturated=True)
        else:
            limit.failed(in_flight=64)
    assert limit.value == 44
    for number in range(63 + 50):
        if number % 13 < 6:
            limit.failed(in_flight=44)
        else:
            limit.succeeded(saturated=True)
    assert limit.value <= 44


def test_a_cut_for_failures_that_helps_stands() -> None:
    limit = AdaptiveLimit(64)
    for number in range(11):
        assert number < 10 or limit.value == 64
        limit.failed(in_flight=64)
        for _ in range(3):
            limit.succeeded(saturated=True)
    assert limit.value == 44
    for _ in range(63):  # what was out when it was cut
        limit.failed(in_flight=44)
    for _ in range(50):
        limit.succeeded(saturated=True)
    limit.failed(in_flight=44)
    assert limit.value < 64


def test_more_than_half_failing_is_never_tolerated() -> None:
    limit = AdaptiveLimit(64)
    failing(limit, 0.65, 2_000)
    assert limit.value <= 8


def test_a_tolerated_share_is_forgotten_once_all_is_well() -> None:
    limit = AdaptiveLimit(64)
    failing(limit, 0.3, 600)
    grown(limit, 60)
    for _ in range(11):
        limit.failed(in_flight=64)
    assert limit.value == 44


def test_after_an_outage_the_limit_doubles_back_to_where_it_was() -> None:
    limit = AdaptiveLimit(64)
    for _ in range(500):
        limit.failed(in_flight=limit.value)
    assert limit.value == 1
    grown(limit, 1 + 2 + 4 + 8 + 16 + 32)
    assert limit.value >= 60
