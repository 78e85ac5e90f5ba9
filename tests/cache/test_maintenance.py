from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from sqlalchemy import inspect, text
from store_examples import a_key, a_session, an_exchange

from harness.cache.key import key_of_twin, twin_of
from harness.cache.rows import Link, NewExchange, UnitId, UnitState
from harness.cache.store import Store
from harness.canonical import canonical_json, digest
from harness.errors import StoreError
from harness.outcomes import ExchangeOutcome, UnitOutcome

ONE = a_key("one")


async def filled(store: Store) -> None:
    run, session = await a_session(store)
    unit = UnitId("m", "both", "1")
    failed = an_exchange(outcome=ExchangeOutcome.TIMEOUT, error="too late", started_at_us=5)
    await store.append(failed, session=session, serve=False, link=(run, unit))
    id = await store.append(an_exchange(started_at_us=9), session=session, serve=True, link=(run, unit))
    await store.append(an_exchange("other", media_sent={"a": "b"}), session=session, serve=True)
    await store.finish_unit(run, UnitState(unit, UnitOutcome.VALID), [Link(id, "answer", 1, used=True)])
    await store.put_blobs([b"one", b"two"])


@pytest.fixture
async def store(place: str) -> AsyncIterator[Store]:
    """A store of its own: these tests take its keys away."""
    async with await Store.open(place) as opened:
        yield opened


async def damage(store: Store, *statements: str) -> None:
    """Write what the store itself never would."""
    if "://" in store._database.place:
        async with store._database.writing() as transaction:
            await transaction.connection.execute(text(NO_FOREIGN_KEYS))
            for statement in statements:
                await transaction.connection.exec_driver_sql(statement.replace("x'00'", "'\\x00'::bytea"))
        return
    async with store._database.writable().connect() as connection:
        await connection.rollback()
        raw = await connection.get_raw_connection()
        assert raw.driver_connection is not None
        for statement in ("PRAGMA foreign_keys=OFF", *statements, "PRAGMA foreign_keys=ON"):
            await raw.driver_connection.execute(statement)


async def test_a_sound_store_has_no_problems(store: Store) -> None:
    assert await store.verify() == []
    await filled(store)
    assert await store.verify() == []


NO_FOREIGN_KEYS = """
    DO $$ DECLARE key record; BEGIN
        FOR key IN SELECT conrelid::regclass AS owner, conname FROM pg_constraint
            WHERE contype = 'f' AND connamespace = current_schema()::regnamespace
        LOOP EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', key.owner, key.conname); END LOOP;
    END $$
"""


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE blob SET data = x'00'", "does not match its digest"),
        ("UPDATE served SET exchange_id = 99", "exchange 99, which does not exist"),
        (f"UPDATE served SET exchange_id = 3 WHERE key = '{ONE}'", "exchange 3, which has another key"),
        ("UPDATE served SET exchange_id = 1 WHERE exchange_id = 2", "which is no answer (timeout)"),
        ("UPDATE exchange SET body = x'00' WHERE id = 2", "exchange 2 has a damaged body"),
        ("UPDATE exchange SET headers = x'00' WHERE id = 2", "exchange 2 has a damaged headers"),
        ("UPDATE exchange SET request = x'00' WHERE id = 1", "exchange 1 has a damaged request"),
        ("UPDATE exchange SET error = x'00' WHERE id = 1", "exchange 1 has a damaged error"),
        ("UPDATE exchange SET media_sent = x'00' WHERE id = 3", "exchange 3 has a damaged media_sent"),
        ("UPDATE exchange SET outcome = 'odd' WHERE id = 1", "exchange 1 has the unknown outcome 'odd'"),
        ("UPDATE exchange SET session_id = 9 WHERE id = 1", "exchange 1 belongs to session 9, which"),
        ("UPDATE unit_exchange SET exchange_id = 99 WHERE exchange_id = 1", "is linked to exchange 99"),
        ("UPDATE unit SET outcome = 'odd'", "has the unknown outcome 'odd'"),
        ("UPDATE unit SET run_id = 9", "there are units of run 9, which does not exist"),
        ("DELETE FROM unit", "unit 1 / both / m / 1 of run 1 has links, and does not exist"),
        ("DELETE FROM unit_exchange", "unit 1 / both / m / 1 of run 1 is valid, and no exchange is used"),
        ("UPDATE unit SET again_after = 99", "is to be asked again after exchange 99, which does not exist"),
        ("UPDATE session SET run_id = 9", "session 1 belongs to run 9, which does not exist"),
        ("INSERT INTO grade VALUES (1, 9, 'm', 'c', '1', 1, 'r', 'q', x'00', 1)", "grades of run 9, which"),
        ("INSERT INTO record VALUES (9, 'm', 'c', '1', 1, 'valid', NULL, NULL, '', 'p')", "records of run 9"),
        ("INSERT INTO unit_score VALUES (9, 'm', 'c', '1', 1, 'f1', 1, NULL, 's')", "scores of run 9"),
        ("INSERT INTO unit_score VALUES (1, 'm', 'c', '1', 1, 'f1', 1, NULL, 's')", "without a record"),
        (f"INSERT INTO media VALUES ('{ONE}', 'image/png', 1, 1, 1, x'00', NULL)", "kept bytes of medium"),
        (f"INSERT INTO media_place VALUES ('/a', '{ONE}', 1, 1, 1, 0, 0, 0)", f"remembered as medium {ONE}"),
        ("UPDATE run SET manifest = x'00'", "has a damaged manifest"),
    ],
)
async def test_damage_is_found_and_named(store: Store, statement: str, problem: str) -> None:
    await filled(store)
    await damage(store, statement)
    problems = await store.verify()
    assert any(problem in found for found in problems), problems


async def test_a_manifest_is_held_to_its_digest_and_to_its_blobs(store: Store) -> None:
    manifest = {"version": 1, "cases": {"id": "cases", "sha256": a_key("cases")}}
    await store.save_run("good", digest(manifest), "triage", manifest)
    await store.save_run("bad", "b" * 64, "triage", manifest)
    missing = f"blob {a_key('cases')}, which does not exist"
    assert await store.verify() == [
        f"run 'good' wants {missing}",
        "run 'bad' does not match its digest",
        f"run 'bad' wants {missing}",
    ]


def with_key(name: str, body: dict[str, object], **changes: object) -> NewExchange:
    """Return an exchange whose key is that of its request; `changes` come after, and break it."""
    headers = body.get("$headers", {})
    plain = canonical_json({field: value for field, value in body.items() if field != "$headers"})
    twin = twin_of(
        adapter="openai", model="some/model", headers=headers, body=plain, attempt=1, repeat=1  # type: ignore[arg-type]
    )
    key = key_of_twin(twin, endpoint="lab-vllm", wire_revision=1)
    exchange = an_exchange(name, key=key, twin=twin, request=canonical_json(body))
    return replace(exchange, **changes)  # type: ignore[arg-type]


BODY: dict[str, object] = {"messages": ["why"], "$headers": {"x-org": "lab"}}


@pytest.mark.parametrize(
    "changes",
    [
        {"key": a_key("other")},
        {"twin": a_key("other")},
        {"endpoint": "elsewhere"},
        {"wire_revision": 2},
        {"model": "other"},
        {"adapter": "gemini"},
        {"attempt": 2},
        {"repeat": 2},
        {"request": canonical_json({**BODY, "messages": ["how"]})},
        {"request": canonical_json({**BODY, "$headers": {"x-org": "other"}})},
    ],
    ids=lambda changes: next(iter(changes)),
)
async def test_a_key_that_is_not_that_of_its_request_is_found(
    store: Store, changes: dict[str, object]
) -> None:  # F1
    _, session = await a_session(store)
    await store.append(with_key("good", BODY), session=session, serve=False)
    assert await store.verify() == []
    await store.append(with_key("bad", BODY, **changes), session=session, serve=False)
    assert await store.verify() == ["exchange 2 has a key that is not that of its request"]


async def test_a_key_is_not_doubted_where_its_headers_are_unknown_or_masked(store: Store) -> None:
    _, session = await a_session(store)
    old = {name: value for name, value in BODY.items() if name != "$headers"}
    masked = {**BODY, "$headers": {"x-org": "[masked key]"}}
    for request, is_masked in ((old, False), (masked, True)):
        other = with_key("one", BODY, request=canonical_json(request), masked=is_masked)
        await store.append(other, session=session, serve=False)
    assert await store.verify() == []


async def test_a_store_that_is_damaged_all_over_is_not_listed_to_the_end(store: Store) -> None:
    _, session = await a_session(store)
    for start in range(0, 1_200, 200):
        exchanges = [an_exchange(number) for number in range(start, start + 200)]
        await asyncio.gather(*(store.append(one, session=session, serve=False) for one in exchanges))
    await damage(store, "UPDATE exchange SET body = x'00'")
    assert len(await store.verify()) == 1_000


async def test_the_facts_about_a_store_are_counted(store: Store) -> None:
    await filled(store)
    await store.claim("k")
    stats = await store.stats()
    names = ("exchanges", "served_keys", "runs", "sessions", "units", "claims", "blobs", "media")
    assert [stats[name] for name in names] == [3, 2, 1, 1, 1, 1, 2, 0]
    assert stats["outcomes"] == {"answered": 2, "timeout": 1}
    assert (stats["first_exchange_at_us"], stats["schema_version"], stats["read_only"]) == (5, 4, False)
    assert json.loads(json.dumps(stats)) == stats


async def test_an_empty_store_has_facts_too(store: Store) -> None:
    stats = await store.stats()
    assert (stats["exchanges"], stats["first_exchange_at_us"], stats["packed_body_bytes"]) == (0, None, 0)


async def test_the_store_holds_every_table_of_the_design(store: Store) -> None:
    async with store._database.reading() as connection:
        names = await connection.run_sync(lambda sync: inspect(sync).get_table_names())
        assert set(names) == {
            "meta", "run", "session", "exchange", "served", "claim", "unit", "unit_exchange", "record",
            "unit_score", "scored_run", "row_units", "blob", "media", "media_place", "grade",
            "grading", "session_live",
        }


async def test_a_damaged_exchange_is_named_when_it_is_read(store: Store) -> None:
    await filled(store)
    await damage(store, "UPDATE exchange SET body = x'00' WHERE id = 2")
    with pytest.raises(StoreError, match="exchange 2 is damaged"):
        await store.exchange(2)
