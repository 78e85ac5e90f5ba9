"""What only a Postgres store has to stand: its address, its schema, its server's errors."""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path
from typing import Any

import pytest
from postgres_server import PostgresServer, schema_of
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from store_examples import a_key, a_session, an_exchange

from harness.cache import database, opening_postgres
from harness.cache.database import Transaction
from harness.cache.dialects import Fault, postgres
from harness.cache.dialects.postgres import PostgresDialect
from harness.cache.dialects.postgres_faults import fault_of
from harness.cache.postgres_address import read_address
from harness.cache.rows import UnitId, UnitState
from harness.cache.store import Store
from harness.cache.tables import SCHEMA_VERSION
from harness.errors import ConfigError, NotAStoreError, StoreError, StoreVersionError
from harness.outcomes import UnitOutcome

CLOSED_PORT = "postgresql://me:hush-hush@127.0.0.1:1/bench"


def without_test_server(warnings: list[str]) -> list[str]:
    """Leave out what is only true of a server that is thrown away."""
    return [warning for warning in warnings if "fsync=off" not in warning]


async def test_every_spelling_of_the_address_opens_the_same_store(postgres_place: str) -> None:
    rest = postgres_place.partition("://")[2]
    async with await Store.open(f"postgresql+asyncpg://{rest}") as store:
        await store.put_blob(b"here")
        assert store.url.startswith("postgresql+asyncpg://")
    for scheme in ("postgresql", "postgres"):
        async with await Store.open(f"{scheme}://{rest}", create=False) as store:
            assert (await store.stats())["blobs"] == 1


async def test_without_the_driver_the_message_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "find_spec", lambda _name: None)
    with pytest.raises(ConfigError, match=r"pip install 'mllm-harness\[postgres\]'"):
        await Store.open("postgresql://localhost/bench")


async def test_a_server_that_does_not_answer_is_told_at_once_without_the_password(
    caplog: pytest.LogCaptureFixture,
) -> None:  # F46
    caplog.set_level(logging.DEBUG)
    async def never(_seconds: float) -> None:
        raise AssertionError("a server that was never there is not waited for")

    with pytest.raises(StoreError, match="does not answer; check its address") as caught:
        await Store.open(CLOSED_PORT, sleep=never)
    seen = caplog.text
    error: BaseException | None = caught.value
    while error is not None:
        seen += repr(error)
        error = error.__cause__ or error.__context__
    assert "hush-hush" not in seen
    assert "postgresql://127.0.0.1:1/bench" in str(caught.value)


async def test_a_missing_database_is_named(postgres: PostgresServer) -> None:
    url = postgres.database("no-such-database")
    with pytest.raises(StoreError, match="create the database with createdb"):
        await Store.open(url)


async def test_each_schema_is_a_store_of_its_own(postgres: PostgresServer) -> None:
    async with (
        await Store.open(postgres.new_store()) as one,
        await Store.open(postgres.new_store()) as two,
    ):
        await one.put_blob(b"only in one")
        # While a transaction of one store is open, the other one goes on.
        async with one._database.writing():
            await asyncio.wait_for(two.put_blob(b"a"), 10)
        assert [(await store.stats())["blobs"] for store in (one, two)] == [1, 1]
        assert await one.claim("k")
        assert await two.claim("k")


async def test_a_schema_with_other_tables_is_refused_and_untouched(
    postgres: PostgresServer, postgres_place: str
) -> None:
    schema = schema_of(postgres_place)
    await postgres.execute(f"CREATE SCHEMA {schema}", f"CREATE TABLE {schema}.mine (id int)")
    with pytest.raises(NotAStoreError, match="holds tables that are no store of this program"):
        await Store.open(postgres_place)
    tables = await postgres.execute(f"SELECT tablename FROM pg_tables WHERE schemaname = '{schema}'")
    assert tables == [("mine",)]


async def test_tables_with_our_names_are_no_store_by_that(
    postgres: PostgresServer, postgres_place: str
) -> None:
    schema = schema_of(postgres_place)
    await postgres.execute(
        f"CREATE SCHEMA {schema}",
        f"CREATE TABLE {schema}.meta (name text PRIMARY KEY, value text)",
        f"CREATE TABLE {schema}.exchange (id int)",
    )
    with pytest.raises(NotAStoreError, match="has no version"):
        await Store.open(postgres_place)


async def test_a_missing_store_is_not_made_where_that_is_not_wanted(
    postgres: PostgresServer, postgres_place: str
) -> None:
    with pytest.raises(StoreError, match="there is no store at"):
        await Store.open(postgres_place, create=False)
    found = await postgres.execute(
        f"SELECT 1 FROM pg_namespace WHERE nspname = '{schema_of(postgres_place)}'"
    )
    assert found == []


async def test_a_commit_waits_for_the_disk_and_sees_what_was_committed_before_its_lock(
    postgres: PostgresServer, postgres_place: str
) -> None:  # F23
    if not postgres.owned:
        pytest.skip(OWNED_ONLY)
    name = f"careless_{schema_of(postgres_place)}"
    await postgres.execute(
        f'CREATE ROLE "{name}" LOGIN SUPERUSER',
        f'ALTER ROLE "{name}" SET synchronous_commit = off',
        f"ALTER ROLE \"{name}\" SET default_transaction_isolation = 'serializable'",
    )
    try:
        async with (
            await Store.open(as_user(postgres_place, name)) as store,
            store._database.writing() as transaction,
        ):
            settings = [
                (await transaction.connection.execute(text(f"SHOW {setting}"))).scalar_one()
                for setting in ("synchronous_commit", "transaction_isolation")
            ]
        assert settings == ["on", "read committed"]
    finally:
        await postgres.execute(f'DROP OWNED BY "{name}" CASCADE', f'DROP ROLE "{name}"')


OWNED_ONLY = "users and databases are made only on a server of our own"


def as_user(place: str, name: str) -> str:
    """Return a store's URL for another user; the test server asks nobody for a password."""
    return place.replace("user=tester", f"user={name}")


async def test_a_user_who_may_only_read_opens_the_store_for_reading(
    postgres: PostgresServer, postgres_place: str
) -> None:
    if not postgres.owned:
        pytest.skip(OWNED_ONLY)
    async with await Store.open(postgres_place) as store:
        _, session = await a_session(store)
        await store.append(an_exchange(), session=session, serve=True)
    schema = schema_of(postgres_place)
    name = f"reader_{schema}"
    await postgres.execute(
        f'CREATE ROLE "{name}" LOGIN',
        f'GRANT USAGE ON SCHEMA {schema} TO "{name}"',
        f'GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO "{name}"',
    )
    warnings: list[str] = []
    try:
        async with await Store.open(as_user(postgres_place, name), warn=warnings.append) as store:
            assert store.read_only
            assert a_key("one") in await store.served([a_key("one")])
            with pytest.raises(StoreError, match="can only be read; connect to the primary"):
                await store.put_blob(b"x")
        with pytest.raises(StoreError, match="may not make tables there"):
            await Store.open(as_user(postgres.new_store(), name))
    finally:
        await postgres.execute(f'DROP OWNED BY "{name}"', f'DROP ROLE "{name}"')
    assert ["open for reading only" in one for one in without_test_server(warnings)] == [True]


async def test_a_server_that_takes_no_writes_opens_the_store_for_reading(
    postgres: PostgresServer, postgres_place: str
) -> None:
    if not postgres.owned:
        pytest.skip(OWNED_ONLY)
    async with await Store.open(postgres_place):
        pass
    name = f"standby_{schema_of(postgres_place)}"
    await postgres.execute(
        f'CREATE ROLE "{name}" LOGIN SUPERUSER', f'ALTER ROLE "{name}" SET default_transaction_read_only = on'
    )
    try:
        async with await Store.open(as_user(postgres_place, name)) as store:
            assert store.read_only
    finally:
        await postgres.execute(f'DROP ROLE "{name}"')


async def test_too_many_connections_are_told(postgres: PostgresServer, postgres_place: str) -> None:
    if not postgres.owned:
        pytest.skip(OWNED_ONLY)
    name = f"crowded_{schema_of(postgres_place)}"
    await postgres.execute(f'CREATE ROLE "{name}" LOGIN CONNECTION LIMIT 0')
    try:
        with pytest.raises(StoreError, match=r"free connections if it has too many.*\(too many connections"):
            await Store.open(as_user(postgres_place, name))
    finally:
        await postgres.execute(f'DROP ROLE "{name}"')


async def test_a_newer_store_is_refused(postgres: PostgresServer, postgres_place: str) -> None:
    await filled(postgres_place)
    await set_version(postgres, postgres_place, 99)
    with pytest.raises(StoreVersionError, match="has version 99, written by a newer version"):
        await Store.open(postgres_place)


async def filled(place: str) -> None:
    async with await Store.open(place) as store:
        _, session = await a_session(store)
        for n in range(3):
            await store.append(an_exchange(n), session=session, serve=True)


async def set_version(server: PostgresServer, place: str, version: int) -> None:
    await server.execute(
        f"UPDATE meta SET value = '{version}' WHERE name = 'schema_version'", schema=schema_of(place)
    )


OLDER = SCHEMA_VERSION - 1


async def add_column(transaction: Transaction) -> None:
    await transaction.connection.execute(text("ALTER TABLE blob ADD COLUMN added INTEGER"))


COLUMNS = "SELECT attname::text FROM pg_attribute WHERE attrelid = '{}.blob'::regclass AND attnum > 0"


async def test_an_older_store_is_migrated_after_a_copy(postgres: PostgresServer, postgres_place: str) -> None:
    await filled(postgres_place)
    await set_version(postgres, postgres_place, OLDER)
    schema = schema_of(postgres_place)
    warnings: list[str] = []
    steps = {OLDER: add_column}
    async with await Store.open(postgres_place, migrations=steps, warn=warnings.append) as store:
        assert len(await store.served([a_key(0), a_key(1), a_key(2)])) == 3
        assert await store.verify() == []
    copy = f"{schema}_v{OLDER}_1"
    try:
        [warning] = without_test_server(warnings)
        assert f"schema {copy} of the same database" in warning
        assert await postgres.execute(COLUMNS.format(copy)) == [("sha256",), ("data",)]
        assert await postgres.execute(COLUMNS.format(schema)) == [("sha256",), ("data",), ("added",)]
        assert await postgres.execute(f"SELECT count(*) FROM {copy}.exchange") == [(3,)]
        versions = "SELECT value FROM {}.meta WHERE name = 'schema_version'"
        assert await postgres.execute(versions.format(copy)) == [(str(OLDER),)]
        assert await postgres.execute(versions.format(schema)) == [(str(SCHEMA_VERSION),)]
        # Restored, it is a store as sound as it was.
        await postgres.execute(
            f"ALTER SCHEMA {schema} RENAME TO {schema}_broken", f"ALTER SCHEMA {copy} RENAME TO {schema}"
        )
        async with await Store.open(postgres_place, migrations={OLDER: nothing}) as store:
            assert await store.verify() == []
            assert (await store.stats())["exchanges"] == 3
    finally:
        for name in (copy, f"{schema}_broken"):
            await postgres.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE")


async def test_a_store_of_version_2_gets_the_tables_of_whole_scores(
    postgres: PostgresServer, postgres_place: str
) -> None:
    await filled(postgres_place)
    schema = schema_of(postgres_place)
    later = [f"DROP TABLE {name}" for name in ("scored_run", "row_units", "grading", "session_live")]
    await postgres.execute(*later, schema=schema)
    await set_version(postgres, postgres_place, 2)
    storage = (
        "SELECT DISTINCT attstorage::text FROM pg_attribute WHERE attname IN ('score', 'data') "
        "AND attrelid IN ('{0}.scored_run'::regclass, '{0}.row_units'::regclass)"
    )
    try:
        async with await Store.open(postgres_place, warn=lambda told: None) as store:
            assert await store.verify() == []
        assert [str(kind) for (kind,) in await postgres.execute(storage.format(schema))] == ["e"]
    finally:
        await postgres.execute(f"DROP SCHEMA IF EXISTS {schema}_v2_1 CASCADE")


async def nothing(_transaction: Transaction) -> None:
    """A version that changed nothing."""


async def test_a_migration_that_fails_leaves_the_older_store(
    postgres: PostgresServer, postgres_place: str
) -> None:
    async def fails(transaction: Transaction) -> None:
        await add_column(transaction)
        await transaction.connection.execute(text("SELECT nonsense"))

    await filled(postgres_place)
    await set_version(postgres, postgres_place, OLDER)
    with pytest.raises(StoreError):
        await Store.open(postgres_place, migrations={OLDER: fails})
    schema = schema_of(postgres_place)
    assert await postgres.execute(COLUMNS.format(schema)) == [("sha256",), ("data",)]
    await postgres.execute(f"DROP SCHEMA {schema}_v{OLDER}_1 CASCADE")


@pytest.mark.parametrize(
    "change",
    [
        "TRUNCATE meta",
        "UPDATE meta SET value = 'another' WHERE name = 'store_id'",
        "DROP TABLE meta",
        "DROP SCHEMA {schema} CASCADE",
    ],
)
async def test_a_store_that_was_emptied_replaced_or_dropped_takes_nothing(
    postgres: PostgresServer, postgres_place: str, change: str
) -> None:
    schema = schema_of(postgres_place)
    async with await Store.open(postgres_place) as store:
        _, session = await a_session(store)
        await postgres.execute(change.format(schema=schema), schema=schema)
        with pytest.raises(StoreError, match="is not there; check its name"):
            await store.append(an_exchange(), session=session, serve=True)


async def test_a_database_that_is_dropped_meanwhile_is_told_as_gone(postgres: PostgresServer) -> None:
    if not postgres.owned:
        pytest.skip(OWNED_ONLY)
    await postgres.execute("CREATE DATABASE passing")
    async with await Store.open(postgres.database("passing")) as store:
        await store.put_blob(b"x")
        await postgres.execute("DROP DATABASE passing WITH (FORCE)")
        with pytest.raises(StoreError, match="or its database is not there"):
            await store.put_blob(b"y")


async def test_a_lock_that_is_never_let_go_is_told_in_bounded_time(
    postgres_place: str, monkeypatch: pytest.MonkeyPatch
) -> None:  # F44
    assert postgres._SERVER_SETTINGS["lock_timeout"] == "20s"
    monkeypatch.setitem(postgres._SERVER_SETTINGS, "lock_timeout", "50ms")
    monkeypatch.setattr(database, "BUSY_TRIES", 3)
    async with await Store.open(postgres_place) as one, await Store.open(postgres_place) as two:
        async with one._database.writing():
            with pytest.raises(StoreError, match="is held by another process"):
                await two.put_blob(b"x")
        await two.put_blob(b"x")


async def test_a_process_that_stops_in_a_transaction_loses_the_lock(
    postgres_place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with await Store.open(postgres_place):
        pass
    assert "idle_in_transaction_session_timeout" in postgres._SERVER_SETTINGS
    monkeypatch.setitem(postgres._SERVER_SETTINGS, "idle_in_transaction_session_timeout", "100ms")
    async with await Store.open(postgres_place) as one:
        monkeypatch.undo()
        async with await Store.open(postgres_place) as two:
            stopped = await one._database._begin(one._database.writable(), 1)
            await asyncio.wait_for(two.put_blob(b"x"), 15)
            await stopped.invalidate()
            await stopped.close()


async def test_texts_are_ordered_by_code_point_whatever_the_database_thinks(postgres: PostgresServer) -> None:
    if not postgres.owned:
        pytest.skip(OWNED_ONLY)
    await postgres.execute(
        "CREATE DATABASE german TEMPLATE template0 LC_COLLATE 'C.UTF-8' LC_CTYPE 'C.UTF-8' "
        "LOCALE_PROVIDER icu ICU_LOCALE 'de-DE'"
    )
    names = ["b", "A", "a", "B", "é", "Z", "😀", "_", "10", "9"]
    async with await Store.open(postgres.database("german")) as store:
        run, _ = await a_session(store)
        for name in names:
            await store.finish_unit(run, UnitState(UnitId("m", "c", name), UnitOutcome.EMPTY), [])
        pages = [page async for page in store.unit_state_pages(run, page=3)]
    assert [state.unit.case_id for page in pages for state in page] == sorted(names)


async def test_a_clock_that_differs_from_the_servers_is_told(
    postgres_place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Late:
        @staticmethod
        def time() -> float:
            return time.time() - 100

    monkeypatch.setattr(opening_postgres, "time", Late)
    warnings: list[str] = []
    async with await Store.open(postgres_place, warn=warnings.append):
        assert ["differ by 100 s" in one for one in without_test_server(warnings)] == [True]


async def test_verify_finds_what_the_database_lacks(postgres: PostgresServer, postgres_place: str) -> None:
    async with await Store.open(postgres_place) as store:
        assert await store.verify() == []
        await postgres.execute(
            "DROP INDEX ix_exchange_key",
            "ALTER TABLE served DROP CONSTRAINT served_pkey",
            "DROP TABLE grade",
            "ALTER TABLE exchange DROP CONSTRAINT exchange_session_id_fkey",
            "ALTER TABLE unit ADD CONSTRAINT unchecked FOREIGN KEY (run_id) REFERENCES run (id) NOT VALID",
            schema=schema_of(postgres_place),
        )
        problems = await store.verify()
    assert {
        "the index 'ix_exchange_key' is missing",
        "the primary key of 'served' is missing",
        "the table 'grade' is missing",
        "the foreign key of 'exchange to session' is missing",
        "the foreign key 'unchecked' was never checked; validate the constraint",
    } <= set(problems)


async def test_a_backup_is_an_sqlite_store_with_the_same_content(
    postgres_place: str, tmp_path: Path
) -> None:
    odd = UnitId("m\\", "a:b\x00", "case \ud800 😀", 3)
    async with await Store.open(postgres_place) as store:
        run, session = await a_session(store)
        for n in range(3):
            await store.append(an_exchange(n), session=session, serve=True, link=(run, odd))
        await store.put_blob(b"prompt")
        target = tmp_path / "copies" / "copy.sqlite3"
        target.parent.mkdir()
        made = await store.backup(target)
        stats = await store.stats()
    assert (made.runs, made.exchanges, made.size) == (1, 3, target.stat().st_size)
    assert target.stat().st_mode & 0o777 == 0o600
    assert list(target.parent.iterdir()) == [target]
    async with await Store.open(str(target), create=False) as copy:
        assert await copy.stats() == stats
        assert await copy.verify() == []
        [unit] = [unit async for unit in copy.linked_units(run)]
        assert unit.state.unit == odd
        assert [exchange.data for _, exchange in unit.links] == [an_exchange(n) for n in range(3)]


async def test_rows_that_the_server_refuses_are_not_repeated_in_errors(postgres_place: str) -> None:  # F46
    secret = "the patient's own words"
    async with await Store.open(postgres_place) as store:
        with pytest.raises(DBAPIError) as caught:
            async with store._database.writing() as transaction:
                statement = text("INSERT INTO served (key, exchange_id) VALUES (:key, NULL)")
                await transaction.connection.execute(statement, {"key": secret})
        with pytest.raises(DBAPIError) as caught_too:
            async with store._database.writing() as transaction:
                statement = text("INSERT INTO served (key, exchange_id) VALUES (:key, 1)")
                await transaction.connection.execute(statement, {"key": f"{secret} \ud800"})
    for found in (caught, caught_too):
        error: BaseException | None = found.value
        while error is not None:
            assert secret not in str(error)
            error = error.__cause__ or error.__context__


class ServerError(Exception):
    def __init__(self, sqlstate: str) -> None:
        super().__init__("whatever it says")
        self.sqlstate = sqlstate


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (ServerError("08006"), Fault.LOST),
        (ServerError("57P01"), Fault.LOST),
        (ServerError("57P03"), Fault.LOST),
        (ServerError("53300"), Fault.LOST),
        (ServerError("53100"), Fault.FULL),
        (ServerError("25006"), Fault.READ_ONLY),
        (ServerError("42501"), Fault.READ_ONLY),
        (ServerError("55P03"), Fault.BUSY),
        (ServerError("40P01"), Fault.BUSY),
        (ServerError("28P01"), Fault.DENIED),
        (ServerError("3D000"), Fault.GONE),
        (ServerError("57P04"), Fault.GONE),
        (ServerError("XX001"), Fault.DAMAGED),
        (ServerError("58030"), Fault.UNREACHABLE),
        (ServerError("23503"), Fault.REFUSED),
        (ServerError("22P05"), Fault.REFUSED),
        (ConnectionRefusedError("no"), Fault.LOST),
        (TimeoutError(), Fault.LOST),
        (ValueError("a bug"), Fault.REFUSED),
    ],
    ids=repr,
)
def test_faults_are_told_apart_by_postgres_own_code(error: Any, fault: Fault) -> None:
    wrapped = DBAPIError("INSERT", None, error)
    assert fault_of(error) is fault
    assert fault_of(wrapped) is fault


def test_a_dialect_shows_no_password(monkeypatch: pytest.MonkeyPatch) -> None:  # F46
    address = read_address("postgresql+asyncpg://me:hush-hush@db/x?password=hush-hush")
    dialect = PostgresDialect(address)
    engine = dialect.reader("rw")
    assert "hush-hush" not in repr(address) + repr(vars(dialect)) + repr(engine) + str(engine.url)
