"""How often each request arrives, on every adapter in every situation, and what it comes to.

Through the real client, pools and transport, against a loopback server that counts. Waits pass on the pool's
injected clock; only servers that stall are waited for, for a twentieth of a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import pytest
from contract.dialects import KINDS, TEXT, Dialect, dialect_of
from contract.situations import STREAMED, WHOLE, Situation
from fake_clock import FakeClock
from scripted_replies import Hang, Reply, Script
from scripted_server import ScriptedServer
from wire_doubles import ask

from harness.attempts import Asked
from harness.budget import Budget, MaxCost
from harness.cache.rows import Exchange, NewExchange, UnitId
from harness.client import Ask, Client
from harness.messages import Reply as Meaning
from harness.outcomes import ExchangeOutcome
from harness.pools.limits import PoolLimits
from harness.pools.pool import Pool
from harness.providers.base import ADAPTERS, get_adapter
from harness.providers.reading import read_exchange
from harness.providers.transport import Transport
from harness.retry import unit_outcome_of
from harness.sending import Sender
from harness.settings import Model, Provider

DEFAULT_SENDS = Model.model_fields["max_sends"].default
KEY = "sk-contract-0123456789abcdef"


@dataclass
class MemoryStore:
    """Stands in for `Store`: keeps every exchange, serves nothing. `before_send` is called before each."""

    exchanges: list[NewExchange] = field(default_factory=list)
    claimed: set[str] = field(default_factory=set)
    before_send: Callable[[], None] = lambda: None

    async def served(self, keys: Collection[str]) -> Mapping[str, Exchange]:
        return {}

    async def claim(self, key: str, *, unless_served_after: int = 0) -> bool:
        self.claimed.add(key)
        return True

    async def still_claimed(self, key: str) -> bool:
        self.before_send()
        return key in self.claimed

    async def release(self, key: str) -> None:
        self.claimed.discard(key)

    async def append(self, exchange: NewExchange, **how: object) -> int:
        self.exchanges.append(exchange)
        if how["release"]:
            self.claimed.discard(exchange.key)
        return len(self.exchanges)


@dataclass
class Asking:
    """A client whose model is at a loopback server."""

    client: Client
    store: MemoryStore
    model: Model
    pool: Pool
    clock: FakeClock

    async def ask(self, text: str = "what is this?") -> Asked:
        return await self.client.ask(Ask(ask(text), self.model, (1, UnitId("m", "both", text))))


@asynccontextmanager
async def asking(adapter: str, url: str, **settings: Any) -> AsyncIterator[Asking]:
    provider = Provider(name="lab", adapter=adapter, base_url=f"{url}/v1", api_key_env="K")  # type: ignore[arg-type]
    given = {"max_output_tokens": 1000, **settings}
    model = Model(name="m", model=dialect_of(adapter).model, provider=provider, **given)
    clock, store = FakeClock(), MemoryStore()
    pool = Pool(
        "p", PoolLimits.of(model), clock=clock.time, sleep=clock.sleep, random=lambda low, high: high
    )
    async with Transport() as transport:
        client = Client(
            store, Sender(transport, {"K": KEY}), {"m": pool}, session=1, budget=Budget(MaxCost()),  # type: ignore[arg-type]
            sleep=clock.sleep,
        )  # fmt: skip
        yield Asking(client, store, model, pool, clock)
    assert store.claimed == set(), "a claim is left behind"


def streams(adapter: str) -> bool:
    """Tell whether a model of this adapter that is to stream asks for another form of answer."""

    def wire(stream: bool) -> tuple[str, Any]:
        provider = Provider(name="lab", adapter=adapter)  # type: ignore[arg-type]
        model = Model(name="m", model="m", provider=provider, max_output_tokens=9, stream=stream)
        built = get_adapter(adapter).build(ask(), model)
        return built.path, dict(built.transport)

    return wire(True) != wire(False)


def _adapter(name: str) -> Any:
    if name != "litellm":
        return name
    missing = find_spec("litellm") is None
    why = "LiteLLM is not installed"
    return pytest.param(name, marks=[pytest.mark.slow, pytest.mark.skipif(missing, reason=why)])


EVERY_ADAPTER = pytest.mark.parametrize("adapter", [_adapter(name) for name in ADAPTERS])
STREAMING = pytest.mark.parametrize("adapter", [name for name in ADAPTERS if streams(name)])
BOTH_BUDGETS = pytest.mark.parametrize("max_sends", [1, DEFAULT_SENDS])


def script_of(situation: Situation, dialect: Dialect) -> Script:
    acts = situation.acts(dialect)
    return (lambda arrival: acts) if isinstance(acts, Reply | Hang) else acts


def unit_of(asked: Asked) -> str | None:
    """Return what a unit comes to whose only ask this is; None where it is answered."""
    if asked.reply is not None:
        return None
    return "not_attempted" if asked.fault is None else str(unit_outcome_of(asked.fault))


async def check(situation: Situation, adapter: str, max_sends: int, **settings: Any) -> None:
    dialect = dialect_of(adapter)
    wanted = situation.once if max_sends == 1 else situation.by_default
    wanted = tuple(dialect.block if one == "blocked" else one for one in wanted)
    with ScriptedServer(script_of(situation, dialect)) as server:
        async with asking(
            adapter, server.url, max_sends=max_sends, **{**situation.settings, **settings}
        ) as at:
            began = at.clock.time()
            asked = await at.ask()
            assert len(server.arrivals) == len(wanted)
            assert at.clock.time() - began >= situation.waits_s
            check_exchanges(at, situation, wanted)
            check_unit(asked, situation, wanted)
            server.script = lambda arrival: dialect.answer(TEXT)
            after = await at.ask("and this?")
    assert (at.pool.closed, after.reply is None) == (situation.closes, situation.closes)
    assert len(server.arrivals) == len(wanted) + (not situation.closes)


def check_exchanges(at: Asking, situation: Situation, wanted: tuple[str, ...]) -> None:
    """Every send is stored as what it is, and is read the same from the store."""
    stored = at.store.exchanges
    assert tuple(str(one.outcome) for one in stored) == wanted
    for one in stored:
        assert one.maybe_billed is (situation.billed and not one.outcome.serves)
        again = read_exchange(one, at.model.provider)
        assert again.outcome is one.outcome
        assert isinstance(again, Meaning) or again.maybe_billed is one.maybe_billed
    assert KEY not in repr(stored)


def check_unit(asked: Asked, situation: Situation, wanted: tuple[str, ...]) -> None:
    answers = wanted[-1] in {"answered", "filtered", "refused"}
    assert unit_of(asked) == (None if answers else situation.unit or "provider_error")
    if wanted[-1] == "answered":
        assert asked.reply is not None and asked.reply.text == TEXT


@BOTH_BUDGETS
@pytest.mark.parametrize("situation", WHOLE, ids=lambda one: one.name)
@EVERY_ADAPTER
async def test_a_request_arrives_as_often_as_its_outcome_allows(
    adapter: str, situation: Situation, max_sends: int
) -> None:  # F20 F21 F22 F31 F33 F51
    await check(situation, adapter, max_sends)


@BOTH_BUDGETS
@pytest.mark.parametrize("situation", STREAMED, ids=lambda one: one.name)
@STREAMING
async def test_a_streamed_request_arrives_as_often_as_its_outcome_allows(
    adapter: str, situation: Situation, max_sends: int
) -> None:  # F20 F33 F34
    await check(situation, adapter, max_sends, stream=True)


@BOTH_BUDGETS
@EVERY_ADAPTER
async def test_what_is_refused_never_arrives_and_counts_against_nothing(adapter: str, max_sends: int) -> None:
    with ScriptedServer() as server:
        server.refuse()
        async with asking(adapter, server.url, max_sends=max_sends) as at:
            asked = await at.ask()
            after = await at.ask("and this?")
    assert server.arrivals == []
    assert {(str(one.outcome), one.maybe_billed) for one in at.store.exchanges} == {("connection", False)}
    # after 2 s once more, then back-off doubles from 2 s to 60, within the 600 s of --max-wait
    assert len(at.store.exchanges) == 16
    assert at.pool.closed and (unit_of(asked), unit_of(after)) == ("not_attempted", "not_attempted")


@BOTH_BUDGETS
@EVERY_ADAPTER
async def test_a_server_that_comes_back_gets_the_request_once(adapter: str, max_sends: int) -> None:
    dialect = dialect_of(adapter)
    with ScriptedServer(lambda arrival: dialect.answer(TEXT)) as server:
        server.refuse()
        async with asking(adapter, server.url, max_sends=max_sends) as at:

            def back_after_six() -> None:
                if len(at.store.exchanges) == 6:
                    server.accept()

            at.store.before_send = back_after_six
            asked = await at.ask()
    assert unit_of(asked) is None and len(server.arrivals) == 1
    assert [str(one.outcome) for one in at.store.exchanges] == ["connection"] * 6 + ["answered"]


@BOTH_BUDGETS
@EVERY_ADAPTER
async def test_what_is_refused_while_others_connect_is_sent_as_often_as_allowed(
    adapter: str, max_sends: int
) -> None:
    with ScriptedServer() as server:
        server.refuse()
        async with asking(adapter, server.url, max_sends=max_sends) as at:
            at.store.before_send = lambda: at.pool.report(Meaning(ExchangeOutcome.ANSWERED))
            asked = await at.ask()
    assert server.arrivals == []
    assert [str(one.outcome) for one in at.store.exchanges] == ["connection"] * max_sends
    assert (unit_of(asked), at.pool.closed) == ("provider_error", False)


@EVERY_ADAPTER
async def test_an_ask_that_is_given_up_leaves_nothing_to_arrive_later(adapter: str) -> None:
    dialect = dialect_of(adapter)
    with ScriptedServer(lambda arrival: dialect.fails("unavailable")) as server:
        server.hold()
        async with asking(adapter, server.url) as at:
            asked = asyncio.create_task(at.ask())
            await asyncio.to_thread(server.wait_for, 1)
            asked.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asked
            server.release()
            await asyncio.to_thread(server.wait_until_closed)
    assert len(server.arrivals) == 1


@EVERY_ADAPTER
def test_every_dialect_words_every_kind_of_error(adapter: str) -> None:
    assert set(dialect_of(adapter).errors) == set(KINDS)
