"""Another store's file, read as it is at one moment and never changed."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TypeAlias

from sqlalchemy.ext.asyncio import AsyncConnection

from harness.cache.database import Database
from harness.cache.dialects import Fault, SqliteDialect
from harness.cache.files import check_file, check_version, ways_to_look
from harness.cache.migrations import stored_version
from harness.cache.tables import SCHEMA_VERSION
from harness.errors import NotAStoreError, StoreError

Migrate: TypeAlias = Callable[[Path], Awaitable[None]]
"""Brings the store in a file up to date."""


@asynccontextmanager
async def open_other(path: Path, migrate: Migrate) -> AsyncIterator[AsyncConnection]:
    """Give a connection that sees the store in a file as it was when it was opened, whoever writes to it.

    An older version is read from a copy that `migrate` brought up to date; the copy is deleted at the end.
    Raises NotAStoreError, StoreVersionError for a newer one, StoreError.
    """
    async with AsyncExitStack() as stack:
        connection, version = await _opened(stack, path)
        if version < SCHEMA_VERSION:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="harness-merge-")))
            copy = folder / "older.sqlite3"
            copy.touch(mode=0o600)
            await SqliteDialect(path).backup(connection, copy)
            await migrate(copy)
            connection, _ = await _opened(stack, copy)
        await connection.exec_driver_sql("BEGIN")
        yield connection


async def _opened(stack: AsyncExitStack, path: Path) -> tuple[AsyncConnection, int]:
    check_file(path)
    dialect = SqliteDialect(path)
    ways = ways_to_look(path)
    for access in ways:
        database = Database(dialect, str(path), access)
        stack.push_async_callback(database.close)
        try:
            connection = await stack.enter_async_context(database.reading())
            version = await stored_version(connection)
        except StoreError as error:
            fault = None if error.__cause__ is None else dialect.fault(error.__cause__)
            if access == ways[-1] or fault not in {Fault.READ_ONLY, Fault.UNREACHABLE}:
                raise
            continue
        if version is None:
            raise NotAStoreError(f"{str(path)!r} is an empty store: there is nothing in it to merge")
        check_version(version, path)
        return connection, version
    raise AssertionError("unreachable")
