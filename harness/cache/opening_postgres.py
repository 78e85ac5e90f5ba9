"""What a Postgres database tells of a store before it is opened."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Final

from sqlalchemy import text

from harness.cache.database import Database, Sleep
from harness.cache.dialects import Access
from harness.cache.dialects.postgres import PostgresDialect
from harness.cache.location import display
from harness.cache.opening import OpenOptions, prepared
from harness.cache.postgres_address import read_address
from harness.errors import NotAStoreError, StoreError

OLDEST_VERSION: Final = 12
MOST_CLOCK_DIFFERENCE_S: Final = 10.0
"""Claims are leases of 60 s, renewed every 20 s, whose end each machine takes from its own clock."""


@dataclass(frozen=True, slots=True)
class _Place:
    """What is at the place of a store. `clock_lead_s`: how far the server's clock is ahead of ours."""

    server_version: int
    has_schema: bool
    has_store: bool
    has_tables: bool
    may_create: bool
    may_write: bool
    flushes: bool
    clock_lead_s: float


async def is_postgres_store(url: str) -> bool:
    """Tell whether there is a store in the schema that a URL names. Raises StoreError."""
    database = _database(url, "rw")
    try:
        return (await _look(database)).has_store
    finally:
        await database.close()


async def open_postgres(url: str, options: OpenOptions) -> tuple[Database, str | None]:
    """Open the store in the schema that a URL names, for reading only where it cannot be written.

    Returns it, and where an older one is kept. Raises StoreError and its kinds.
    """
    database = _database(url, "rw", options.sleep)
    try:
        place = await _look(database)
        _check(place, database.place, options)
    except BaseException:
        await database.close()
        raise
    if options.create:  # else it is looked at, not worked on
        _warn(place, database.place, options)
    if place.has_store and (options.only_read or not place.may_write):
        await database.close()
        database = _database(url, "ro", options.sleep, patient=options.patient)
    return await prepared(database, options)


def _database(
    url: str, access: Access, sleep: Sleep = asyncio.sleep, *, patient: bool = True
) -> Database:
    return Database(PostgresDialect(read_address(url)), display(url), access, sleep=sleep, patient=patient)


async def _look(database: Database) -> _Place:
    dialect = database.dialect
    assert isinstance(dialect, PostgresDialect)
    began = time.time()
    async with database.reading() as connection:
        row = (await connection.execute(text(_LOOK), {"schema": dialect.schema})).one()
    middle = (began + time.time()) / 2
    has_store = bool(row.has_meta and row.has_exchanges)
    return _Place(
        server_version=row.version // 10_000,
        has_schema=row.has_schema,
        has_store=has_store,
        has_tables=row.tables > 0,
        may_create=row.may_create and row.takes_writes,
        may_write=row.takes_writes and bool(row.may_insert),
        flushes=row.flushes,
        clock_lead_s=float(row.now) - middle,
    )


def _check(place: _Place, name: str, options: OpenOptions) -> None:
    if place.server_version < OLDEST_VERSION:
        raise StoreError(
            f"the store {name!r} is on Postgres {place.server_version}; {OLDEST_VERSION} is the oldest that "
            "will do"
        )
    if place.has_store:
        return
    if place.has_tables:
        raise NotAStoreError(
            f"the schema of {name!r} holds tables that are no store of this program; give another one with "
            "?schema=NAME in the store's URL"
        )
    if not options.create:
        raise StoreError(
            f"there is no store at {name!r}; give another place with --store, or run something first"
        )
    if not place.may_create:
        raise StoreError(
            f"cannot create a store at {name!r}: this user may not make tables there; have the database's "
            "owner run CREATE SCHEMA ... AUTHORIZATION for this user, or give another place with --store"
        )


def _warn(place: _Place, name: str, options: OpenOptions) -> None:
    if not place.flushes:
        options.warn(
            f"the server of {name!r} runs with fsync=off: what it says is committed can be lost when its "
            "machine stops"
        )
    if abs(place.clock_lead_s) > MOST_CLOCK_DIFFERENCE_S:
        options.warn(
            f"this machine's clock and that of the server of {name!r} differ by "
            f"{abs(place.clock_lead_s):.0f} s: set them right, or machines that share this store may ask "
            "the same request twice"
        )


_LOOK: Final = """
    SELECT current_setting('server_version_num')::int AS version,
      n.oid IS NOT NULL AS has_schema,
      EXISTS (SELECT FROM pg_class WHERE relnamespace = n.oid AND relkind = 'r' AND relname = 'meta')
        AS has_meta,
      EXISTS (SELECT FROM pg_class WHERE relnamespace = n.oid AND relkind = 'r' AND relname = 'exchange')
        AS has_exchanges,
      (SELECT count(*) FROM pg_class WHERE relnamespace = n.oid AND relkind IN ('r', 'p', 'v', 'm', 'f'))
        AS tables,
      CASE WHEN n.oid IS NULL THEN has_database_privilege(current_database(), 'CREATE')
        ELSE has_schema_privilege(n.oid, 'CREATE') END AS may_create,
      (SELECT bool_and(has_table_privilege(oid, 'INSERT') AND has_table_privilege(oid, 'UPDATE')
          AND has_table_privilege(oid, 'DELETE'))
        FROM pg_class WHERE relnamespace = n.oid AND relkind = 'r') AS may_insert,
      NOT pg_is_in_recovery()
        AND (SELECT reset_val = 'off' FROM pg_settings WHERE name = 'default_transaction_read_only')
        AS takes_writes,
      current_setting('fsync') = 'on' AS flushes,
      extract(epoch FROM clock_timestamp()) AS now
    FROM (SELECT 1) AS one LEFT JOIN pg_namespace n ON n.nspname = :schema
"""
