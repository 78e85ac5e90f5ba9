"""Errors, outages, retries, and pools that depend on each other."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

from pacing.figures import Figure, least_within, percent, rate, requests
from pacing.load import Asks, a_pool
from pacing.scenario import scenario
from pacing.server import BROKEN, REFUSED, ModelServer, about

from harness.messages import Fault, RawReply
from harness.pools.limits import PoolLimits
from harness.window import Window

AT_ONCE = 64
LATENCY_S = 8.0
BEST = AT_ONCE / LATENCY_S


async def _errors(share: float) -> tuple[ModelServer, Asks]:
    def trouble(since: float, chance: random.Random) -> RawReply | None:
        return BROKEN if chance.random() < share else None

    server = ModelServer(latency=about(LATENCY_S), trouble=trouble)
    asks = Asks(a_pool(PoolLimits(max_in_flight=AT_ONCE)), server)
    await asks.run(seconds=600)
    return server, asks


async def _error_figures(share: float, speed: float) -> list[Figure]:
    server, asks = await _errors(share)
    lost = percent(len(asks.done) - asks.ends()["answered"], len(asks.done))
    return [
        Figure("speed", percent(rate(server, 60, 600), BEST * (1 - share)), "% of the best", speed),
        Figure("asks lost after four sends", lost, "%", high=percent(share**4, 1) + 0.5, digits=2),
        Figure(
            "longest wait of a retry in the queue", max(one.queued for one in asks.done), "s", high=LATENCY_S,
        ),
        Figure("longest ask, from its first send to its end", _longest(asks), "s", high=120),
    ]


def _longest(asks: Asks) -> float:
    return max(one.ended - one.first_sent for one in asks.done if one.sends)


@scenario("1 % of requests fail, 64 in flight")
async def one_percent() -> list[Figure]:
    return await _error_figures(0.01, 95)


@scenario("20 % fail, whatever is asked (F42)")
async def twenty_percent() -> list[Figure]:
    return await _error_figures(0.2, 80)


@scenario("30 % fail, whatever is asked (F42)")
async def thirty_percent() -> list[Figure]:
    return await _error_figures(0.3, 75)


@scenario("20 % fail, in flight adapting from 16, answers take 30 s")
async def twenty_percent_adapting() -> list[Figure]:
    def trouble(since: float, chance: random.Random) -> RawReply | None:
        return BROKEN if chance.random() < 0.2 else None

    server = ModelServer(latency=about(30.0), trouble=trouble)
    await Asks(a_pool(PoolLimits()), server).run(seconds=1_200)
    return [Figure("most at once (ceiling 512)", server.most_in_flight, "", 250)]


@scenario("a server that breaks (500s) under more than 32 at once; from 16")
async def breaks_under_load() -> list[Figure]:
    server: ModelServer

    def trouble(since: float, chance: random.Random) -> RawReply | None:
        return BROKEN if server.in_flight >= 32 else None

    server = ModelServer(latency=about(LATENCY_S), trouble=trouble)
    asks = Asks(a_pool(PoolLimits()), server)
    await asks.run(seconds=900)
    return [
        Figure(
            "speed after the third minute",
            percent(rate(server, 180, 900), 32 / LATENCY_S), "% of the best", 75,
        ),
        Figure(
            "asks lost after four sends",
            percent(len(asks.done) - asks.ends()["answered"], len(asks.done)), "%", high=2, digits=2,
        ),
    ]


async def _outage(kind: Fault | RawReply, lost: float) -> list[Figure]:
    begin, end = 200.0, 500.0

    def trouble(since: float, chance: random.Random) -> Fault | RawReply | None:
        return kind if begin <= since < end else None

    server = ModelServer(latency=about(LATENCY_S), trouble=trouble)
    asks = Asks(a_pool(PoolLimits(max_in_flight=AT_ONCE)), server)
    await asks.run(seconds=800)
    full = next((t for t in range(200) if rate(server, end + t, end + t + 20) >= 0.9 * BEST), float("nan"))
    return [
        Figure("sends in the outage", sum(begin <= one.at < end for one in server.seen), "", high=600),
        Figure("asks lost", len(asks.done) - asks.ends()["answered"], "", high=lost),
        Figure("full speed again after", full, "s", high=90),
    ]


@scenario("nothing connects for 5 minutes, 64 in flight")
async def refused() -> list[Figure]:
    return await _outage(REFUSED, 1)


@scenario("everything is answered with 503 for 5 minutes, 64 in flight")
async def broken() -> list[Figure]:
    return await _outage(BROKEN, 150)


@scenario("600 a minute with 20 % errors: retries and first sends side by side (F42)")
async def side_by_side() -> list[Figure]:
    def trouble(since: float, chance: random.Random) -> RawReply | None:
        return BROKEN if chance.random() < 0.2 else None

    server = ModelServer(trouble=trouble)
    asks = Asks(a_pool(PoolLimits(requests_per_minute=600)), server)
    await asks.run(seconds=300)
    first = [(one.first_sent, 1.0) for one in asks.done if one.sends]
    return [
        Figure(
            "least used in a minute after the second",
            percent(least_within(requests(server.seen), 60, 120, 300), 600), "%", 97,
        ),
        Figure("least first sends in 10 s (80 are even)", least_within(first, 10, 60, 280), "", 60),
        Figure("longest wait of a retry in the queue", max(one.queued for one in asks.done), "s", high=2),
        Figure("longest ask, from its first send to its end", _longest(asks), "s", high=60),
    ]


async def _reformatted(share: float, count: int = 1_500) -> float:
    """Return the time of a run, as a share of what the slower of the two pools needs at least."""
    model = Asks(a_pool(PoolLimits(max_in_flight=AT_ONCE)), ModelServer(latency=about(LATENCY_S)))
    other = Asks(a_pool(PoolLimits(requests_per_minute=60)), ModelServer(seed=2))
    chance = random.Random(11)
    elsewhere = 0

    async def unit(number: int) -> None:
        nonlocal elsewhere
        await model.ask(number)
        if chance.random() < share:
            elsewhere += 1
            await other.ask(number)
            elsewhere -= 1

    async with Window(model.pool.status, lambda: elsewhere) as window:
        for number in range(count):
            await window.start(unit(number))
    least = max(count / BEST, len(other.done) / 60 * 60)
    return percent(model.server.since, least)


@scenario("a reformatter of 60 a minute behind a model that answers 480")
async def slow_reformatter() -> list[Figure]:
    few, many = await _reformatted(0.1), await _reformatted(0.4)
    return [
        Figure("10 % need it: run takes", few, "% of the model's own time", high=125),
        Figure("40 % need it: run takes", many, "% of the reformatter's own time", high=110),
    ]


@scenario("two models share one pool of 600 a minute")
async def shared_pool() -> list[Figure]:
    pool = a_pool(PoolLimits(requests_per_minute=600))
    one, two = Asks(pool, ModelServer()), Asks(pool, ModelServer(seed=2, latency=about(6.0)), seed=4)
    async with asyncio.TaskGroup() as group:
        group.create_task(one.run(seconds=240))
        group.create_task(two.run(seconds=240))
    counts: Counter[int] = Counter()
    for number, asks in enumerate((one, two)):
        counts[number] = sum(60 <= seen.at < 240 for seen in asks.server.seen)
    share = percent(counts[1], counts.total())
    return [Figure("share of the one whose answers take 6 s, not 2 s", share, "%", 40, 60)]
