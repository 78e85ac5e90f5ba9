from __future__ import annotations

import json

import pytest
from sqlalchemy import text
from store_examples import a_key, a_session, an_exchange

from harness.cache.rows import Link, UnitId, UnitState
from harness.cache.store import Store
from harness.errors import StoreError
from harness.outcomes import ExchangeOutcome, UnitOutcome


async def filled(store: Store) -> None:
    run, session = await a_session(store)
    unit = UnitId("m", "both", "1")
    failed = an_exchange(outcome=ExchangeOutcome.TIMEOUT, error="too late", started_at_us=5)
    await store.append(failed, session=session, serve=False, link=(run, unit))
    id = await store.append(an_exchange(started_at_us=9), session=session, serve=True, link=(run, unit))
    await store.append(an_exchange("other", media_sent={"a": "b"}), session=session, serve=True)
    await store.finish_unit(run, UnitState(unit, UnitOutcome.VALID), [Link(id, "answer", 1, used=True)])
    await store.put_blobs([b"one", b"two"])


async def damage(store: Store, *statements: str) -> None:
    """Write what the store itself never would."""
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


ONE = a_key("one")


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
    ],
)
async def test_damage_is_found_and_named(store: Store, statement: str, problem: str) -> None:
    await filled(store)
    await damage(store, statement)
    problems = await store.verify()
    assert any(problem in found for found in problems), problems


async def test_the_facts_about_a_store_are_counted(store: Store) -> None:
    await filled(store)
    await store.claim("k")
    stats = await store.stats()
    names = ("exchanges", "served_keys", "runs", "sessions", "units", "claims", "blobs", "media")
    assert [stats[name] for name in names] == [3, 2, 1, 1, 1, 1, 2, 0]
    assert stats["outcomes"] == {"answered": 2, "timeout": 1}
    assert (stats["first_exchange_at_us"], stats["schema_version"], stats["read_only"]) == (5, 2, False)
    assert json.loads(json.dumps(stats)) == stats


async def test_an_empty_store_has_facts_too(store: Store) -> None:
    stats = await store.stats()
    assert (stats["exchanges"], stats["first_exchange_at_us"], stats["packed_body_bytes"]) == (0, None, 0)


async def test_the_store_holds_every_table_of_the_design(store: Store) -> None:
    async with store._database.reading() as connection:
        query = text("SELECT name FROM sqlite_master WHERE type = 'table'")
        names = (await connection.execute(query)).scalars()
        assert set(names) == {
            "meta", "run", "session", "exchange", "served", "claim", "unit", "unit_exchange", "record",
            "unit_score", "blob", "media", "media_place", "grade",
        }


async def test_a_damaged_exchange_is_named_when_it_is_read(store: Store) -> None:
    await filled(store)
    await damage(store, "UPDATE exchange SET body = x'00' WHERE id = 2")
    with pytest.raises(StoreError, match="exchange 2 is damaged"):
        await store.exchange(2)
