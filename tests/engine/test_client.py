"""Equal requests at once: one arrival, and somebody always carries on."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from harness.attempts import Asked
from harness.budget import Budget, MaxCost
from harness.cache.rows import NewExchange, UnitId
from harness.cache.store import Store
from harness.client import Ask, Client
from harness.identity import Built
from harness.messages import Fault, Message, RawReply, Reply, Request, TextPart
from harness.outcomes import ExchangeOutcome
from harness.pools.limits import PoolLimits
from harness.pools.pool import Pool
from harness.providers.limit_headers import LearnedLimits
from harness.settings import Model, Provider

MODEL = Model(
    name="m",
    model="m",
    provider=Provider(name="lab", adapter="openai", base_url="http://127.0.0.1:9/v1", endpoint="lab"),
)
BODY = json.dumps({"choices": [{"message": {"content": "fine"}, "finish_reason": "stop"}]}).encode()
BROKEN = b"<html>bad gateway</html>"


@dataclass
class FakeSender:
    """Stands in for `Sender`: answers from a script, once `gate` is open."""

    script: Callable[[int], Reply | Fault]
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    sent: asyncio.Event = field(default_factory=asyncio.Event)
    sends: int = 0
    learned: LearnedLimits = field(default_factory=LearnedLimits)

    async def send(
        self, model: Model, request: Request, built: Built, *, pool: str
    ) -> tuple[NewExchange, Reply | Fault]:
        self.sends += 1
        self.sent.set()
        meaning = self.script(self.sends)
        await self.gate.wait()
        good = isinstance(meaning, Reply)
        raw = RawReply(200 if good else 503, {}, BODY if good else BROKEN)
        exchange = NewExchange(
            key=built.key,
            twin=built.twin,
            pool=pool,
            purpose=request.purpose,
            attempt=request.attempt,
            repeat=request.repeat,
            provider="lab",
            endpoint=built.endpoint,
            model=model.model,
            adapter="openai",
            wire_revision=built.wire_revision,
            request=b"{}",
            raw=raw,
            outcome=meaning.outcome,
            started_at_us=1,
            total_s=0.1,
        )
        return exchange, meaning

    def limits(self, exchange: NewExchange, model: Model) -> LearnedLimits:
        return self.learned


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with await Store.open(str(tmp_path / "store.sqlite3")) as opened:
        yield opened


async def never(seconds: float) -> None:
    raise AssertionError("an asker within one process waits for the other by polling the store")


async def client_of(
    store: Store, sender: FakeSender, wall: Callable[[], float] = time.time
) -> tuple[Client, int]:
    run = await store.save_run("r", "d" * 64, "triage", {})
    session = await store.start_session(run.id, {})
    pool = Pool("p", PoolLimits(max_in_flight=8), sleep=lambda seconds: asyncio.sleep(0))
    budget = Budget(MaxCost())
    client = Client(
        store, sender, {"m": pool}, session=session, budget=budget, sleep=never, wall=wall  # type: ignore[arg-type]
    )
    return client, run.id


def an_ask(run_id: int, case: str, text: str = "same", after: int = 0) -> Ask:
    request = Request((Message("user", (TextPart(text),)),))
    return Ask(request, MODEL, (run_id, UnitId("m", "both", case)), after)


def good(number: int) -> Reply:
    return Reply(ExchangeOutcome.ANSWERED, "fine")


async def test_ten_equal_asks_at_once_are_one_arrival(store: Store) -> None:  # F25
    sender = FakeSender(good)
    client, run_id = await client_of(store, sender)
    asks = [asyncio.create_task(client.ask(an_ask(run_id, f"c{number}"))) for number in range(10)]
    await sender.sent.wait()
    sender.gate.set()
    results = await asyncio.gather(*asks)
    assert sender.sends == 1
    assert {asked.exchange_id for asked in results} == {1}
    assert all(asked.reply is not None and asked.reply.text == "fine" for asked in results)


async def test_when_the_first_asker_is_cancelled_another_takes_over(store: Store) -> None:  # F25
    sender = FakeSender(good)
    client, run_id = await client_of(store, sender)
    first = asyncio.create_task(client.ask(an_ask(run_id, "c0")))
    await sender.sent.wait()
    second = asyncio.create_task(client.ask(an_ask(run_id, "c1")))
    await asyncio.sleep(0)
    first.cancel()
    sender.gate.set()
    asked = await asyncio.wait_for(second, 10)
    assert asked.reply is not None and sender.sends == 2
    with pytest.raises(asyncio.CancelledError):
        await first
    assert await store.claims([key for key in await keys_of(store)]) == set()


async def keys_of(store: Store) -> list[str]:
    found = await store.exchange(1)
    return [] if found is None else [found.data.key]


async def test_an_answer_that_says_that_nothing_is_left_holds_its_pool(store: Store) -> None:  # F31
    sender = FakeSender(good, learned=LearnedLimits(requests_per_minute=60, hold_s=30.0))
    sender.gate.set()
    client, run_id = await client_of(store, sender)
    pool = client._pools["m"]
    await client.ask(an_ask(run_id, "c0"))
    assert 29 < pool.held_for_s() <= 30
    assert pool.status().held_why == "limit used up"


async def test_every_failed_send_is_kept_and_none_serves(store: Store) -> None:  # F7 F20
    sender = FakeSender(lambda number: Fault(ExchangeOutcome.UNAVAILABLE, "down", wait_s=0.0))
    sender.gate.set()
    client, run_id = await client_of(store, sender)
    asked: Asked = await client.ask(an_ask(run_id, "c0"))
    assert asked.fault is not None and asked.fault.outcome is ExchangeOutcome.UNAVAILABLE
    assert sender.sends == MODEL.max_sends == await store.last_exchange_id()
    found = await store.exchange(1)
    assert found is not None and await store.served([found.data.key]) == {}
    assert await store.claims([found.data.key]) == set()


async def test_a_stored_answer_serves_unless_it_is_older_than_wanted(store: Store) -> None:
    sender = FakeSender(good)
    sender.gate.set()
    client, run_id = await client_of(store, sender)
    assert (await client.ask(an_ask(run_id, "c0"))).exchange_id == 1
    assert (await client.ask(an_ask(run_id, "c1"))).exchange_id == 1
    assert (await client.ask(an_ask(run_id, "c1", after=1))).exchange_id == 2
    assert (await client.ask(an_ask(run_id, "c0", after=1))).exchange_id == 2
    assert (sender.sends, client.counts.served) == (2, 2)


async def test_a_claim_that_is_lost_on_the_way_buys_no_further_sends(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:  # F20
    lost = iter([True, True, False])
    monkeypatch.setattr(store, "still_claimed", lambda key: asyncio.sleep(0, next(lost, True)))
    sender = FakeSender(lambda number: Fault(ExchangeOutcome.UNAVAILABLE, "down", wait_s=0.0))
    sender.gate.set()
    client, run_id = await client_of(store, sender)
    asked = await client.ask(an_ask(run_id, "c0"))
    assert asked.fault is not None and list(lost) == []
    assert sender.sends == MODEL.max_sends


async def test_a_model_that_is_replaced_at_midnight_is_asked_no_more_after_it(store: Store) -> None:
    midnight = datetime(2025, 6, 1, tzinfo=UTC).timestamp()
    hours = iter([midnight - 3600, midnight, midnight + 3600])
    sender = FakeSender(good)
    sender.gate.set()
    client, run_id = await client_of(store, sender, lambda: next(hours))
    model = MODEL.model_copy(update={"replaced_on": date(2025, 6, 1), "note": "m-2 answers"})
    asks = [replace(an_ask(run_id, text, text), model=model) for text in ("one", "two", "three", "one")]
    before, after, later, again = [await client.ask(ask) for ask in asks]
    assert before.reply is not None and sender.sends == 1
    for asked in (after, later):
        assert "since 2025-06-01 its provider answers with another model" in (asked.not_attempted or "")
    assert again.exchange_id == before.exchange_id
