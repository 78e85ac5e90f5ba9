"""Requests and tokens per minute, in virtual time."""

from __future__ import annotations

import asyncio
import logging
from itertools import pairwise

import pytest
from fake_clock import FakeClock

from harness.pools.limits import PoolLimits
from harness.pools.pool import Pool
from harness.providers.limit_headers import LearnedLimits


def a_pool(clock: FakeClock, limits: PoolLimits, name: str = "p") -> Pool:
    return Pool(name, limits, clock=clock.time, sleep=clock.sleep, random=lambda low, high: high)


async def flood(
    pool: Pool, clock: FakeClock, count: int, *, seconds: float = 0.5, tokens: tuple[int, int] = (0, 0)
) -> list[float]:
    """Send `count` requests as fast as the pool lets them; return when each went out."""
    sent: list[float] = []

    async def one() -> None:
        async with pool.admit(*tokens):
            sent.append(clock.time())
            await clock.sleep(seconds)

    async with asyncio.TaskGroup() as group:
        for _ in range(count):
            group.create_task(one())
    return sent


def most_in_window(times: list[float], window_s: float, amounts: list[float] | None = None) -> float:
    """Return the largest amount within any closed window."""
    amounts = amounts or [1.0] * len(times)
    best = total = 0.0
    start = 0
    for end, moment in enumerate(times):
        total += amounts[end]
        while moment - times[start] > window_s:
            total -= amounts[start]
            start += 1
        best = max(best, total)
    return best


async def test_600_a_minute_is_used_to_97_percent_and_never_exceeded() -> None:
    clock = FakeClock()
    pool = a_pool(clock, PoolLimits(requests_per_minute=600, max_in_flight=64))
    sent = await flood(pool, clock, 2400)
    begin = sent[0]
    for minute in (1, 2, 3):
        used = sum(begin + 60 * minute <= moment < begin + 60 * (minute + 1) for moment in sent)
        assert used >= 0.97 * 600
    assert most_in_window(sent, 60.0) <= 600


async def test_a_burst_after_idling_is_at_most_one_second_of_the_limit() -> None:
    clock = FakeClock()
    pool = a_pool(clock, PoolLimits(requests_per_minute=600, max_in_flight=64))
    await flood(pool, clock, 5)
    await clock.sleep(300)
    sent = await flood(pool, clock, 100)
    assert most_in_window(sent, 0.0) <= 10
    assert most_in_window(sent, 1.0) <= 20
    assert most_in_window(sent, 60.0) <= 600


@pytest.mark.parametrize("limit", [1, 6, 50, 91, 92, 500])
async def test_small_limits_hold_in_every_window_and_are_used(limit: int) -> None:
    clock = FakeClock()
    pool = a_pool(clock, PoolLimits(requests_per_minute=limit, max_in_flight=64))
    sent = await flood(pool, clock, limit * 4)
    assert most_in_window(sent, 60.0) <= limit
    assert (len(sent) - 1) / (sent[-1] - sent[0]) * 60 >= 0.97 * limit


async def test_late_timers_lose_nothing() -> None:
    clock = FakeClock()

    async def late_sleep(seconds: float) -> None:
        await clock.sleep(seconds + 0.05)

    limits = PoolLimits(requests_per_minute=600, max_in_flight=64)
    pool = Pool("p", limits, clock=clock.time, sleep=late_sleep)
    sent = await flood(pool, clock, 1200)
    assert (len(sent) - 1) / (sent[-1] - sent[0]) >= 0.97 * 10
    assert most_in_window(sent, 60.0) <= 600


async def test_tokens_a_minute_hold_in_every_window_and_are_used() -> None:
    clock = FakeClock()
    pool = a_pool(clock, PoolLimits(tokens_per_minute=100_000, max_in_flight=64))
    sent = await flood(pool, clock, 600, tokens=(600, 400))
    assert most_in_window(sent, 60.0, [1000.0] * 600) <= 100_000
    assert (len(sent) - 1) * 1000 / (sent[-1] - sent[0]) * 60 >= 0.97 * 100_000


async def test_input_and_output_tokens_have_limits_of_their_own() -> None:
    clock = FakeClock()
    limits = PoolLimits(input_tokens_per_minute=1_000_000, output_tokens_per_minute=6_000, max_in_flight=64)
    sent = await flood(a_pool(clock, limits), clock, 40, tokens=(10, 600))
    assert most_in_window(sent, 60.0) <= 10


async def test_settling_frees_what_the_estimate_took_too_much() -> None:
    clock = FakeClock()
    pool = a_pool(clock, PoolLimits(tokens_per_minute=6_000, max_in_flight=1))
    started = clock.time()
    for _ in range(20):
        async with pool.admit(1_000, 2_000) as slot:
            slot.settle(100, 50)
    assert clock.time() - started <= 20 * 150 / 100 + 2


async def test_settling_above_the_estimate_slows_the_next_ones() -> None:
    clock = FakeClock()
    pool = a_pool(clock, PoolLimits(tokens_per_minute=6_000, max_in_flight=1))
    async with pool.admit(10, 10) as slot:
        slot.settle(3_000, 2_900)
    started = clock.time()
    async with pool.admit(100, 100):
        assert clock.time() - started >= 58


async def test_where_a_count_is_unknown_the_estimate_stands() -> None:
    clock = FakeClock()
    limits = PoolLimits(input_tokens_per_minute=600, output_tokens_per_minute=600, max_in_flight=1)
    pool = a_pool(clock, limits)
    async with pool.admit(500, 500) as slot:
        slot.settle(1, None)
    started = clock.time()
    async with pool.admit(1, 300):
        assert clock.time() - started >= 49


async def test_an_unsent_request_counts_neither_as_request_nor_as_tokens() -> None:
    clock = FakeClock()
    pool = a_pool(clock, PoolLimits(requests_per_minute=1, tokens_per_minute=100, max_in_flight=1))
    started = clock.time()
    for _ in range(10):
        async with pool.admit(50, 50) as slot:
            slot.unsent()
    assert clock.time() == started
    assert pool.status().sends == 0


async def test_a_request_larger_than_the_bucket_is_sent_alone_with_one_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:  # F41
    clock = FakeClock()
    pool = a_pool(clock, PoolLimits(tokens_per_minute=1_000, max_in_flight=64))
    sent: list[tuple[float, int]] = []

    async def one(tokens: int) -> None:
        async with pool.admit(tokens, 0):
            sent.append((clock.time(), tokens))

    with caplog.at_level(logging.WARNING):
        async with asyncio.TaskGroup() as group:
            for tokens in (10, 5_000, 10, 7_000, 10):
                group.create_task(one(tokens))
    assert [tokens for _, tokens in sent] == [10, 5_000, 10, 7_000, 10]
    gaps = [after - before for (before, _), (after, _) in pairwise(sent)]
    assert all(60 <= gap <= 65 for gap in gaps)
    assert sum("larger than the limit" in record.message for record in caplog.records) == 1


async def test_learned_limits_bind_but_never_above_configured_ones() -> None:
    clock = FakeClock()
    pool = a_pool(clock, PoolLimits(requests_per_minute=60, max_in_flight=64))
    pool.learn(LearnedLimits(requests_per_minute=6_000))
    assert most_in_window(await flood(pool, clock, 120), 60.0) <= 60
    pool.learn(LearnedLimits(requests_per_minute=6))
    await clock.sleep(61)
    assert most_in_window(await flood(pool, clock, 20), 60.0) <= 6


async def test_senseless_learned_limits_change_nothing() -> None:
    clock = FakeClock()
    pool = a_pool(clock, PoolLimits(max_in_flight=64))
    started = clock.time()
    for value in (0.0, -1.0, float("nan"), float("inf")):
        pool.learn(LearnedLimits(requests_per_minute=value, tokens_per_minute=value))
    await flood(pool, clock, 64)
    assert clock.time() - started <= 1


async def test_a_limit_learned_while_others_wait_lets_them_go_sooner() -> None:
    clock = FakeClock()
    pool = a_pool(clock, PoolLimits(max_in_flight=64))
    pool.learn(LearnedLimits(requests_per_minute=1))

    async def raise_it() -> None:
        await clock.sleep(10)
        pool.learn(LearnedLimits(requests_per_minute=6_000))

    async with asyncio.TaskGroup() as group:
        group.create_task(raise_it())
        sent = await flood(pool, clock, 10)
    assert sent[-1] - sent[0] <= 70
