"""The store's version: made new, checked, or brought up from an older one after a backup."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from sqlalchemy import inspect, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from harness.cache.database import Database, Transaction
from harness.cache.files import PRIVATE_MODE, check_version
from harness.cache.tables import META, METADATA, SCHEMA_VERSION
from harness.errors import NotAStoreError, StoreError, StoreVersionError

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


MIGRATIONS: Final[Mapping[int, Migration]] = {1: _add_fingerprints}
"""Version -> the step that makes it the next one."""

_VERSION_NAME: Final = "schema_version"


async def prepare(
    database: Database, path: Path, *, migrations: Mapping[int, Migration] = MIGRATIONS
) -> Path | None:
    """Make a new store's tables, or check the version and migrate; return the backup made before that.

    Raises StoreVersionError, NotAStoreError, StoreError.
    """
    async with database.reading() as connection:
        version = await stored_version(connection)
    if version is None:
        await _create(database)
        return None
    check_version(version, path)
    if version == SCHEMA_VERSION:
        return None
    return await _migrate(database, path, version, migrations)


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
            await transaction.connection.run_sync(METADATA.create_all)
            await _set_version(transaction, SCHEMA_VERSION)


async def _migrate(
    database: Database, path: Path, version: int, migrations: Mapping[int, Migration]
) -> Path:
    missing = [step for step in range(version, SCHEMA_VERSION) if step not in migrations]
    if missing:
        raise StoreVersionError(
            f"the store {str(path)!r} has version {version}, too old for this program; "
            "open it with an older version of the program first"
        )
    database.writable()
    backup = await _back_up(database, path, version)
    async with database.writing() as transaction:
        # Another process may have migrated since we looked.
        current = await stored_version(transaction.connection)
        for step in range(version if current is None else current, SCHEMA_VERSION):
            await migrations[step](transaction)
            await _set_version(transaction, step + 1)
    return backup


async def _back_up(database: Database, path: Path, version: int) -> Path:
    for number in range(1, 1000):
        target = path.with_name(f"{path.name}.v{version}-backup-{number}")
        try:
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDWR, PRIVATE_MODE))
        except FileExistsError:
            continue
        except OSError as error:
            raise StoreError(f"cannot create the backup {str(target)!r} ({error.strerror})") from error
        try:
            async with database.reading() as connection:
                await database.dialect.backup(connection, target)
        except BaseException:
            target.unlink(missing_ok=True)
            raise
        return target
    raise StoreError(f"too many backups beside {str(path)!r}; move some away")


async def _set_version(transaction: Transaction, version: int) -> None:
    statement = transaction.dialect.upsert(META, ["value"])
    await transaction.connection.execute(statement, {"name": _VERSION_NAME, "value": str(version)})
    await transaction.dialect.mark_version(transaction.connection, version)
