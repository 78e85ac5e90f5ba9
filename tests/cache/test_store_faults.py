"""What happens when the disk fails us."""

# ruff: noqa: ASYNC240  (nothing else runs in these loops)

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import event, insert, select
from store_examples import a_key, a_session, an_exchange

from harness.cache.database import CommitUnknownError, Transaction
from harness.cache.dialects import Fault, SqliteDialect
from harness.cache.store import Store
from harness.cache.tables import META
from harness.errors import StoreError, StoreMemoryError
from harness.messages import RawReply

BIG = RawReply(200, {}, bytes(range(256)) * 16)


@pytest.fixture
async def store_in_a_file(store_path: Path) -> AsyncIterator[Store]:
    async with await Store.open(str(store_path)) as opened:
        yield opened


async def limit_pages(store: Store, pages: int) -> None:
    """Let SQLite believe that the disk ends after so many pages more than are used."""
    async with store._database.writable().connect() as connection:
        used = (await connection.exec_driver_sql("PRAGMA page_count")).scalar_one()
        await connection.exec_driver_sql(f"PRAGMA max_page_count={used + pages}")


async def test_a_full_disk_fails_every_waiting_entry_and_says_what_to_do(  # F23
    store_in_a_file: Store,
) -> None:
    store = store_in_a_file
    _, session = await a_session(store)
    await limit_pages(store, 3)
    begun: list[object] = []
    event.listen(store._database.writable().sync_engine, "begin", begun.append)
    entries = (store.append(an_exchange(n, raw=BIG), session=session, serve=True) for n in range(600))
    results = await asyncio.wait_for(asyncio.gather(*entries, return_exceptions=True), 30)
    assert all(isinstance(result, StoreError) for result in results)
    assert "disk is full; free some space" in str(results[0])
    assert len({id(result) for result in results}) == 600
    assert len(begun) == 1


async def test_the_store_goes_on_when_there_is_space_again(store_in_a_file: Store) -> None:
    store = store_in_a_file
    _, session = await a_session(store)
    await limit_pages(store, 0)
    with pytest.raises(StoreError, match="disk is full"):
        await asyncio.gather(
            *(store.append(an_exchange(n, raw=BIG), session=session, serve=True) for n in range(60))
        )
    await limit_pages(store, 10_000)
    await store.append(an_exchange("after"), session=session, serve=True)
    assert set(await store.served([a_key(0), a_key("after")])) == {a_key("after")}
    assert await store.verify() == []


async def test_a_store_that_another_process_holds_is_waited_for_once_and_not_again_at_the_end(
    store_path: Path, empty_store: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:  # F44
    monkeypatch.setattr(SqliteDialect.__init__, "__kwdefaults__", {"busy_timeout_s": 0.02})
    shutil.copy(empty_store, store_path)
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        if seconds < 1:
            pauses.append(seconds)
        else:
            await asyncio.Event().wait()  # the renewer of claims

    other = sqlite3.connect(store_path, isolation_level=None)
    async with await Store.open(str(store_path), sleep=pause) as store:
        await store.put_blob(b"before")
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="held by another process that does not let go; stop that"):
            await store.put_blob(b"one")
        assert len(pauses) == 5
        assert caplog.text.count("the store is held by another process; waiting") == 5
        with pytest.raises(StoreError, match="held by another process"):
            await store.put_blob(b"two")
        assert len(pauses) == 5
        other.execute("ROLLBACK")
        assert await store.put_blob(b"three")
    other.close()


async def test_who_is_told_to_hurry_waits_for_no_other_process(
    store_path: Path, empty_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # F44
    monkeypatch.setattr(SqliteDialect.__init__, "__kwdefaults__", {"busy_timeout_s": 60.0})
    shutil.copy(empty_store, store_path)
    other = sqlite3.connect(store_path, isolation_level=None)
    async with await Store.open(str(store_path)) as store:
        await store.put_blob(b"before")
        other.execute("BEGIN IMMEDIATE")
        store.hurry()
        with pytest.raises(StoreError, match="held by another process"):
            await asyncio.wait_for(store.put_blob(b"one"), 10)
        other.execute("ROLLBACK")
    other.close()


async def test_an_entry_for_which_there_is_no_memory_fails_alone(store: Store) -> None:
    async def too_much(_transaction: object, _items: object) -> list[None]:
        raise MemoryError

    broken, digest = await asyncio.gather(
        store._writer.submit(too_much, None), store.put_blob(b"fine"), return_exceptions=True
    )
    assert isinstance(broken, StoreMemoryError) and "ran out of memory; close other programs" in str(broken)
    assert await store.get_blob(str(digest)) == b"fine"


async def test_a_program_error_in_one_entry_does_not_stop_the_writer(store: Store) -> None:
    async def broken(_transaction: object, _items: object) -> list[None]:
        raise RuntimeError("a bug")

    broken_entry = store._writer.submit(broken, None)
    good_entry = store.put_blob(b"fine")
    error, digest = await asyncio.gather(broken_entry, good_entry, return_exceptions=True)
    assert isinstance(error, StoreError)
    assert isinstance(digest, str)
    assert await store.get_blob(digest) == b"fine"


async def test_a_writer_that_is_cancelled_leaves_nobody_waiting(store: Store) -> None:
    _, session = await a_session(store)
    entries = [
        asyncio.create_task(store.append(an_exchange(n), session=session, serve=True)) for n in range(300)
    ]
    await asyncio.sleep(0)
    assert store._writer._task is not None
    store._writer._task.cancel()
    results = await asyncio.wait_for(asyncio.gather(*entries, return_exceptions=True), 10)
    assert all(isinstance(result, StoreError) for result in results)
    with pytest.raises(StoreError, match="is closed"):
        await store.put_blob(b"late")


# On Postgres nothing would be blocked: its transactions run in the event loop.
@pytest.mark.parametrize("empty_place", ["sqlite"], indirect=True)
async def test_a_writer_that_is_cancelled_in_a_transaction_leaves_nobody_waiting(store: Store) -> None:
    begun, let_go = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    async def takes_long(_transaction: object, _items: object) -> list[None]:
        loop.call_soon_threadsafe(begun.set)
        assert let_go.wait(10)
        return [None]

    entry = asyncio.create_task(store._writer.submit(takes_long, None))
    await asyncio.wait_for(begun.wait(), 10)
    assert store._writer._task is not None
    store._writer._task.cancel()
    await asyncio.sleep(0)
    let_go.set()
    with pytest.raises(CommitUnknownError, match="may be in it or not; run the same command again"):
        await asyncio.wait_for(entry, 10)


@pytest.mark.parametrize("empty_place", ["sqlite"], indirect=True)
async def test_what_such_a_writer_had_begun_may_be_in_the_store(store: Store) -> None:
    begun, let_go = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    async def keeps(transaction: Transaction, _items: object) -> list[None]:
        loop.call_soon_threadsafe(begun.set)
        assert let_go.wait(10)
        await transaction.connection.execute(insert(META), {"name": "kept", "value": "yes"})
        return [None]

    entry = asyncio.create_task(store._writer.submit(keeps, None))
    await asyncio.wait_for(begun.wait(), 10)
    assert store._writer._task is not None
    store._writer._task.cancel()
    await asyncio.sleep(0)
    let_go.set()
    with pytest.raises(CommitUnknownError):
        await asyncio.wait_for(entry, 10)
    async with store._database.reading() as connection:
        statement = select(META.c.value).where(META.c.name == "kept")
        assert (await connection.execute(statement)).scalar() == "yes"


async def test_a_damaged_file_is_reported_as_damaged(store_path: Path) -> None:
    async with await Store.open(str(store_path)) as store:
        _, session = await a_session(store)
        await asyncio.gather(
            *(store.append(an_exchange(n, raw=BIG), session=session, serve=True) for n in range(50))
        )
    data = bytearray(store_path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    store_path.write_bytes(data)
    with pytest.raises(StoreError, match="is damaged; stop, copy the file"):
        async with await Store.open(str(store_path)) as store:
            await store.served([a_key(1)])


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("SQLITE_BUSY_SNAPSHOT", Fault.BUSY),
        ("SQLITE_FULL", Fault.FULL),
        ("SQLITE_READONLY_DBMOVED", Fault.READ_ONLY),
        ("SQLITE_IOERR_WRITE", Fault.UNREACHABLE),
        ("SQLITE_CANTOPEN", Fault.UNREACHABLE),
        ("SQLITE_CORRUPT", Fault.DAMAGED),
        ("SQLITE_CONSTRAINT_FOREIGNKEY", Fault.REFUSED),
    ],
)
def test_faults_are_told_apart_by_sqlites_own_code(tmp_path: Path, name: str, fault: Fault) -> None:
    error = sqlite3.OperationalError("whatever it says")
    error.sqlite_errorname = name
    assert SqliteDialect(tmp_path / "s").fault(error) is fault
