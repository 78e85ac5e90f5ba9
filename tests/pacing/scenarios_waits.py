"""Waits that a provider asks for, and pools beside them."""

from __future__ import annotations

import asyncio
import random
from email.utils import formatdate

from pacing.figures import Figure, least_within, percent, rate, rejected, requests
from pacing.load import Asks, a_pool
from pacing.scenario import scenario
from pacing.server import MIDNIGHT, Least, MinuteWindow, ModelServer, about, too_many

from harness.messages import RawReply
from harness.pools.limits import PoolLimits

HOUR = 3_600.0
ONE_A_SECOND = PoolLimits(requests_per_minute=60)


@scenario("every two minutes all requests of one second are rejected, 64 in flight")
async def bursts() -> list[Figure]:
    def trouble(since: float, chance: random.Random) -> RawReply | None:
        return too_many() if since >= 60 and since % 120 < 1.0 else None

    server = ModelServer(latency=about(8.0), trouble=trouble)
    asks = Asks(a_pool(PoolLimits(max_in_flight=64)), server)
    await asks.run(seconds=800)
    return [
        Figure("cuts a burst", len(asks.cuts) / 6, "", high=1, low=0.5),
        Figure("speed after the first minute", percent(rate(server, 60, 800), 8.0), "% of the best", 90),
        Figure("rejected", rejected(server), "", high=120),
    ]


def _spellings(since: float, wait_s: float) -> dict[str, RawReply]:
    until = MIDNIGHT + since + wait_s
    info = b'[{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "%ds"}]' % wait_s
    reset = "x-ratelimit-reset-requests"
    return {
        "seconds": too_many({"retry-after": f"{wait_s:.0f}"}),
        "date": too_many({"retry-after": formatdate(until + 1, usegmt=True)}),
        "milliseconds": too_many({"retry-after-ms": f"{1000 * wait_s:.0f}"}),
        "reset, duration": too_many({reset: f"{wait_s / 60:.0f}m0s", "x-ratelimit-remaining-requests": "0"}),
        "reset, epoch": too_many({reset: f"{until + 1:.0f}", "x-ratelimit-remaining-requests": "0"}),
        "RetryInfo": RawReply(429, {}, b'{"error": {"message": "slow down", "details": %s}}' % info),
        "message": too_many(words=f"Please try again in {wait_s / 60:.0f}m0s."),
    }


async def _silence(spelling: str, wait_s: float) -> tuple[float, float]:
    """Return how long a pool was silent after it was told to wait, and another one's least use meanwhile."""

    def trouble(since: float, chance: random.Random) -> RawReply | None:
        return _spellings(since, wait_s)[spelling] if 60 <= since < 61 else None

    server, other = ModelServer(trouble=trouble), ModelServer()
    async with asyncio.TaskGroup() as group:
        group.create_task(Asks(a_pool(ONE_A_SECOND), server).run(seconds=60 + wait_s + 30))
        group.create_task(Asks(a_pool(ONE_A_SECOND), other).run(seconds=240))
    told = min(one.ended for one in server.seen if one.status == 429)
    later = min(one.at for one in server.seen if one.at > told)
    return later - told, percent(least_within(requests(other.seen), 60, 60, 240), 60)


@scenario("told to wait 300 s, in seven spellings (F31)")
async def told_to_wait() -> list[Figure]:
    found = [await _silence(spelling, 300.0) for spelling in _spellings(0, 300.0)]
    return [
        Figure("shortest silence of the pool", min(silence for silence, _ in found), "s", 300),
        Figure("longest silence of the pool", max(silence for silence, _ in found), "s", high=303),
        Figure("least use of another pool's limit meanwhile", min(use for _, use in found), "%", 97),
    ]


async def _closes(rejection: RawReply, wait_s: float) -> list[Figure]:
    def trouble(since: float, chance: random.Random) -> RawReply | None:
        return rejection if since >= 60 else None

    server, other = ModelServer(trouble=trouble), ModelServer()
    pool = a_pool(PoolLimits(requests_per_minute=60))
    asks = Asks(pool, server)
    async with asyncio.TaskGroup() as group:
        group.create_task(asks.run(seconds=HOUR))
        group.create_task(Asks(a_pool(PoolLimits(requests_per_minute=60)), other).run(seconds=300))
    told = min(one.ended for one in server.seen if one.status == 429)
    status = pool.status()
    until = (status.closed_until_s or 0.0) + server.since - told
    return [
        Figure("pool closed after it was told", max(one.ended for one in asks.done) - told, "s", high=10),
        Figure("rejected", rejected(server), "", high=5),
        Figure("told until when, off by", abs(until - wait_s), "s", high=60),
        Figure(
            "least use of another pool's limit",
            percent(least_within(requests(other.seen), 60, 60, 300), 60), "%", 97,
        ),
    ]


@scenario("a limit of 60 a minute that is neither configured nor stated, rejections without a wait")
async def unstated_limit() -> list[Figure]:
    server = ModelServer(limits=[MinuteWindow(60)])
    asks = Asks(a_pool(PoolLimits()), server)
    await asks.run(seconds=1_800)
    good = requests(server.seen, good=True)
    return [
        Figure("used from minute 5 on", percent(sum(300 <= at < 1_800 for at, _ in good), 1_500), "%", 75),
        Figure("rejected", percent(rejected(server), len(server.seen)), "% of the sends", high=30),
        Figure("asks without an answer", len(asks.done) - asks.ends()["answered"], "", high=0),
    ]


@scenario("one request is always rejected as too many, 64 others in flight (F40)")
async def one_rejected_for_ever() -> list[Figure]:
    server = ModelServer(latency=about(8.0), limits=[Least()])
    asks = Asks(
        a_pool(PoolLimits(max_in_flight=64)), server, true=lambda number, chance: (int(number == 100), 0)
    )
    await asks.run(seconds=800)
    sends = max(one.sends for one in asks.done)
    return [
        Figure("speed after the first minute", percent(rate(server, 60, 800), 8.0), "% of the best", 70),
        Figure("sends of that request", sends, "", high=25),
        Figure("other asks without an answer", len(asks.done) - asks.ends()["answered"] - 1, "", high=0),
    ]


@scenario("told to wait six hours, --max-wait 600 (F51)")
async def told_six_hours() -> list[Figure]:
    return await _closes(too_many({"retry-after": "21600"}), 6 * HOUR)


@scenario("a daily limit that is reset at midnight, told as an epoch, --max-wait 600 (F51)")
async def daily_reset() -> list[Figure]:
    midnight = f"{MIDNIGHT + 24 * HOUR:.0f}"
    headers = {"x-ratelimit-reset-requests": midnight, "x-ratelimit-remaining-requests": "0"}
    return await _closes(too_many(headers), 24 * HOUR - 60)


@scenario("one of ten pools is told to wait again and again (F30, F43)")
async def one_of_ten() -> list[Figure]:
    def trouble(since: float, chance: random.Random) -> RawReply | None:
        return too_many({"retry-after": "100"}) if since % 120 >= 10 else None

    servers = [ModelServer(trouble=trouble), *(ModelServer(seed=seed) for seed in range(2, 11))]
    pools = [a_pool(PoolLimits(requests_per_minute=60), seed=seed) for seed in range(10)]
    why: list[bool] = []

    async def watch() -> None:
        while servers[0].since < 300:
            await asyncio.sleep(1)
            status = pools[0].status()
            if status.in_flight == 0:
                why.append(status.held_until_s is not None and status.held_why == "rate limited")

    async with asyncio.TaskGroup() as group:
        group.create_task(watch())
        for pool, server in zip(pools, servers, strict=True):
            group.create_task(Asks(pool, server).run(seconds=300))
    uses = [percent(least_within(requests(server.seen), 60, 60, 300), 60) for server in servers[1:]]
    return [
        Figure("least use of the other nine's limits", min(uses), "%", 97),
        Figure("seconds of silence with its reason in the status", percent(sum(why), len(why)), "%", 95),
    ]
