"""The store's version: made new, checked, or brought up from an older one after a backup."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeAlias

from sqlalchemy import inspect, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from harness.cache.database import Database, Transaction
from harness.cache.files import check_version
from harness.cache.tables import META, SCHEMA_VERSION
from harness.errors import NotAStoreError, StoreVersionError

Migration: TypeAlias = Callable[[Transaction], Awaitable[None]]


async def _add_fingerprints(transaction: Transaction) -> None:
    """Make room for what tells an unchanged file; what was noted before is read again."""
    for table, column in (
        ("media", "plain BOOLEAN"),
        ("media_place", "ctime_ns BIGINT DEFAULT 0 NOT NULL"),
        ("media_place", "inode BIGINT DEFAULT 0 NOT NULL"),
        ("media_place", "reader INTEGER DEFAULT 0 NOT NULL"),
    ):
        await transaction.connection.execute(text(f"ALTER TABLE {table} ADD COLUMN {column}"))


async def _add_scored_runs(transaction: Transaction) -> None:
    """Make the tables of whole scores; what they hold is made anew when a run is scored."""
    await transaction.dialect.create_tables(transaction.connection, only=("scored_run", "row_units"))


async def _add_gradings(transaction: Transaction) -> None:
    """Make the tables of gradings by people, and of what sessions at work say of themselves."""
    await transaction.dialect.create_tables(transaction.connection, only=("grading", "session_live"))


MIGRATIONS: Final[Mapping[int, Migration]] = {1: _add_fingerprints, 2: _add_scored_runs, 3: _add_gradings}
"""Version -> the step that makes it the next one."""

_VERSION_NAME: Final = "schema_version"


async def prepare(
    database: Database, *, migrations: Mapping[int, Migration] = MIGRATIONS, only_read: bool = False
) -> str | None:
    """Make a new store's tables, or check the version and migrate; return where the older store is kept.

    `only_read`: an older version is refused, and left as it is.

    Raises StoreVersionError, NotAStoreError, StoreError.
    """
    async with database.reading() as connection:
        version = await stored_version(connection)
    kept = None
    if version is None:
        if only_read:
            raise NotAStoreError(f"the store {database.place!r} is empty; run something first")
        await _create(database)
    else:
        check_version(version, database.place)
        if version != SCHEMA_VERSION:
            if only_read:
                raise StoreVersionError(
                    f"the store {database.place!r} has version {version}, written by an older version of the "
                    f"program, and this one reads {SCHEMA_VERSION}; it was left as it is: `harness status` "
                    "brings it up to date, and keeps a copy of the older one"
                )
            kept = await _migrate(database, version, migrations)
    await database.recognise()
    return kept


async def stored_version(connection: AsyncConnection) -> int | None:
    """Return the version of the tables, None where there are none yet."""
    if not await connection.run_sync(lambda sync: inspect(sync).has_table(META.name)):
        return None
    value = (await connection.execute(select(META.c.value).where(META.c.name == _VERSION_NAME))).scalar()
    if value is None or not value.isdigit():
        raise NotAStoreError("the store has no version: it is no store of this program, or it is damaged")
    return int(value)


async def _create(database: Database) -> None:
    async with database.writing() as transaction:
        # Another process may have made the tables since we looked.
        if await stored_version(transaction.connection) is None:
            await transaction.dialect.create_tables(transaction.connection)
            await _set_version(transaction, SCHEMA_VERSION)


async def _migrate(database: Database, version: int, migrations: Mapping[int, Migration]) -> str:
    missing = [step for step in range(version, SCHEMA_VERSION) if step not in migrations]
    if missing:
        raise StoreVersionError(
            f"the store {database.place!r} has version {version}, too old for this program; "
            "open it with an older version of the program first"
        )
    database.writable()
    async with database.reading() as connection:
        kept = await database.dialect.keep_copy(connection, version)
    async with database.writing() as transaction:
        # Another process may have migrated since we looked.
        current = await stored_version(transaction.connection)
        for step in range(version if current is None else current, SCHEMA_VERSION):
            await migrations[step](transaction)
            await _set_version(transaction, step + 1)
    return kept


async def _set_version(transaction: Transaction, version: int) -> None:
    statement = transaction.dialect.upsert(META, ["value"])
    await transaction.connection.execute(statement, {"name": _VERSION_NAME, "value": str(version)})
    await transaction.dialect.mark_version(transaction.connection, version)
