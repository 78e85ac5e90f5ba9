"""A transaction is one hop to the connection's thread, and ends there whatever happens to its caller."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection
from store_examples import a_key, a_session, an_exchange

from harness.cache.database import Transaction
from harness.cache.sqlite_thread import SqliteThread
from harness.cache.store import Store
from harness.errors import StoreError


def count_hops(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note every call that the event loop hands to a connection's thread."""
    hops: list[str] = []
    handed = SqliteThread._execute

    async def counted(self: SqliteThread, fn: object, *args: object, **kwargs: object) -> object:
        if threading.get_ident() != self._thread.ident:
            hops.append(getattr(fn, "__name__", repr(fn)))
        return await handed(self, fn, *args, **kwargs)

    monkeypatch.setattr(SqliteThread, "_execute", counted)
    return hops


@pytest.fixture
async def store(store_path: Path) -> AsyncIterator[Store]:
    """A store in a file: no other lives in threads."""
    async with await Store.open(str(store_path)) as opened:
        yield opened


async def test_a_group_of_entries_is_one_hop(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    _, session = await a_session(store)
    await store.append(an_exchange("first"), session=session, serve=True)
    hops = count_hops(monkeypatch)
    await asyncio.gather(*(store.append(an_exchange(n), session=session, serve=True) for n in range(50)))
    assert len(hops) == 1


async def test_a_look_up_is_one_hop(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    _, session = await a_session(store)
    await asyncio.gather(*(store.append(an_exchange(n), session=session, serve=True) for n in range(50)))
    await store.served([a_key(0)])
    hops = count_hops(monkeypatch)
    assert len(await store.served([a_key(n) for n in range(50)])) == 50
    assert len(hops) == 1


async def test_work_runs_in_the_connections_thread_and_the_loop_stays_free(store: Store) -> None:
    began, let_go = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    async def work(connection: AsyncConnection) -> tuple[int | None, str]:
        loop.call_soon_threadsafe(began.set)
        assert let_go.wait(10)
        value = await connection.scalar(text("SELECT 7"))
        return value, threading.current_thread().name

    reading = asyncio.create_task(store._database.read(work))
    await asyncio.wait_for(began.wait(), 10)  # the loop runs on while the thread waits
    let_go.set()
    value, name = await reading
    assert value == 7 and name != threading.current_thread().name


async def test_work_that_waits_for_anything_else_is_refused_and_rolled_back(store: Store) -> None:
    async def work(transaction: Transaction) -> None:
        await transaction.connection.execute(text("DELETE FROM meta"))
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="may wait for nothing but its connection"):
        await store._database.write(work)
    async with store._database.reading() as connection:
        assert await connection.scalar(text("SELECT count(*) FROM meta")) == 1
    await store.put_blob(b"the writer goes on")


async def test_a_caller_that_is_cancelled_waits_for_the_end_of_its_transaction(store: Store) -> None:
    began, let_go = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    async def work(transaction: Transaction) -> None:
        loop.call_soon_threadsafe(began.set)
        assert let_go.wait(10)
        await transaction.connection.execute(text("INSERT INTO meta VALUES ('a', 'b')"))

    writing = asyncio.create_task(store._database.write(work))
    await asyncio.wait_for(began.wait(), 10)
    writing.cancel()
    await asyncio.sleep(0)
    assert not writing.done()
    let_go.set()
    with pytest.raises(asyncio.CancelledError):
        await writing
    async with store._database.reading() as connection:
        assert await connection.scalar(text("SELECT value FROM meta WHERE name = 'a'")) == "b"


async def test_an_error_within_a_transaction_undoes_all_of_it(store: Store) -> None:
    async def work(transaction: Transaction) -> None:
        await transaction.connection.execute(text("INSERT INTO meta VALUES ('a', 'b')"))
        raise StoreError("no")

    with pytest.raises(StoreError, match="no"):
        await store._database.write(work)
    async with store._database.reading() as connection:
        assert await connection.scalar(text("SELECT count(*) FROM meta WHERE name = 'a'")) == 0
