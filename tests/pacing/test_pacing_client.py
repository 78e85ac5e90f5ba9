"""The real client in virtual time: what the simulations leave out of it changes no figure."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from random import Random

import pytest
from pacing.figures import least_within, most_within, requests
from pacing.load import Asks, a_pool
from pacing.server import BROKEN, MinuteWindow, ModelServer
from virtual_loop import run_virtual

from harness.budget import Budget, MaxCost
from harness.cache.rows import Exchange, NewExchange, UnitId
from harness.client import Ask, Client
from harness.identity import Built
from harness.messages import Fault, Message, RawReply, Reply, Request, TextPart
from harness.pools.limits import PoolLimits
from harness.pools.pool import Pool
from harness.providers.limit_headers import LearnedLimits
from harness.settings import Model
from harness.window import Window


@dataclass
class MemoryStore:
    """Stands in for `Store`, whose threads know no virtual time: claims and counts, nothing is served."""

    claimed: set[str] = field(default_factory=set)
    stored: int = 0

    async def served(self, keys: Collection[str]) -> Mapping[str, Exchange]:
        return {}

    async def claim(self, key: str, *, unless_served_after: int = 0) -> bool:
        self.claimed.add(key)
        return True

    async def still_claimed(self, key: str) -> bool:
        return key in self.claimed

    async def release(self, key: str) -> None:
        self.claimed.discard(key)

    async def append(self, exchange: NewExchange, **how: object) -> int:
        self.stored += 1
        if how["release"]:
            self.claimed.discard(exchange.key)
        return self.stored


@dataclass
class SimulatedSender:
    """Stands in for `Sender`: hands requests to a simulated server."""

    server: ModelServer
    learned: LearnedLimits = field(default_factory=LearnedLimits)

    async def send(
        self, model: Model, request: Request, built: Built, *, pool: str
    ) -> tuple[NewExchange, Reply | Fault]:
        meaning, self.learned = await self.server.send((10, 10))
        exchange = NewExchange(
            key=built.key, twin=built.twin, pool=pool, purpose=request.purpose, attempt=1, repeat=1,
            provider="lab", endpoint=built.endpoint, model=model.model, adapter="openai",
            wire_revision=built.wire_revision, request=b"{}", raw=RawReply(200, {}, b"{}"),
            outcome=meaning.outcome, started_at_us=1, total_s=1.0, usage=meaning.usage,
        )
        return exchange, meaning

    def limits(self, exchange: NewExchange, model: Model) -> LearnedLimits:
        return self.learned


def _some_break(since: float, chance: Random) -> RawReply | None:
    return BROKEN if chance.random() < 0.05 else None


async def _by_client(pool: Pool, server: ModelServer, seconds: float) -> int:
    """Ask through the client for so long; return how many asks were answered."""
    model = Model(name="m", model="m", provider=server.provider)
    store = MemoryStore()
    client = Client(
        store, SimulatedSender(server), {"m": pool}, session=1, budget=Budget(MaxCost()),  # type: ignore[arg-type]
    )
    answered = 0

    async def unit(number: int) -> None:
        nonlocal answered
        request = Request((Message("user", (TextPart(str(number)),)),))
        asked = await client.ask(Ask(request, model, (1, UnitId("m", "both", str(number)))))
        answered += asked.reply is not None

    number = 0
    async with Window(pool.status) as window:
        while server.since < seconds:
            await window.start(unit(number))
            number += 1
    assert store.stored == len(server.seen)
    assert store.claimed == set()
    return answered


@pytest.mark.slow
@pytest.mark.parametrize("through", ["client", "simulated asks"])
def test_the_client_and_the_simulated_asks_pace_alike(through: str) -> None:
    async def work() -> tuple[float, float, float]:
        server = ModelServer(limits=[MinuteWindow(600)], trouble=_some_break)
        pool = a_pool(PoolLimits(requests_per_minute=600))
        if through == "client":
            answered = await _by_client(pool, server, 180)
        else:
            asks = Asks(pool, server, true=lambda number, chance: (10, 10))
            await asks.run(seconds=180)
            answered = asks.ends()["answered"]
        sent = requests(server.seen)
        assert asyncio.get_running_loop().time() > 1_180
        return least_within(sent, 60, 60, 180), most_within(sent, 60), answered / len(sent)

    least, most, share = run_virtual(work())
    assert least >= 0.97 * 600
    assert most <= 600
    assert 0.93 < share < 0.97
