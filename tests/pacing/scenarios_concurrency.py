"""How many at once: what a server can take is found, and kept."""

from __future__ import annotations

import asyncio
import random

from pacing.figures import Figure, percent, rate, rejected
from pacing.load import Asks, a_pool
from pacing.scenario import scenario
from pacing.server import OVERLOADED, UNTOLD, ModelServer, Slots, about, too_many

from harness.messages import RawReply
from harness.pools.limits import PoolLimits

PATIENT = PoolLimits(max_wait_s=600.0)


async def _capacity(
    at_once: int,
    latency_s: float,
    seconds: float,
    *,
    rejection: RawReply = UNTOLD,
    after_s: float = 60.0,
    best_low: float = 90.0,
) -> list[Figure]:
    server = ModelServer(latency=about(latency_s), limits=[Slots(lambda since: at_once)], rejection=rejection)
    asks = Asks(a_pool(PATIENT), server)
    found: list[float] = []

    async def watch() -> None:
        while not found and server.since < seconds:
            if server.in_flight >= 0.95 * at_once:
                found.append(server.since / latency_s)
            await asyncio.sleep(latency_s / 20)

    async with asyncio.TaskGroup() as group:
        group.create_task(watch())
        await asks.run(seconds=seconds)
    best = at_once / latency_s
    return [
        Figure("95 % of it in use after", found[0] if found else float("nan"), "answer times", high=12),
        Figure("rejected", percent(rejected(server), len(server.seen)), "% of the sends", high=5, digits=2),
        Figure(
            "speed from then on", percent(rate(server, after_s, seconds), best), "% of the best", best_low,
        ),
        Figure(
            "asks without an answer",
            sum(n for end, n in asks.ends().items() if end != "answered"), "", high=0,
        ),
    ]


@scenario("a server that takes 8 at once and rejects more without a word; from 16")
async def eight() -> list[Figure]:
    return await _capacity(8, 4.0, 1_200)


@scenario("the same with 64")
async def sixty_four() -> list[Figure]:
    return await _capacity(64, 20.0, 1_500, after_s=200)


@scenario("the same with 400")
async def four_hundred() -> list[Figure]:
    return await _capacity(400, 60.0, 1_800, after_s=600)


@scenario("64 at once, more is answered with 529")
async def overloaded() -> list[Figure]:
    return await _capacity(64, 20.0, 1_200, rejection=OVERLOADED, after_s=200)


@scenario("64 at once, more is told to wait 5 s")
async def told_five_seconds() -> list[Figure]:
    return await _capacity(64, 20.0, 1_200, rejection=too_many({"retry-after": "5"}), after_s=200)


@scenario("64 at once, 16 from minute 10 on, 64 again from minute 20 on")
async def capacity_changes() -> list[Figure]:
    def capacity(since: float) -> int:
        return 16 if 600 <= since < 1_200 else 64

    server = ModelServer(latency=about(10.0), limits=[Slots(capacity)])
    await Asks(a_pool(PATIENT), server).run(seconds=1_800)
    return [
        Figure("speed from minute 12 to 20", percent(rate(server, 720, 1_200), 1.6), "% of the best", 90),
        Figure("speed from minute 25 on", percent(rate(server, 1_500, 1_800), 6.4), "% of the best", 90),
    ]


@scenario("answers take 60 s, no limit")
async def slow() -> list[Figure]:
    server = ModelServer(latency=about(60.0, 0.3))
    asks = Asks(a_pool(PATIENT), server)
    await asks.run(seconds=1_500)
    return [
        Figure("most at once (ceiling 512)", server.most_in_flight, "", 512, 512),
        Figure("speed from minute 10 on", percent(rate(server, 600, 1_500), 512 / 60), "% of the best", 95),
        Figure("cuts", len(asks.cuts), "", high=0),
    ]


@scenario("a server that shares its power: answers take longer the more are asked, beyond 16 at once")
async def slower_with_load() -> list[Figure]:
    def latency(chance: random.Random, in_flight: int) -> float:
        return 2.0 * max(1.0, in_flight / 16) * chance.uniform(0.8, 1.2)

    server = ModelServer(latency=latency)
    asks = Asks(a_pool(PATIENT), server)
    await asks.run(seconds=600)
    return [
        Figure("speed after the first minute", percent(rate(server, 60, 600), 8.0), "% of the best", 90),
        Figure("longest answer", max(one.ended - one.at for one in server.seen), "s", high=600),
        Figure("cuts", len(asks.cuts), "", high=0),
    ]


@scenario("512 asked for (F35)")
async def as_many_as_asked() -> list[Figure]:
    server = ModelServer(latency=about(20.0, 0.2))
    await Asks(a_pool(PoolLimits(max_in_flight=512)), server).run(seconds=100)
    return [Figure("most at once", server.most_in_flight, "", 512, 512)]
