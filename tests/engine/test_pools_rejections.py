"""One request that is rejected for ever, among others that are answered."""

from __future__ import annotations

import asyncio

import pytest
from virtual_loop import run_virtual

from harness.messages import Fault, Reply
from harness.outcomes import ExchangeOutcome as Outcome
from harness.outcomes import UnitOutcome
from harness.pools.limits import PoolLimits
from harness.pools.pool import Pool
from harness.retry import MAX_OWN_REJECTIONS, AskBudget, Retry, Stop

ANSWERED = Reply(Outcome.ANSWERED, text="yes")
TOO_MANY = Fault(Outcome.RATE_LIMITED, "slow down")


def a_pool(limits: PoolLimits) -> Pool:
    return Pool("p", limits, clock=asyncio.get_running_loop().time, random=lambda low, high: low)


async def exchange(
    pool: Pool, meaning: Reply | Fault, ticket: int | None = None, seconds: float = 0.0
) -> None:
    async with pool.admit(0, 0, ticket=ticket) as slot:
        await asyncio.sleep(seconds)
        pool.report(meaning, slot)


def test_the_first_rejection_cuts_and_holds_and_later_ones_of_the_same_ask_do_not() -> None:  # F40
    async def work() -> None:
        pool = a_pool(PoolLimits(max_in_flight=10))
        ticket = pool.ticket()
        await exchange(pool, TOO_MANY, ticket)
        assert pool.held_for_s() == 1.0
        for _ in range(3):
            await exchange(pool, ANSWERED)
            limit = pool.limit
            await exchange(pool, TOO_MANY, ticket)
            assert (pool.held_for_s(), pool.limit) == (0.0, limit)
        assert pool.own_rejections(ticket) == 3

    run_virtual(work())


def test_answers_to_what_was_sent_before_do_not_make_a_rejection_the_asks_own() -> None:
    async def work() -> None:
        pool = a_pool(PoolLimits(max_in_flight=10))
        ticket = pool.ticket()
        async with asyncio.TaskGroup() as group:
            group.create_task(exchange(pool, ANSWERED, seconds=20))
            await asyncio.sleep(1)
            for _ in range(12):
                await exchange(pool, TOO_MANY, ticket)
                assert pool.held_for_s() > 0
                await asyncio.sleep(pool.held_for_s())
        await exchange(pool, TOO_MANY, ticket)
        assert pool.own_rejections(ticket) == 0

    run_virtual(work())


def test_after_ten_rejections_of_its_own_an_ask_is_given_up() -> None:  # F40
    async def work() -> None:
        pool = a_pool(PoolLimits(max_in_flight=10))
        budget = AskBudget(4, pool)
        for number in range(MAX_OWN_REJECTIONS + 1):
            await exchange(pool, TOO_MANY, budget.ticket)
            step = budget.decide(TOO_MANY)
            if number < MAX_OWN_REJECTIONS:
                assert isinstance(step, Retry)
                await exchange(pool, ANSWERED)
        assert step == Stop("rate limited 11 times, while others were answered", UnitOutcome.NOT_ATTEMPTED)
        assert not pool.closed

    run_virtual(work())


@pytest.mark.parametrize("others", ["answered", "rejected"])
def test_an_answer_forgets_the_rejections_before_it(others: str) -> None:
    async def work() -> int:
        pool = a_pool(PoolLimits(max_in_flight=10))
        ticket = pool.ticket()
        for _ in range(2):
            await exchange(pool, TOO_MANY, ticket)
            await exchange(pool, ANSWERED if others == "answered" else TOO_MANY)
        before = pool.own_rejections(ticket)
        await exchange(pool, ANSWERED, ticket)
        assert pool.own_rejections(ticket) == 0
        return before

    assert run_virtual(work()) == (1 if others == "answered" else 0)


def test_in_an_outage_answers_to_older_sends_do_not_count_as_connecting() -> None:
    """64 answers that arrive while nothing connects: each would let a flood out, and use up asks' sends."""

    async def work() -> None:
        pool = a_pool(PoolLimits(max_in_flight=64))
        refused = Fault(Outcome.CONNECTION, "refused")
        async with asyncio.TaskGroup() as group:
            for number in range(30):
                group.create_task(exchange(pool, ANSWERED, seconds=100 + number))
            await asyncio.sleep(1)
            for _ in range(3):
                await exchange(pool, refused)
            connects = pool.connects
        assert not pool.connected
        assert pool.connects == connects
        await exchange(pool, ANSWERED)
        assert pool.connected
        assert pool.connects == connects + 1

    run_virtual(work())


def test_a_single_refused_connection_is_no_outage() -> None:
    async def work() -> None:
        pool = a_pool(PoolLimits(max_in_flight=64))
        async with asyncio.TaskGroup() as group:
            group.create_task(exchange(pool, ANSWERED, seconds=10))
            await asyncio.sleep(1)
            await exchange(pool, Fault(Outcome.CONNECTION, "refused"))
            assert not pool.connected
        assert pool.connected

    run_virtual(work())
