"""A Postgres server that goes away: what was committed is known before anyone acts on it."""

# ruff: noqa: ASYNC110  (waits for what other tasks have got done, which has no event)

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from postgres_proxy import PostgresProxy, a_proxy
from postgres_server import PostgresServer, schema_of
from store_examples import a_key, a_session, an_exchange

from harness.cache.store import Store
from harness.errors import StoreError

TERMINATE = (
    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
    "WHERE application_name = 'harness' AND pid <> pg_backend_pid()"
)


async def no_sleep(_seconds: float) -> None:
    await asyncio.sleep(0)


@pytest.fixture
async def proxy(postgres: PostgresServer) -> AsyncIterator[PostgresProxy]:
    async with a_proxy(postgres) as running:
        yield running


@pytest.fixture
def behind(proxy: PostgresProxy, postgres_place: str) -> str:
    """The URL of a new store behind the proxy."""
    return proxy.url(schema_of(postgres_place))


async def many(store: Store, session: int, count: int = 20) -> list[int]:
    return await asyncio.gather(
        *(store.append(an_exchange(n), session=session, serve=True) for n in range(count))
    )


async def test_a_commit_whose_answer_was_lost_counts_once(behind: str, proxy: PostgresProxy) -> None:  # F23
    async with await Store.open(behind) as store:
        _, session = await a_session(store)
        proxy.at_commit = "lose the answer"
        assert await many(store, session) == list(range(1, 21))
        assert (proxy.at_commit, (await store.stats())["exchanges"]) == ("pass", 20)
        assert await store.verify() == []


async def test_a_commit_that_never_arrived_is_made_again(behind: str, proxy: PostgresProxy) -> None:  # F23
    async with await Store.open(behind) as store:
        _, session = await a_session(store)
        proxy.at_commit = "lose the commit"
        assert await many(store, session) == list(range(1, 21))
        assert (proxy.at_commit, (await store.stats())["exchanges"]) == ("pass", 20)


async def test_another_process_commit_is_not_taken_for_ours(
    behind: str, proxy: PostgresProxy, postgres_place: str
) -> None:
    async with await Store.open(behind) as ours, await Store.open(postgres_place) as theirs:
        _, session = await a_session(ours)
        await ours.append(an_exchange("before"), session=session, serve=True)
        proxy.at_commit = "lose the commit"
        mine = asyncio.create_task(ours.append(an_exchange("mine"), session=session, serve=True))
        others = [await theirs.append(an_exchange(n), session=session, serve=True) for n in range(5)]
        id = await mine
        assert id not in others
        assert set(await ours.served([a_key("mine")])) == {a_key("mine")}


async def test_work_that_is_done_once_only_is_not_done_again(behind: str, proxy: PostgresProxy) -> None:
    async with await Store.open(behind) as store:
        run, _ = await a_session(store)
        proxy.at_commit = "lose the commit"
        with pytest.raises(StoreError, match="does not answer"):
            await store.replace_records(run, iter(()))
        await store.replace_records(run, iter(()))


@pytest.mark.parametrize("loss", ["lose the commit", "lose the answer"])
async def test_a_server_that_does_not_come_back_leaves_nothing_to_act_on(
    behind: str, proxy: PostgresProxy, loss: str, postgres_place: str
) -> None:  # F23
    async with await Store.open(behind, sleep=no_sleep) as store:
        _, session = await a_session(store)
        store._renewer.cancel()  # type: ignore[union-attr]
        proxy.at_commit, proxy.leaves = loss, True  # type: ignore[assignment]
        entries = [store.append(an_exchange(n), session=session, serve=True) for n in range(5)]
        results = await asyncio.wait_for(asyncio.gather(*entries, return_exceptions=True), 60)
        assert all("nobody knows yet whether the last answers are in it" in str(one) for one in results)
        began = proxy.commits
        with pytest.raises(StoreError, match="does not answer"):
            await asyncio.wait_for(store.append(an_exchange(9), session=session, serve=True), 60)
        assert proxy.commits == began
    async with await Store.open(postgres_place) as again:
        assert (await again.stats())["exchanges"] == (5 if loss == "lose the answer" else 0)


async def test_connections_that_the_server_ends_are_made_anew(
    postgres: PostgresServer, postgres_place: str
) -> None:
    if not postgres.owned:
        pytest.skip("there may be others on this server")
    async with await Store.open(postgres_place) as store:
        _, session = await a_session(store)
        for n in range(5):
            ended = asyncio.create_task(postgres.execute(TERMINATE))
            ids = await many(store, session, 8)
            assert set(await store.exchanges(ids)) == set(ids)
            await ended
            assert await store.last_exchange_id() == 8 * (n + 1)
        assert await store.verify() == []


async def test_a_server_that_is_started_again_loses_no_entry(postgres: PostgresServer, behind: str) -> None:
    if not postgres.owned:
        pytest.skip("only a server of our own is restarted")
    async with await Store.open(behind) as store:
        _, session = await a_session(store)
        told: list[int] = []
        end = asyncio.Event()

        async def write(name: str) -> None:
            number = 0
            while not end.is_set():
                number += 1
                exchange = an_exchange(f"{name} {number}")
                id = await store.append(exchange, session=session, serve=True)
                told.append(id)
                assert exchange.key in await store.served([exchange.key])

        async with asyncio.TaskGroup() as group:
            for name in "abcdefgh":
                group.create_task(write(name))
            for mode in ("immediate", "fast"):
                before = len(told)
                await asyncio.to_thread(postgres.restart, mode)
                async with asyncio.timeout(60):
                    while len(told) < before + 20:
                        await asyncio.sleep(0.01)
            end.set()
        assert len(told) == len(set(told)) == (await store.stats())["exchanges"]
        assert set(await store.exchanges(told)) == set(told)


async def test_a_server_that_stops_answering_is_given_up_in_bounded_time(
    postgres: PostgresServer, postgres_place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not postgres.owned:
        pytest.skip("only a server of our own is stopped")
    from harness.cache.dialects import postgres as dialect

    monkeypatch.setattr(dialect, "CONNECT_TIMEOUT_S", 0.3)
    monkeypatch.setattr(dialect.PostgresDialect.__init__, "__kwdefaults__", {"command_timeout_s": 0.5})
    monkeypatch.setattr("harness.cache.reconnection.RECONNECT_S", 1.0)
    store = await Store.open(postgres_place)
    try:
        await store.put_blob(b"x")
        postgres.pause()
        for work in (store.put_blob(b"y"), store.stats()):
            with pytest.raises(StoreError, match=r"does not answer|nobody knows"):
                await asyncio.wait_for(work, 60)
    finally:
        postgres.resume()
        await asyncio.wait_for(store.close(), 60)
    async with await Store.open(postgres_place) as again:
        assert await again.verify() == []
