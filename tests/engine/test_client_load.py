"""The way of a request under load: how many are out at once, who waits, what is held, what it costs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fake_clock import FakeClock
from scripted_replies import Arrival, chat_reply
from scripted_server import ScriptedServer
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncConnection
from store_examples import a_session
from sweep_kit import write_image

from harness import media_threads, request_bytes
from harness.attempts import Asked
from harness.budget import Budget, MaxCost
from harness.cache.rows import UnitId, UnitState
from harness.cache.store import Store
from harness.client import Ask, Client
from harness.media import probe
from harness.messages import ImagePart, Message, Part, Request, TextPart
from harness.outcomes import UnitOutcome
from harness.pools.limits import PoolLimits
from harness.pools.pool import Pool
from harness.providers.transport import Transport
from harness.sending import Sender
from harness.settings import Model, Provider


def echo(arrival: Arrival) -> Any:
    return chat_reply(arrival.text)


@dataclass
class Asking:
    """A client at a loopback server, with its store."""

    client: Client
    store: Store
    model: Model
    run_id: int

    async def ask(self, number: int, *more: Part) -> Asked:
        parts = (TextPart(f"question {number}"), *more)
        unit = (self.run_id, UnitId("m", "both", f"c{number}"))
        return await self.client.ask(Ask(Request((Message("user", parts),)), self.model, unit))


@asynccontextmanager
async def asking(
    folder: Path, server: ScriptedServer, in_flight: int, **settings: Any
) -> AsyncIterator[Asking]:
    """Open all that an ask needs; the model has answered before, so no request is asked alone first."""
    provider = Provider(name="lab", adapter="openai", base_url=f"{server.url}/v1", endpoint="lab")
    model = Model(name="m", model="m", provider=provider, inputs=("text", "image"), **settings)
    pool = Pool("p", PoolLimits(max_in_flight=in_flight))
    async with Transport() as transport, await Store.open(str(folder / "store.sqlite3")) as store:
        run_id, session = await a_session(store)
        sender, budget = Sender(transport, {}), Budget(MaxCost())
        client = Client(store, sender, {"m": pool}, session=session, budget=budget, proven={"m"})
        yield Asking(client, store, model, run_id)


@pytest.mark.parametrize("in_flight", [256, 512])
async def test_as_many_requests_are_at_the_server_at_once_as_were_asked_for(
    tmp_path: Path, in_flight: int
) -> None:  # F35
    with ScriptedServer(echo) as server:
        server.hold()
        async with asking(tmp_path, server, in_flight) as at, asyncio.TaskGroup() as group:
            tasks = [group.create_task(at.ask(number)) for number in range(in_flight + 40)]
            await asyncio.to_thread(server.wait_for, in_flight, 30.0)
            server.release()
    assert server.max_in_flight == in_flight
    assert all(task.result().reply is not None for task in tasks)


async def test_waiting_for_ones_turn_is_no_time_of_the_request() -> None:  # F32
    clock = FakeClock()
    pool = Pool("p", PoolLimits(max_in_flight=16, max_wait_s=60), clock=clock.time, sleep=clock.sleep)
    waited: list[float] = []

    async def send() -> None:
        asked_at = clock.time()
        async with pool.admit(10, 10):
            waited.append(clock.time() - asked_at)
            await clock.sleep(10.0)

    async with asyncio.TaskGroup() as group:
        for _ in range(10_000):
            group.create_task(send())
    assert len(waited) == 10_000 and not pool.closed
    assert max(waited) == pytest.approx(10.0 * (10_000 // 16 - 1))  # hours, far beyond every timeout


@pytest.mark.slow
async def test_of_ten_thousand_queued_requests_none_times_out_from_waiting(tmp_path: Path) -> None:  # F32
    with ScriptedServer(echo) as server:
        async with asking(tmp_path, server, 32, total_timeout_s=2.5, idle_timeout_s=2.5) as at:
            loop = asyncio.get_running_loop()
            began = loop.time()
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(at.ask(number)) for number in range(10_000)]
            took_s = loop.time() - began
    assert took_s > 3 * 2.5, "the last had waited for no longer than its timeout: this proves nothing"
    replies = [task.result().reply for task in tasks]
    assert [reply and reply.text for reply in replies] == [f"question {number}" for number in range(10_000)]
    assert len(server.arrivals) == 10_000


class _Body(bytes):
    """A request body that is counted while it is in memory."""

    alive = 0
    most = 0

    def __del__(self) -> None:
        _Body.alive -= 1


async def test_bodies_exist_only_while_they_are_sent_and_are_made_in_media_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # F36 F37
    encode, load, threads, at_once = request_bytes.encode_body, request_bytes.load, [], []
    working = 0

    def counted(*args: Any) -> bytes:
        body = _Body(encode(*args))
        _Body.alive += 1
        _Body.most = max(_Body.most, _Body.alive)
        return body

    def watched(*args: Any) -> bytes:
        nonlocal working
        working += 1
        threads.append(threading.current_thread().name)
        at_once.append(working)
        try:
            return load(*args)
        finally:
            working -= 1

    monkeypatch.setattr(request_bytes, "encode_body", counted)
    monkeypatch.setattr(request_bytes, "load", watched)
    _Body.alive = _Body.most = 0
    write_image(tmp_path / "image.png", 7)
    image = ImagePart(probe(tmp_path / "image.png"))
    with ScriptedServer(echo) as server:
        async with asking(tmp_path, server, 6) as at, asyncio.TaskGroup() as group:
            for number in range(200):
                group.create_task(at.ask(number, image))
    assert len(server.arrivals) == len(threads) == 200
    assert _Body.most <= 6 and _Body.alive == 0
    assert all(name.startswith("media") for name in threads)
    assert max(at_once) <= media_threads.MEDIA_THREADS


async def test_a_request_without_media_needs_no_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode, threads = request_bytes.encode_body, []

    def watched(*args: Any) -> bytes:
        threads.append(threading.current_thread())
        return encode(*args)

    monkeypatch.setattr(request_bytes, "encode_body", watched)
    with ScriptedServer(echo) as server:
        async with asking(tmp_path, server, 4) as at:
            await at.ask(1)
    assert threads == [threading.current_thread()]


async def test_nothing_on_the_way_of_a_request_looks_through_what_is_stored(tmp_path: Path) -> None:  # F38
    said: list[tuple[str, Any]] = []

    def note(_c: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, many: bool) -> None:
        said.append((statement, parameters[0] if many else parameters))

    with ScriptedServer(echo) as server:
        async with asking(tmp_path, server, 4) as at:
            database = at.store._database
            for engine in (database.writable(), database._reader):
                event.listen(engine.sync_engine, "before_cursor_execute", note)
            asked = await at.ask(1)
            assert asked.exchange_id is not None
            state = UnitState(UnitId("m", "both", "c1"), UnitOutcome.VALID)
            await at.store.finish_unit(at.run_id, state, [])
            statements = list(said)
            async with database.reading() as connection:
                plans = [
                    await plan_of(connection, *one) for one in statements if not one[0].startswith("BEGIN")
                ]
    words = " ".join(statement for statement, _ in statements)
    assert all(table in words for table in ("served", "claim", "exchange", "unit", "unit_exchange"))
    lines = [line for plan in plans for line in plan]
    assert [line for line in lines if line.startswith("SCAN ") and "CONSTANT" not in line] == []
    assert any(line.startswith("SEARCH ") for line in lines)


async def plan_of(connection: AsyncConnection, statement: str, parameters: Any) -> list[str]:
    rows = await connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", tuple(parameters))
    return [str(row[-1]) for row in rows]


async def test_a_scan_would_be_seen(tmp_path: Path) -> None:
    async with (
        await Store.open(str(tmp_path / "store.sqlite3")) as store,
        store._database.reading() as connection,
    ):
        plan = await plan_of(connection, "SELECT id FROM exchange WHERE pool = ?", ("p",))
    assert [line[:5] for line in plan] == ["SCAN "]
