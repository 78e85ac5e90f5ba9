"""Slots, order, cancellation and cost of admission."""

from __future__ import annotations

import asyncio
import random
import time

import pytest
from fake_clock import FakeClock
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import PoolClosedError
from harness.messages import Fault, Reply
from harness.outcomes import ExchangeOutcome as Outcome
from harness.pools.limits import PoolLimits, pool_name
from harness.pools.pool import Pool
from harness.retry import AskBudget, Retry
from harness.settings import Model, Provider

ANSWERED = Reply(Outcome.ANSWERED, text="yes")


def a_pool(clock: FakeClock, limits: PoolLimits) -> Pool:
    return Pool("p", limits, clock=clock.time, sleep=clock.sleep, random=lambda low, high: high)


async def test_never_more_in_flight_than_the_explicit_limit_and_all_of_it_at_once() -> None:
    clock = FakeClock()
    pool = a_pool(clock, PoolLimits(max_in_flight=512))
    most = 0

    async def one() -> None:
        nonlocal most
        async with pool.admit(1, 1) as slot:
            most = max(most, pool.status().in_flight)
            await clock.sleep(1)
            pool.report(ANSWERED, slot)

    async with asyncio.TaskGroup() as group:
        for _ in range(2_000):
            group.create_task(one())
    assert most == 512


async def test_waiters_go_in_the_order_in_which_they_came() -> None:
    clock = FakeClock()
    pool = a_pool(clock, PoolLimits(requests_per_minute=600, max_in_flight=2))
    order: list[int] = []

    async def one(number: int) -> None:
        async with pool.admit(0, 0):
            order.append(number)
            await clock.sleep(number % 3)

    async with asyncio.TaskGroup() as group:
        for number in range(50):
            group.create_task(one(number))
    assert order == list(range(50))


async def test_a_retry_goes_before_all_who_came_after_its_ask() -> None:  # F42
    clock = FakeClock()
    pool = a_pool(clock, PoolLimits(max_in_flight=1))
    order: list[str] = []

    async def failing_first() -> None:
        budget = AskBudget(4, pool)
        for turn in ("first", "retry"):
            async with pool.admit(0, 0, ticket=budget.ticket) as slot:
                order.append(turn)
                await clock.sleep(1)
                fault = Fault(Outcome.UNAVAILABLE, "503")
                pool.report(fault if turn == "first" else ANSWERED, slot)
            if turn == "first":
                decision = budget.decide(fault)
                assert isinstance(decision, Retry)
                await pool.back_off(decision.wait_s)

    async def plain() -> None:
        async with pool.admit(0, 0) as slot:
            order.append("plain")
            await clock.sleep(1)
            pool.report(ANSWERED, slot)

    async with asyncio.TaskGroup() as group:
        group.create_task(failing_first())
        for _ in range(100):
            group.create_task(plain())
    assert order.index("retry") <= 4


async def test_backing_off_holds_no_slot() -> None:  # F30
    clock = FakeClock()
    pool = a_pool(clock, PoolLimits(max_in_flight=2))
    started = clock.time()
    ended: list[float] = []

    async def sleeper() -> None:
        async with pool.admit(0, 0):
            pass
        await pool.back_off(60, "unavailable")

    async def ready() -> None:
        async with pool.admit(0, 0):
            await clock.sleep(1)
        ended.append(clock.time() - started)
        status = pool.status()
        assert (status.backing_off, dict(status.backing_off_for)) == (2, {"unavailable": 2})

    async with asyncio.TaskGroup() as group:
        for _ in range(2):
            group.create_task(sleeper())
        for _ in range(6):
            group.create_task(ready())
    assert max(ended) == 3
    assert (pool.status().backing_off, pool.status().retries) == (0, 2)


async def test_who_waits_for_pace_holds_no_slot() -> None:
    clock = FakeClock()
    pool = a_pool(clock, PoolLimits(requests_per_minute=1, max_in_flight=1))
    async with pool.admit(0, 0):
        pass
    waiter = asyncio.ensure_future(pool.admit(0, 0).__aenter__())
    await clock.sleep(1)
    assert (pool.status().in_flight, pool.status().waiting) == (0, 1)
    await waiter


async def test_a_body_that_raises_frees_its_slot() -> None:
    clock = FakeClock()
    pool = a_pool(clock, PoolLimits(max_in_flight=1))
    for _ in range(3):
        with pytest.raises(ValueError, match="broken"):
            async with pool.admit(0, 0):
                raise ValueError("broken")
    assert pool.status().in_flight == 0


async def test_cancelled_just_after_being_let_in_gives_everything_back() -> None:
    clock = FakeClock()
    pool = a_pool(clock, PoolLimits(requests_per_minute=1, max_in_flight=1))
    held = pool.admit(0, 0)
    await held.__aenter__()
    held.unsent()
    waiter = asyncio.ensure_future(pool.admit(0, 0).__aenter__())
    await asyncio.sleep(0)
    await held.__aexit__(None, None, None)  # lets the waiter in, which has not run yet
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    started = clock.time()
    async with pool.admit(0, 0):
        assert clock.time() == started
    assert pool.status().sends == 1


async def test_when_the_last_waiter_leaves_no_timer_stays() -> None:
    clock = FakeClock()
    pool = a_pool(clock, PoolLimits(requests_per_minute=1, max_in_flight=1))
    async with pool.admit(0, 0):
        pass
    waiter = asyncio.ensure_future(pool.admit(0, 0).__aenter__())
    await clock.sleep(1)
    assert len(asyncio.all_tasks()) == 3
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    await asyncio.sleep(0)
    assert len(asyncio.all_tasks()) == 1
    assert pool.status().waiting == 0


async def test_closed_and_cancelled_at_once_leaves_a_sound_count() -> None:
    clock = FakeClock()
    pool = a_pool(clock, PoolLimits(max_in_flight=1))
    async with pool.admit(0, 0):
        waiters = [asyncio.ensure_future(pool.admit(0, 0).__aenter__()) for _ in range(4)]
        await asyncio.sleep(0)
        waiters[0].cancel()
        pool.close("enough")
        waiters[1].cancel()
        results = await asyncio.gather(*waiters, return_exceptions=True)
    assert [type(result) for result in results] == [
        asyncio.CancelledError, asyncio.CancelledError, PoolClosedError, PoolClosedError,
    ]
    assert (pool.status().waiting, pool.status().in_flight) == (0, 0)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), in_flight=st.integers(1, 5), paced=st.booleans(), closes=st.booleans())
def test_cancellation_anywhere_leaks_nothing(seed: int, in_flight: int, paced: bool, closes: bool) -> None:
    asyncio.run(_cancel_at_random(seed, in_flight, paced, closes))


async def _cancel_at_random(seed: int, in_flight: int, paced: bool, closes: bool) -> None:
    source = random.Random(seed)
    clock = FakeClock()
    limits = PoolLimits(
        requests_per_minute=600 if paced else None, tokens_per_minute=60_000 if paced else None,
        max_in_flight=in_flight,
    )
    pool = a_pool(clock, limits)

    async def one() -> None:
        async with pool.admit(source.randrange(500), source.randrange(500)) as slot:
            await clock.sleep(source.random())
            match source.randrange(6):
                case 0:
                    slot.unsent()
                case 1:
                    slot.settle(1, None)
                case 2:
                    pool.report(Fault(Outcome.RATE_LIMITED, "429", wait_s=source.random()), slot)
                case 3:
                    pool.report(Fault(Outcome.CONNECTION, "refused"), slot)
                case _:
                    pool.report(ANSWERED, slot)
        await pool.back_off(source.random())

    tasks = [asyncio.ensure_future(one()) for _ in range(60)]
    for _ in range(40):
        await (clock.sleep(source.random() / 5) if source.random() < 0.5 else asyncio.sleep(0))
        source.choice(tasks).cancel()
    if closes:
        pool.close("enough")
    await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 10)
    status = pool.status()
    assert (status.in_flight, status.waiting, status.backing_off) == (0, 0, 0)
    await asyncio.sleep(0)
    assert len(asyncio.all_tasks()) == 1
    if not closes:
        pool.report(ANSWERED)
        async with pool.admit(1, 1):
            assert pool.status().in_flight == 1


@pytest.mark.slow
async def test_admission_costs_the_same_with_10_000_waiting() -> None:
    """A generous bound, so that only a scan of the queue can break it (a scan costs milliseconds)."""
    clock = FakeClock()
    pool = a_pool(clock, PoolLimits(requests_per_minute=6e6, tokens_per_minute=1e12, max_in_flight=64))
    done = 0

    async def one() -> None:
        nonlocal done
        async with pool.admit(100, 100) as slot:
            await asyncio.sleep(0)
            slot.settle(90, 10)
            pool.report(ANSWERED, slot)
        done += 1

    begin = time.process_time()
    async with asyncio.TaskGroup() as group:
        for _ in range(10_000):
            group.create_task(one())
    assert done == 10_000
    assert (time.process_time() - begin) / 10_000 < 0.001


async def test_a_sleep_that_breaks_is_raised_where_it_is_waited_for() -> None:
    async def broken(seconds: float) -> None:
        raise OSError("no timers left")

    pool = Pool("p", PoolLimits(requests_per_minute=1), sleep=broken)
    async with pool.admit(0, 0):
        pass
    with pytest.raises(OSError, match="no timers left"):
        async with pool.admit(0, 0):
            pass
    with pytest.raises(OSError, match="no timers left"):
        await pool.back_off(1)
    assert pool.status().waiting == 0


def a_model(**changes: object) -> Model:
    provider = Provider(
        name="lab",
        adapter="openai",
        base_url="http://user:secret@host:8000/v1/?token=x",
        api_key_env="LAB_KEY",
    )
    return Model.model_validate({"name": "m", "provider": provider, "model": "org/m-7b", **changes})


def test_a_pool_is_named_by_provider_key_model_and_endpoint() -> None:
    assert pool_name(a_model()) == "lab/LAB_KEY/org/m-7b@http://host:8000/v1"


def test_a_named_endpoint_stands_in_for_the_address() -> None:
    provider = Provider(name="lab", adapter="openai", base_url="http://host:1/v1", endpoint="lab-vllm")
    assert pool_name(a_model(provider=provider)) == "lab/no-key/org/m-7b@lab-vllm"


def test_limits_come_from_the_model_and_an_override_wins() -> None:
    model = a_model(requests_per_minute=600, output_tokens_per_minute=5, max_in_flight=64, max_sends=3)
    assert PoolLimits.of(model) == PoolLimits(
        requests_per_minute=600, output_tokens_per_minute=5, max_in_flight=64, max_sends=3
    )
    assert PoolLimits.of(model, 60.0, 8) == PoolLimits(
        requests_per_minute=600, output_tokens_per_minute=5, max_in_flight=8, max_sends=3, max_wait_s=60.0
    )


def test_models_that_share_a_pool_have_the_lower_of_each_limit() -> None:
    one = PoolLimits(requests_per_minute=60, max_in_flight=None, max_wait_s=600, max_sends=4)
    other = PoolLimits(requests_per_minute=None, max_in_flight=2, max_wait_s=600, max_sends=3)
    both = PoolLimits(requests_per_minute=60, max_in_flight=2, max_wait_s=600, max_sends=3)
    assert one.tightened(other) == other.tightened(one) == both
