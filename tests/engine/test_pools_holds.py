"""Pool-wide waits, closing, and probing while nothing connects."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from fake_clock import FakeClock

from harness.errors import PoolClosedError
from harness.messages import Fault, Reply
from harness.outcomes import ExchangeOutcome as Outcome
from harness.pools.limits import PoolLimits
from harness.pools.pool import Pool
from harness.retry import AskBudget, Retry, Stop

ANSWERED = Reply(Outcome.ANSWERED, text="yes")
REFUSED = Fault(Outcome.CONNECTION, "connection refused")


def a_pool(clock: FakeClock, limits: PoolLimits | None = None) -> Pool:
    return Pool(
        "p", limits or PoolLimits(max_in_flight=8), clock=clock.time, sleep=clock.sleep,
        random=lambda low, high: high, wall=lambda: 1_800_000_000.0,
    )


def rate_limited(wait_s: float | None = None) -> Fault:
    return Fault(Outcome.RATE_LIMITED, "slow down", wait_s=wait_s)


class Server:
    """Answers by a rule of the moment, and logs when each send arrived."""

    def __init__(self, clock: FakeClock, pool: Pool, seconds: float = 0.0) -> None:
        self.clock, self.pool, self.seconds = clock, pool, seconds
        self.arrivals: list[float] = []
        self.in_flight = self.most = 0

    def answer(self) -> Reply | Fault:
        return ANSWERED

    async def ask(self, max_sends: int = 4) -> Reply | Stop:
        budget = AskBudget(max_sends, self.pool)
        while True:
            async with self.pool.admit(0, 0, ticket=budget.ticket) as slot:
                self.arrivals.append(self.clock.time())
                self.in_flight += 1
                self.most = max(self.most, self.in_flight)
                await self.clock.sleep(self.seconds)
                self.in_flight -= 1
                result = self.answer()
                self.pool.report(result, slot)
            if isinstance(result, Reply):
                return result
            decision = budget.decide(result)
            if isinstance(decision, Stop):
                return decision
            await self.pool.back_off(decision.wait_s, decision.reason)


async def ask_many(server: Server, count: int) -> list[Reply | Stop | BaseException]:
    return await asyncio.gather(*(server.ask() for _ in range(count)), return_exceptions=True)


async def test_a_pool_with_nothing_left_is_held_until_there_is_more() -> None:  # F31
    clock = FakeClock()
    pool, other = a_pool(clock), a_pool(clock)
    server, free = Server(clock, pool), Server(clock, other)
    begin = clock.time()
    pool.nothing_left(42.0)
    pool.nothing_left(7.0)  # a shorter one does not shorten it
    await asyncio.gather(ask_many(server, 3), ask_many(free, 3))
    assert [round(at - begin) for at in (*server.arrivals, *free.arrivals)] == [42, 42, 42, 0, 0, 0]
    assert not pool.closed


async def test_an_announced_hold_is_no_trouble_and_no_longer_than_a_wait_may_be() -> None:  # F51
    clock = FakeClock()
    pool = a_pool(clock, PoolLimits(max_in_flight=8, max_wait_s=600.0))
    server = Server(clock, pool)
    begin = clock.time()
    pool.nothing_left(601.0)
    assert pool.held_for_s() == 0.0 and not pool.closed
    pool.nothing_left(500.0)
    server.answer = lambda: rate_limited(400.0) if len(server.arrivals) == 1 else ANSWERED  # type: ignore[method-assign]
    assert isinstance(await server.ask(), Reply)
    assert [round(at - begin) for at in server.arrivals] == [500, 900]


@pytest.mark.parametrize("wait_s", [0.174, 7.0, 300.0])
async def test_a_told_wait_holds_the_whole_pool_in_full_and_no_other(wait_s: float) -> None:  # F31
    clock = FakeClock()
    pool, other = a_pool(clock), a_pool(clock)
    server, free = Server(clock, pool, 0.01), Server(clock, other, 0.01)
    begin = clock.time()
    limited = False

    def answer() -> Reply | Fault:
        nonlocal limited
        if not limited:
            limited = True
            return rate_limited(wait_s)
        return ANSWERED

    server.answer = answer  # type: ignore[method-assign]
    answers, others = await asyncio.gather(ask_many(server, 50), ask_many(free, 50))
    assert all(isinstance(result, Reply) for result in [*answers, *others])
    told_at = begin + 0.01
    first_eight, rest = server.arrivals[:8], server.arrivals[8:]
    assert first_eight == [begin] * 8
    assert min(rest) >= told_at + wait_s
    assert min(rest) <= told_at + wait_s + 0.01
    assert max(free.arrivals) <= begin + 0.1
    assert len(server.arrivals) == 51


async def test_a_hold_and_its_reason_are_visible() -> None:  # F43
    clock = FakeClock()
    pool = a_pool(clock)
    pool.report(rate_limited(7))
    clock.advance(2)
    status = pool.status()
    assert (status.held_until_s, status.held_why) == (5, "rate limited")
    assert dict(status.failures) == {Outcome.RATE_LIMITED: 1}
    clock.advance(5)
    assert (pool.status().held_until_s, pool.status().held_why) == (None, None)


async def test_a_shorter_wait_told_later_does_not_shorten_the_hold() -> None:
    clock = FakeClock()
    pool = a_pool(clock)
    pool.report(rate_limited(30))
    pool.report(rate_limited(1))
    assert pool.held_for_s() == 30


async def test_unavailable_with_a_told_wait_holds_the_pool_too() -> None:  # F31
    clock = FakeClock()
    pool = a_pool(clock)
    pool.report(Fault(Outcome.UNAVAILABLE, "maintenance", wait_s=120))
    assert pool.held_for_s() == 120


async def test_without_a_told_wait_holds_grow_with_each_burst_up_to_a_minute() -> None:
    clock = FakeClock()
    pool = a_pool(clock)
    holds = []
    for _ in range(8):
        pool.report(rate_limited())
        pool.report(rate_limited())
        holds.append(pool.held_for_s())
        clock.advance(pool.held_for_s())
    assert holds == [2, 4, 8, 16, 32, 60, 60, 60]
    pool.report(ANSWERED)
    pool.report(rate_limited())
    assert pool.held_for_s() == 2


async def test_a_server_that_says_at_once_for_ever_is_not_hammered() -> None:
    clock = FakeClock()
    pool = a_pool(clock)
    server = Server(clock, pool)
    server.answer = lambda: rate_limited(0.0)  # type: ignore[method-assign]
    results = await ask_many(server, 8)
    assert all(isinstance(result, PoolClosedError | Stop) for result in results)
    assert len(server.arrivals) <= 8 * 25


async def test_rate_limits_do_not_count_against_max_sends() -> None:
    clock = FakeClock()
    pool = a_pool(clock)
    server = Server(clock, pool)
    script = [rate_limited(1) for _ in range(9)]
    server.answer = lambda: script.pop() if script else ANSWERED  # type: ignore[method-assign]
    assert await server.ask(max_sends=1) == ANSWERED
    assert len(server.arrivals) == 10


async def test_a_wait_longer_than_max_wait_closes_the_pool_with_until_when() -> None:  # F51
    clock = FakeClock()
    pool, other = a_pool(clock), a_pool(clock)
    server, free = Server(clock, pool, 1.0), Server(clock, other, 1.0)
    server.answer = lambda: rate_limited(6 * 3600)  # type: ignore[method-assign]
    begin = clock.time()
    results, others = await asyncio.gather(ask_many(server, 50), ask_many(free, 50))
    assert clock.time() - begin <= 10
    closed = [result for result in results if isinstance(result, PoolClosedError)]
    assert len(closed) == 42
    assert closed[0].until_s == 6 * 3600
    assert "until 2027-01-15 14:00:00 UTC (in 6:00:00)" in str(closed[0])
    assert all(isinstance(result, Reply) for result in others)
    assert len(server.arrivals) == 8
    status = pool.status()
    assert status.closed is not None
    assert "21600 s" in status.closed


async def test_max_wait_without_a_success_closes_the_pool() -> None:  # F51
    clock = FakeClock()
    pool = a_pool(clock)
    server = Server(clock, pool)
    server.answer = lambda: rate_limited()  # type: ignore[method-assign]
    begin = clock.time()
    results = await ask_many(server, 20)
    assert 600 <= clock.time() - begin <= 601
    assert all(isinstance(result, PoolClosedError | Stop) for result in results)
    assert "no success for 600 s because of rate limited" in str(pool.status().closed)


async def test_a_success_now_and_then_keeps_the_pool_open() -> None:
    clock = FakeClock()
    pool = a_pool(clock, PoolLimits(max_in_flight=1))
    for _ in range(20):
        pool.report(rate_limited(400))
        clock.advance(400)
        pool.report(ANSWERED)
    assert not pool.closed
    assert pool.status().ok == 20


async def test_told_waits_that_add_up_beyond_max_wait_close_the_pool_before_they_are_slept() -> None:
    clock = FakeClock()
    pool = a_pool(clock)
    pool.report(rate_limited(400))
    clock.advance(400)
    pool.report(rate_limited(400))
    assert pool.closed
    assert pool.status().closed_until_s == 400


@pytest.mark.parametrize(("wait_s", "shown"), [(0.05, "0.05 s"), (0.5, "0.5 s"), (7.4, "7 s")])
async def test_a_short_wait_is_not_called_none(wait_s: float, shown: str) -> None:
    clock = FakeClock()
    pool = a_pool(clock)
    pool.report(rate_limited(1))
    clock.advance(599.99)
    pool.report(rate_limited(wait_s))
    assert f"the provider says to wait {shown}, after 600 s" in str(pool.status().closed)


@pytest.mark.parametrize("outcome", [Outcome.QUOTA_EXHAUSTED, Outcome.AUTH, Outcome.MODEL_NOT_FOUND])
async def test_what_no_send_can_escape_closes_the_pool_after_one_call(outcome: Outcome) -> None:  # F22
    clock = FakeClock()
    pool = a_pool(clock, PoolLimits(max_in_flight=1))
    server = Server(clock, pool, 1.0)
    server.answer = lambda: Fault(outcome, "no more credit", wait_s=30)  # type: ignore[method-assign]
    results = await ask_many(server, 5)
    assert len(server.arrivals) == 1
    assert isinstance(results[0], Stop)
    assert all(isinstance(result, PoolClosedError) for result in results[1:])
    assert "no more credit" in str(results[1])
    assert pool.status().closed_until_s is None


async def test_closing_wakes_all_who_wait_or_back_off_at_once() -> None:
    clock = FakeClock()
    pool = a_pool(clock, PoolLimits(requests_per_minute=1, max_in_flight=1))
    begin = clock.time()

    async def admitted() -> None:
        async with pool.admit(0, 0):
            pass

    tasks = [asyncio.ensure_future(admitted()) for _ in range(20)]
    tasks += [asyncio.ensure_future(pool.back_off(500)) for _ in range(20)]
    await clock.sleep(5)
    pool.close("told to", until_s=60)
    pool.close("a second reason")
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert clock.time() - begin == 5
    assert sum(isinstance(result, PoolClosedError) for result in results) == 39
    assert pool.status().closed == "told to"
    with pytest.raises(PoolClosedError, match="told to"):
        await pool.back_off(1)


async def test_while_nothing_connects_one_send_at_a_time_probes_and_none_is_lost() -> None:
    clock = FakeClock()
    pool = a_pool(clock, PoolLimits(max_in_flight=64))
    server = Server(clock, pool, 0.5)
    up_at = clock.time() + 300
    server.answer = lambda: ANSWERED if clock.time() >= up_at else REFUSED  # type: ignore[method-assign]
    results = await ask_many(server, 200)
    assert all(isinstance(result, Reply) for result in results)
    probes = [moment for moment in server.arrivals[64:] if moment < up_at - 1]
    assert all(after - before >= 0.5 for before, after in pairwise(probes))
    assert 5 <= len(probes) <= 20
    assert max(server.arrivals) <= up_at + 65


async def test_probing_shows_in_the_status_and_ends_with_any_answer() -> None:
    clock = FakeClock()
    pool = a_pool(clock)
    pool.report(REFUSED)
    assert (pool.connected, pool.status().limit) == (False, 1)
    pool.report(Fault(Outcome.UNAVAILABLE, "503"))
    assert (pool.connected, pool.connects) == (True, 1)


async def test_a_probe_is_let_in_although_older_sends_still_hang() -> None:
    clock = FakeClock()
    pool = a_pool(clock)
    async with pool.admit(0, 0):
        pool.report(REFUSED)
        async with pool.admit(0, 0):
            other = asyncio.ensure_future(pool.admit(0, 0).__aenter__())
            await clock.sleep(100)
            assert pool.status().waiting == 1
        await other


async def test_one_refused_connection_among_many_sends_holds_nobody() -> None:
    clock = FakeClock()
    pool = a_pool(clock)
    server = Server(clock, pool, 1.0)
    count = 0

    def answer() -> Reply | Fault:
        nonlocal count
        count += 1
        return REFUSED if count % 50 == 20 else ANSWERED

    server.answer = answer  # type: ignore[method-assign]
    begin = clock.time()
    results = await ask_many(server, 400)
    assert all(isinstance(result, Reply) for result in results)
    assert clock.time() - begin <= 60


async def test_a_server_that_never_comes_up_closes_the_pool_after_max_wait() -> None:
    clock = FakeClock()
    pool = a_pool(clock)
    server = Server(clock, pool)
    server.answer = lambda: REFUSED  # type: ignore[method-assign]
    begin = clock.time()
    results = await ask_many(server, 20)
    assert 600 <= clock.time() - begin <= 601
    assert all(isinstance(result, PoolClosedError | Stop) for result in results)
    assert "connection failures" in str(pool.status().closed)


async def test_connection_trouble_is_over_once_anything_connects() -> None:
    clock = FakeClock()
    pool = a_pool(clock)
    pool.report(REFUSED)
    clock.advance(500)
    pool.report(Fault(Outcome.UNAVAILABLE, "503"))
    clock.advance(500)
    pool.report(REFUSED)
    assert not pool.closed


async def test_one_poisoned_ask_ends_by_its_own_budget_while_others_connect() -> None:  # F40
    clock = FakeClock()
    pool = a_pool(clock)
    good = Server(clock, pool, 0.5)
    poisoned = Server(clock, pool)
    poisoned.answer = lambda: REFUSED  # type: ignore[method-assign]
    result, others = await asyncio.gather(poisoned.ask(), ask_many(good, 1_000))
    assert isinstance(result, Stop)
    assert len(poisoned.arrivals) <= 5  # the first failed before anything had connected
    assert all(isinstance(other, Reply) for other in others)


async def test_exactly_max_sends_reach_a_server_that_is_always_unavailable() -> None:  # F20
    clock = FakeClock()
    pool = a_pool(clock)
    server = Server(clock, pool)
    server.answer = lambda: Fault(Outcome.UNAVAILABLE, "503")  # type: ignore[method-assign]
    assert isinstance(await server.ask(max_sends=3), Stop)
    assert len(server.arrivals) == pool.status().sends == 3


async def test_retries_run_beside_the_first_pass() -> None:  # F42
    clock = FakeClock()
    pool = a_pool(clock, PoolLimits(max_in_flight=4))
    server = Server(clock, pool, 1.0)
    count = 0

    def answer() -> Reply | Fault:
        nonlocal count
        count += 1
        return Fault(Outcome.UNAVAILABLE, "503") if count <= 4 else ANSWERED

    server.answer = answer  # type: ignore[method-assign]
    finished: list[int] = []

    async def one(number: int) -> None:
        await server.ask()
        finished.append(number)

    async with asyncio.TaskGroup() as group:
        for number in range(200):
            group.create_task(one(number))
    assert max(finished.index(number) for number in range(4)) < 40


def test_a_retry_is_told_how_long_the_pool_is_held() -> None:
    clock = FakeClock()
    pool = a_pool(clock)
    budget = AskBudget(4, pool)
    pool.report(rate_limited())
    assert budget.decide(rate_limited()) == Retry(2, "rate limited")
