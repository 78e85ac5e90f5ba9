"""What sessions at work say of themselves: replaced, never missed, and never in anybody's way."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from postgres_server import PostgresServer
from sqlalchemy import update
from store_examples import a_key, a_session, an_exchange
from sweep_kit import harness

from harness.cache.dialects import SqliteDialect
from harness.cache.owner import Owner, this_process
from harness.cache.store import Store, bring_up_to_date
from harness.cache.tables import SESSION_LIVE
from harness.canonical import pack
from harness.errors import StoreError
from harness.live_state import read_state

ACTIVITY = "SELECT state FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


async def told(store: Store, run: int) -> dict[int, object]:
    return {one.session: one.state for one in await store.live_sessions(run)}


async def test_the_last_word_of_each_session_stands_with_its_time(empty_place: str) -> None:
    now = [1_000_000]
    async with await Store.open(empty_place, clock=lambda: now[0]) as store:
        run, first = await a_session(store)
        second = await store.start_session(run, {})
        other, third = await a_session(store, "other", "b" * 64)
        await asyncio.gather(*(store.tell_live(first, {"done": n}) for n in range(5)))
        now[0] = 2_000_000
        await store.tell_live(second, {"done": 7, "model": "\ud800 and \0"})
        await store.tell_live(third, {})
        assert [one.at_us for one in await store.live_sessions(run)] == [1_000_000, 2_000_000]
        assert await told(store, run) == {first: {"done": 4}, second: {"done": 7, "model": "\ud800 and \0"}}
        assert await told(store, other) == {third: {}}


async def test_last_words_that_nobody_waits_for_stand_before_what_is_written_later(store: Store) -> None:
    run, session = await a_session(store)
    store.tell_live_last(session, {"done": 9})
    await store.end_session(session, 0)
    assert await told(store, run) == {session: {"done": 9}}


@pytest.mark.parametrize("torn", [b"no", pack(b"[]"), pack(b"{")])
async def test_damaged_words_are_none_and_hide_nobody_elses(store: Store, torn: bytes) -> None:
    run, session = await a_session(store)
    second = await store.start_session(run, {})
    await store.tell_live(session, {"done": 1})
    await store.tell_live(second, {"done": 2})

    async def tear(transaction: Any, items: Any) -> list[None]:
        words = update(SESSION_LIVE).where(SESSION_LIVE.c.session_id == session).values(state=torn)
        await transaction.connection.execute(words)
        return [None] * len(items)

    await store._writer.submit(tear, None)
    assert await told(store, run) == {session: None, second: {"done": 2}}
    assert read_state(None) is None


async def test_words_that_the_store_refuses_are_nobody_elses_failure(store: Store) -> None:
    _, session = await a_session(store)
    store.gather(0.05)
    answers = [store.append(an_exchange(n), session=session, serve=True) for n in range(3)]
    failed, *stored = await asyncio.gather(store.tell_live(99, {}), *answers, return_exceptions=True)
    assert isinstance(failed, StoreError)
    assert sorted(await store.served([a_key(n) for n in range(3)])) == sorted(a_key(n) for n in range(3))
    assert all(isinstance(one, int) for one in stored)
    store.tell_live_last(99, {})
    await store.end_session(session, 0)


async def test_words_and_answers_that_wait_together_are_one_commit(store_path: Path) -> None:
    async with await Store.open(str(store_path)) as store:
        _, session = await a_session(store)
        store.gather(0.05)
        with closing(sqlite3.connect(store_path)) as watcher:
            before = watcher.execute("PRAGMA data_version").fetchone()
            commits = [0]
            write = store._database.write

            async def counted(*given: object, **named: object) -> object:
                commits[0] += 1
                return await write(*given, **named)  # type: ignore[arg-type]

            store._database.write = counted  # type: ignore[method-assign,assignment]
            answers = [store.append(an_exchange(n), session=session, serve=True) for n in range(20)]
            await asyncio.gather(store.tell_live(session, {"done": 1}), *answers)
            assert watcher.execute("PRAGMA data_version").fetchone() != before
    assert commits == [1]


async def test_words_that_another_process_keeps_out_cost_answers_no_patience(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # F44
    monkeypatch.setattr(SqliteDialect.__init__, "__kwdefaults__", {"busy_timeout_s": 0.02})
    other = sqlite3.connect(store_path, isolation_level=None)
    pauses = 0

    async def pause(seconds: float) -> None:
        nonlocal pauses
        if seconds > 1:
            await asyncio.Event().wait()  # the renewer of claims
        pauses += 1
        if pauses == 3:  # who had been told to hurry would have given up at the first
            other.execute("ROLLBACK")

    async with await Store.open(str(store_path), sleep=pause) as store:
        run, session = await a_session(store)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="another process"):
            await store.tell_live(session, {"done": 1})
        assert pauses == 0, "words are tried once"
        assert await store.append(an_exchange(1), session=session, serve=True) == 1
        assert pauses == 3
        await store.tell_live(session, {"done": 2})
        assert await told(store, run) == {session: {"done": 2}}
    other.close()


async def test_a_merged_store_has_no_word_of_the_others_sessions(
    store: Store, tmp_path: Path, empty_store: Path
) -> None:
    other = Path(shutil.copy(empty_store, tmp_path / "other.sqlite3"))
    async with await Store.open(str(other)) as theirs:
        _, session = await a_session(theirs)
        await theirs.append(an_exchange(1), session=session, serve=True)
        await theirs.tell_live(session, {"done": 1})
    await store.merge(other, bring_up_to_date)
    [run] = await store.runs()
    assert len(await store.sessions(run.id)) == 1
    assert await store.live_sessions(run.id) == []
    assert await store.verify() == []


async def test_a_backup_is_sound_with_words_in_it(store: Store, tmp_path: Path) -> None:
    run, session = await a_session(store)
    await store.tell_live(session, {"done": 1})
    await store.backup(tmp_path / "copy.sqlite3")
    async with await Store.open(str(tmp_path / "copy.sqlite3")) as copy:
        assert await copy.verify() == []
        assert await told(copy, run) == {session: {"done": 1}}


def test_vacuum_drops_words_of_sessions_that_ended_and_keeps_those_of_killed_ones(store_path: Path) -> None:
    async def fill() -> None:
        async with await Store.open(str(store_path)) as store:
            run, ended = await a_session(store)
            killed = await store.start_session(run, {})
            for session in (ended, killed):
                await store.tell_live(session, {"done": 1})
            await store.end_session(ended, 0)

    asyncio.run(fill())
    assert harness("store", "vacuum", "--store", store_path).code == 0
    with closing(sqlite3.connect(store_path)) as database:
        assert database.execute("SELECT session_id FROM session_live").fetchall() == [(2,)]


async def test_it_is_told_who_claims_how_many_requests_and_who_is_gone(empty_place: str) -> None:
    here = this_process()
    gone = Owner(here.host, here.boot, here.pid, "1")
    far = Owner("elsewhere", "", 7, "")
    async with await Store.open(empty_place) as store:
        for owner, keys in ((gone, range(1)), (far, range(10, 12)), (here, range(20, 23))):
            one = await Store.open(empty_place, owner=owner)
            for key in keys:
                assert await one.claim(a_key(key))
            one._held.clear()  # killed: nothing is given back
            await one.close()
        found = await store.claimed_by()
    claims = [(one.owner, one.keys, one.held) for one in found]
    assert claims == [(here, 3, True), (far, 2, True), (gone, 1, False)]


async def test_reading_them_leaves_no_transaction_open(postgres: PostgresServer, postgres_place: str) -> None:
    async with await Store.open(postgres_place) as store:
        run, session = await a_session(store)
        async with await Store.open(postgres_place, only_read=True) as viewer:
            for n in range(5):
                await store.tell_live(session, {"done": n})
                assert await told(viewer, run) == {session: {"done": n}}
                await viewer.claimed_by()
            states = await postgres.execute(ACTIVITY)
    assert {row[0] for row in states} == {"idle"}
