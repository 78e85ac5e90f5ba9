from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sqlalchemy import event
from store_examples import a_key, a_session, an_exchange

from harness.cache.rows import Exchange, Link, UnitId, UnitState
from harness.cache.store import Store
from harness.errors import StoreError
from harness.messages import RawReply, Usage
from harness.outcomes import ExchangeOutcome

ODD_TEXTS = [
    "",
    "\x00 in \x00 the middle",
    "lone \ud83d surrogate",
    "😀 é",
    "back\\slash \\u0000",
    "=1+1",
    "x" * 200_000,
]


@pytest.mark.parametrize("text", ODD_TEXTS, ids=lambda text: repr(text[:12]))
async def test_every_text_comes_back_as_it_was(store: Store, text: str) -> None:  # F45
    _, session = await a_session(store)
    given = an_exchange(
        raw=RawReply(200, {"x-note": text}, text.encode("utf-8", "surrogatepass")),
        error=text,
        served_model=text,
        request=text.encode("utf-8", "surrogatepass"),
        media_sent={"source": text},
    )
    id = await store.append(given, session=session, serve=True)
    stored = await store.exchange(id)
    assert stored is not None
    assert (stored.data, stored.id, stored.session) == (given, id, session)


async def test_an_exchange_without_an_answer_comes_back_as_it_was(store: Store) -> None:
    _, session = await a_session(store)
    given = an_exchange(
        raw=RawReply(0, {}, b""),
        outcome=ExchangeOutcome.TIMEOUT,
        first_byte_s=None,
        served_model=None,
        usage=Usage(),
        maybe_billed=True,
        masked=True,
        error="no answer within 600 s",
    )
    id = await store.append(given, session=session, serve=False)
    stored = await store.exchange(id)
    assert stored is not None
    assert stored.data == given


async def test_what_is_committed_is_there_after_opening_again(place: str) -> None:
    async with await Store.open(place) as store:
        _, session = await a_session(store)
        await store.append(an_exchange(), session=session, serve=True)
    async with await Store.open(place) as again:
        assert (await again.served([a_key("one")]))[a_key("one")].data == an_exchange()


@pytest.mark.parametrize("outcome", list(ExchangeOutcome))
async def test_answers_serve_later_asks_and_errors_never_do(store: Store, outcome: ExchangeOutcome) -> None:
    # F5 F7
    _, session = await a_session(store)
    await store.append(an_exchange(outcome=outcome), session=session, serve=True)
    assert (a_key("one") in await store.served([a_key("one")])) is outcome.serves


async def test_an_answer_that_is_not_to_serve_does_not(store: Store) -> None:
    _, session = await a_session(store)
    await store.append(an_exchange(), session=session, serve=False)
    assert await store.served([a_key("one")]) == {}


async def test_an_error_leaves_the_earlier_answer_in_place(store: Store) -> None:
    _, session = await a_session(store)
    answer = await store.append(an_exchange(), session=session, serve=True)
    await store.append(an_exchange(outcome=ExchangeOutcome.UNAVAILABLE), session=session, serve=True)
    assert (await store.served([a_key("one")]))[a_key("one")].id == answer


async def test_a_new_answer_takes_the_old_ones_place_and_the_old_one_stays(store: Store) -> None:
    _, session = await a_session(store)
    old = await store.append(an_exchange(), session=session, serve=True)
    new = await store.append(an_exchange(total_s=9.0), session=session, serve=True)
    assert (await store.served([a_key("one")]))[a_key("one")].id == new > old
    assert (await store.exchanges([old, new])).keys() == {old, new}


async def test_two_answers_of_one_key_in_one_commit_serve_by_the_later(store: Store) -> None:
    _, session = await a_session(store)
    ids = await asyncio.gather(
        *(store.append(an_exchange(total_s=float(n)), session=session, serve=True) for n in range(3))
    )
    assert (await store.served([a_key("one")]))[a_key("one")].id == max(ids)


async def test_thousands_of_keys_are_looked_up_at_once(store: Store) -> None:
    _, session = await a_session(store)
    exchanges = [an_exchange(n) for n in range(1_200)]
    await asyncio.gather(*(store.append(exchange, session=session, serve=True) for exchange in exchanges))
    served = await store.served([a_key(n) for n in range(5_000)])
    assert {key: found.data for key, found in served.items()} == {one.key: one for one in exchanges}


async def test_ids_rise_in_the_order_of_commits(store: Store) -> None:
    _, session = await a_session(store)
    ids = [await store.append(an_exchange(n), session=session, serve=True) for n in range(5)]
    assert ids == [1, 2, 3, 4, 5]
    assert await store.last_exchange_id() == 5


async def test_an_entry_that_is_refused_does_not_fail_the_others(store: Store) -> None:
    _, session = await a_session(store)
    good = [store.append(an_exchange(n), session=session, serve=True) for n in range(5)]
    bad = store.append(an_exchange("bad"), session=session + 1_000, serve=True)
    *ids, error = await asyncio.gather(*good, bad, return_exceptions=True)
    assert isinstance(error, StoreError)
    assert len(set(ids)) == 5
    assert len(await store.served([a_key(n) for n in range(5)])) == 5
    assert await store.served([a_key("bad")]) == {}


async def test_an_error_of_the_database_shows_no_case_text(store: Store) -> None:  # F46
    secret = "the patient's own words"
    with pytest.raises(StoreError) as caught:
        await store.append(an_exchange(error=secret, served_model=secret), session=999, serve=True)
    chain: BaseException | None = caught.value
    while chain is not None:
        assert secret not in str(chain)
        chain = chain.__cause__


async def test_a_cancelled_caller_loses_no_exchange(store: Store) -> None:  # F23
    _, session = await a_session(store)
    task = asyncio.create_task(store.append(an_exchange(), session=session, serve=True))
    await asyncio.sleep(0)  # the entry is queued now
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await store.put_blob(b"a later commit")
    assert a_key("one") in await store.served([a_key("one")])


async def test_closing_commits_what_is_queued(place: str) -> None:
    store = await Store.open(place)
    _, session = await a_session(store)
    tasks = [
        asyncio.create_task(store.append(an_exchange(n), session=session, serve=True)) for n in range(300)
    ]
    await asyncio.sleep(0)
    await store.close()
    assert len({await task for task in tasks}) == 300


async def test_a_closed_store_takes_nothing(place: str) -> None:
    store = await Store.open(place)
    await store.close()
    with pytest.raises(StoreError, match="is closed"):
        await store.put_blob(b"late")


async def test_a_link_is_committed_with_its_exchange(store: Store) -> None:
    run, session = await a_session(store)
    unit = UnitId("m", "both", "case-1")
    id = await store.append(an_exchange(attempt=2), session=session, serve=True, link=(run, unit))
    [linked] = [unit async for unit in store.linked_units(run)]
    [(link, exchange)] = linked.links
    assert (linked.state.unit, linked.state.outcome) == (unit, None)
    assert (link, exchange.id) == (Link(id, "answer", 2, used=False), id)


async def test_the_hundredth_append_costs_as_many_statements_as_the_first(store: Store) -> None:  # F38
    run, session = await a_session(store)
    statements: list[str] = []

    def note(_c: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        statements.append(statement)

    event.listen(store._database.writable().sync_engine, "before_cursor_execute", note)
    counts = []
    for n in range(100):
        statements.clear()
        link = (run, UnitId("m", "both", f"case-{n}"))
        await store.append(an_exchange(n), session=session, serve=True, link=link, release=True)
        counts.append(len(statements))
    assert set(counts) == {7}


async def test_a_group_costs_as_many_statements_as_one_entry(store: Store) -> None:
    _, session = await a_session(store)
    commits = 0

    def note(_connection: Any) -> None:
        nonlocal commits
        commits += 1

    event.listen(store._database.writable().sync_engine, "commit", note)
    await asyncio.gather(*(store.append(an_exchange(n), session=session, serve=True) for n in range(64)))
    assert commits == 1


async def test_what_a_session_sent_is_read_page_by_page_with_the_models_of_its_run(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, session = await a_session(store)
    elsewhere, other = await a_session(store, digest="b" * 64)
    for number in range(7):
        unit = UnitId("beta" if number % 2 else "alpha", "both", f"c{number}")
        mine = other if number == 3 else session
        link = None if number == 5 else (run, unit)
        id = await store.append(an_exchange(number), session=mine, serve=True, link=link)
        state = UnitState(UnitId("aardvark", "both", f"c{number}"), None)
        await store.finish_unit(elsewhere, state, [Link(id, "answer", 1)])
    read: list[int] = []
    exchanges = store.exchanges

    async def counted(ids: list[int]) -> dict[int, Exchange]:
        read.append(len(ids))
        return await exchanges(ids)

    monkeypatch.setattr(store, "exchanges", counted)
    found = [(model, one.id) async for model, one in store.sent_in_session(run, session, page=3)]
    assert found == [("alpha", 1), ("beta", 2), ("alpha", 3), ("alpha", 5), (None, 6), ("alpha", 7)]
    assert read == [3, 3, 0]
