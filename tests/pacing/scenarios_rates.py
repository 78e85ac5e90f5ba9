"""Limits a minute: of requests and of tokens, configured, learned and changed."""

from __future__ import annotations

import asyncio
import random

from pacing.figures import Figure, least_within, most_within, percent, rejected, requests, tokens
from pacing.load import Asks, Tokens, a_pool
from pacing.scenario import scenario
from pacing.server import MIDNIGHT, MinuteWindow, ModelServer, Refill, about

from harness.pools.limits import PoolLimits

RPM = 600.0
TOKENS = 100_000.0


def _wrong_by_two(true: Tokens, chance: random.Random, centre: float) -> Tokens:
    """Return an estimate that is off by up to two either way around `centre` times the truth."""
    off = centre * 2.0 ** chance.uniform(-1.0, 1.0)
    return int(true[0] * off), int(true[1] * off)


def _some_tokens(number: int, chance: random.Random) -> Tokens:
    return int(chance.uniform(500, 1_500)), int(chance.uniform(100, 300))


@scenario("600 requests a minute, counted in a sliding window, 10 minutes")
async def six_hundred() -> list[Figure]:
    server = ModelServer(limits=[MinuteWindow(RPM)])
    await Asks(a_pool(PoolLimits(requests_per_minute=RPM)), server).run(seconds=600)
    sent = requests(server.seen)
    return [
        Figure(
            "least used in a minute after the first", percent(least_within(sent, 60, 60, 600), RPM), "%", 97,
        ),
        Figure("most in any 60 s", most_within(sent, 60), "", high=RPM),
        Figure("most in any second (10 is even)", most_within(sent, 1), "", high=20),
        Figure("rejected", rejected(server), "", high=0),
    ]


@scenario("600 a minute, counted by a bucket that holds one second, with 10 idle minutes between")
async def strict_bucket() -> list[Figure]:
    server = ModelServer(limits=[Refill(RPM, 10)])
    pool = a_pool(PoolLimits(requests_per_minute=RPM))
    await Asks(pool, server).run(count=1_000)
    await asyncio.sleep(600)
    began = server.since
    await Asks(pool, server).run(count=1_000)
    burst = [one for one in requests(server.seen) if one[0] >= began]
    return [
        Figure("most in the first second after idling", most_within(burst[:40], 1), "", high=20),
        Figure("rejected", rejected(server), "", high=0),
    ]


async def _token_figures(
    of: int, centre: float, *, latency_s: float = 30.0, cancelled: float = 0.0
) -> list[Figure]:
    limit = TOKENS if of == 0 else TOKENS / 5
    limits = PoolLimits(
        input_tokens_per_minute=limit if of == 0 else None, output_tokens_per_minute=limit if of else None
    )
    server = ModelServer(latency=about(latency_s))
    chance = random.Random(5)
    asks = Asks(
        a_pool(limits), server, true=_some_tokens, cancelled=cancelled,
        estimated=lambda true: _wrong_by_two(true, chance, centre),
    )
    await asks.run(seconds=900)
    used = tokens(server.seen, of)
    after = sum(amount for at, amount in used if 180 <= at < 900)
    return [
        Figure("used after the third minute", percent(after * 60 / 720, limit), "%", 80),
        Figure(
            "most in any 60 s, by arrival", percent(most_within(used, 60), limit), "% of the limit", high=100,
        ),
        Figure(
            "most in any 60 s, by the answers' ends",
            percent(most_within(tokens(server.seen, of, ended=True), 60), limit), "% of the limit", high=115,
        ),
    ]


@scenario("100,000 input tokens a minute, estimates off by 2 either way, answers take 30 s")
async def tokens_off_either_way() -> list[Figure]:
    return await _token_figures(0, 1.0)


@scenario("the same, estimates on the whole 2 times too high")
async def tokens_too_high() -> list[Figure]:
    return await _token_figures(0, 2.0)


@scenario("the same, estimates on the whole 2 times too low")
async def tokens_too_low() -> list[Figure]:
    return await _token_figures(0, 0.5)


@scenario("20,000 output tokens a minute, estimates 10 times too high, a tenth of the sends cancelled")
async def output_tokens() -> list[Figure]:
    return await _token_figures(1, 10.0, latency_s=20.0, cancelled=0.1)


@scenario("every 50th request larger than a whole minute's tokens (F41)")
async def oversize() -> list[Figure]:
    def true(number: int, chance: random.Random) -> Tokens:
        return (25_000, 0) if number % 50 == 25 else (500, 0)

    server = ModelServer()
    asks = Asks(a_pool(PoolLimits(input_tokens_per_minute=20_000)), server, true=true)
    await asks.run(count=200)
    large = [one.at for one in server.seen if one.tokens[0] == 25_000]
    gaps = [abs(one.at - at) for at in large for one in server.seen if one.at != at]
    best = 4 * 120 + 196 * 500 / 20_000 * 60  # a minute before and after each, and the others at full pace
    return [
        Figure("large requests answered", len(large), "of 4", 4, 4),
        Figure("nearest other request", min(gaps), "s", 60),
        Figure("all 200 answered after", percent(server.since, best), "% of the least time", high=115),
    ]


def _limit_header(limit: float) -> dict[str, str]:
    return {"x-ratelimit-limit-requests": f"{limit:.0f}"}


async def _learned(configured: float | None, stated: float) -> ModelServer:
    server = ModelServer(headers=lambda since: _limit_header(stated))
    await Asks(a_pool(PoolLimits(requests_per_minute=configured)), server).run(seconds=240)
    return server


@scenario("limits learned from headers")
async def learned() -> list[Figure]:
    lower, higher, only = await _learned(600, 300), await _learned(300, 600), await _learned(None, 300)
    return [
        Figure(
            "600 configured, 300 stated: most in any 60 s",
            most_within(requests(lower.seen), 60), "", high=300,
        ),
        Figure(
            "300 configured, 600 stated: most in any 60 s",
            most_within(requests(higher.seen), 60), "", high=300,
        ),
        Figure(
            "none configured, 300 stated: most in any 60 s",
            most_within(requests(only.seen), 60), "", high=300,
        ),
        Figure(
            "the same: least used in a minute",
            percent(least_within(requests(only.seen), 60, 60, 240), 300), "%", 97,
        ),
    ]


@scenario("600 stated, 200 from minute 3 on, 600 again from minute 6 on")
async def changed() -> list[Figure]:
    def limit(since: float) -> float:
        return 200.0 if 180 <= since < 360 else 600.0

    server = ModelServer(headers=lambda since: _limit_header(limit(since)))
    await Asks(a_pool(PoolLimits(requests_per_minute=600)), server).run(seconds=540)
    heard = 190.0
    low = [one for one in requests(server.seen) if heard <= one[0] < 360]
    high = least_within(requests(server.seen), 60, 420, 540)
    return [
        Figure("most in any 60 s while it is 200", most_within(low, 60), "", high=200),
        Figure("used of 600 from minute 7 on", percent(high, 600), "%", 97),
    ]


@scenario("the wall clock set back a day, then forward two, during 600 a minute")
async def clock_jumps() -> list[Figure]:
    server = ModelServer(limits=[MinuteWindow(RPM)])

    def wall() -> float:
        days = 0 if server.since < 90 else -1 if server.since < 150 else 1
        return MIDNIGHT + server.since + days * 86_400

    await Asks(a_pool(PoolLimits(requests_per_minute=RPM), wall=wall), server).run(seconds=240)
    sent = requests(server.seen)
    return [
        Figure(
            "least used in a minute after the first", percent(least_within(sent, 60, 60, 240), RPM), "%", 97,
        ),
        Figure("most in any 60 s", most_within(sent, 60), "", high=RPM),
    ]


