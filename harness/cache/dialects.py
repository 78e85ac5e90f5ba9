"""Everything that differs between databases: engines, upserts, pragmas, and what their errors mean."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Coroutine, Sequence
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeAlias, TypeVar
from urllib.parse import quote

from sqlalchemy import URL, Connection, Insert, Table, event, text
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool

from harness.cache.sqlite_thread import SqliteThread, connect

APPLICATION_ID: Final = 0x48524E53
"""Marks an SQLite file as a store of ours ("HRNS")."""

BUSY_TIMEOUT_S: Final = 20.0
"""How long one statement waits for another process's write."""

HURRIED_MS: Final = 100
"""The same once the program is about to end."""

READERS: Final = 4

Access: TypeAlias = Literal["rw", "ro", "immutable"]
Result = TypeVar("Result")
Work: TypeAlias = Callable[[], Coroutine[Any, Any, Result]]


class Fault(Enum):
    """What a database's error means for the store."""

    BUSY = "busy"
    FULL = "full"
    READ_ONLY = "read-only"
    UNREACHABLE = "unreachable"
    DAMAGED = "damaged"
    NO_MEMORY = "no memory"
    """For this entry; a smaller one may well succeed."""
    REFUSED = "refused"
    """This statement was refused; others may well succeed."""


class StoreDialect(Protocol):
    """What the store asks of a database."""

    lives_in_threads: bool
    """True if each connection has a thread of its own, in which `run` carries out a whole transaction."""

    def identity(self) -> object:
        """Return what tells this store from any other that may come to its place; None: it is gone."""
        ...

    def reader(self, access: Access) -> AsyncEngine:
        """Return the engine for reading: every statement sees the last commit and waits for no writer."""
        ...

    def writer(self) -> AsyncEngine:
        """Return the engine for writing: a transaction holds the store's one write lock from its start."""
        ...

    async def run(self, connection: AsyncConnection, work: Work[Result]) -> Result:
        """Carry out work that awaits nothing but this connection, in the connection's thread."""
        ...

    def hurry(self) -> None:
        """Wait hardly at all for other processes from now on: this one is about to end."""
        ...

    def upsert(self, table: Table, update: Sequence[str] = ()) -> Insert:
        """Return an insert that updates these columns where the primary key exists (none: keeps the row)."""
        ...

    def fault(self, error: BaseException) -> Fault:
        """Return what an error means."""
        ...

    async def backup(self, connection: AsyncConnection, target: Path) -> None:
        """Write a consistent copy of the whole store to an empty file."""
        ...

    async def mark_version(self, connection: AsyncConnection, version: int) -> None:
        """Note the version where it can be read without opening the store, if there is such a place."""
        ...

    async def integrity_problems(self, connection: AsyncConnection) -> list[str]:
        """Return what the database itself finds wrong with its file."""
        ...


class SqliteDialect:
    """SQLite through aiosqlite."""

    lives_in_threads = True

    def __init__(self, path: Path, *, busy_timeout_s: float = BUSY_TIMEOUT_S) -> None:
        self._path = path
        self._busy_timeout_s = busy_timeout_s
        self._hurried = False

    def identity(self) -> object:
        """Return what tells the store's file from any other that may come to its place; None: it is gone."""
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def reader(self, access: Access) -> AsyncEngine:
        """Return an engine whose connections cannot write."""
        engine = self._engine(
            access, pool_size=READERS, isolation_level="AUTOCOMMIT", skip_autocommit_rollback=True
        )
        event.listen(engine.sync_engine, "connect", _on_connect("PRAGMA query_only=ON"))
        return engine

    def writer(self) -> AsyncEngine:
        """Return an engine of one connection whose transactions are BEGIN IMMEDIATE.

        A transaction that began as a reader and then writes could fail with "database is locked"
        whatever the timeout.
        """
        engine = self._engine("rw", pool_size=1, pool_reset_on_return=None)
        event.listen(engine.sync_engine, "connect", _prepare_writer)
        event.listen(engine.sync_engine, "begin", self._begin_immediate)
        return engine

    async def run(self, connection: AsyncConnection, work: Work[Result]) -> Result:
        """Carry out work in the connection's thread: one hop for all its statements."""
        thread = (await connection.get_raw_connection()).driver_connection
        assert isinstance(thread, SqliteThread)
        return await thread.run(work)

    def hurry(self) -> None:
        """Let the next transactions wait for the write lock for `HURRIED_MS` only."""
        self._hurried = True

    def _begin_immediate(self, connection: Connection) -> None:
        if self._hurried:
            connection.exec_driver_sql(f"PRAGMA busy_timeout={HURRIED_MS}")
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    def upsert(self, table: Table, update: Sequence[str] = ()) -> Insert:
        """Return an INSERT with ON CONFLICT on the primary key."""
        return _sqlite_upsert(table, tuple(update))

    def fault(self, error: BaseException) -> Fault:
        """Return what an error means, by SQLite's own code."""
        original = error.orig if isinstance(error, DBAPIError) else error
        if isinstance(original, MemoryError):
            return Fault.NO_MEMORY
        name = getattr(original, "sqlite_errorname", None) or ""
        for prefix, fault in _FAULTS.items():
            if name.startswith(prefix):
                return fault
        # aiosqlite's own "no active connection" carries no code.
        return Fault.UNREACHABLE if isinstance(original, sqlite3.ProgrammingError) else Fault.REFUSED

    async def backup(self, connection: AsyncConnection, target: Path) -> None:
        """Copy by VACUUM INTO, which sees what still stands in the write-ahead log."""
        await connection.execute(text("PRAGMA query_only=OFF"))
        try:
            await connection.execute(text("VACUUM INTO :target"), {"target": str(target)})
        finally:
            await connection.execute(text("PRAGMA query_only=ON"))

    async def mark_version(self, connection: AsyncConnection, version: int) -> None:
        """Set the header's user_version: an older program refuses the file by its header alone."""
        await connection.execute(text(f"PRAGMA user_version={version:d}"))

    async def integrity_problems(self, connection: AsyncConnection) -> list[str]:
        """Run SQLite's integrity check."""
        rows = (await connection.execute(text("PRAGMA integrity_check"))).scalars().all()
        return [str(row) for row in rows if row != "ok"]

    def _engine(self, access: Access, **options: Any) -> AsyncEngine:
        query = {"uri": "true", "mode": "rw" if access == "rw" else "ro"}
        if access == "immutable":
            query["immutable"] = "1"
        url = URL.create("sqlite+aiosqlite", database=f"file:{quote(str(self._path))}", query=query)
        return create_async_engine(
            url,
            poolclass=AsyncAdaptedQueuePool,
            max_overflow=0,
            pool_timeout=120,
            # Parameters hold case text: they must not reach a traceback.
            hide_parameters=True,
            connect_args={"timeout": self._busy_timeout_s, "async_creator_fn": connect},
            **options,
        )


_FAULTS: Final = {
    "SQLITE_BUSY": Fault.BUSY,
    "SQLITE_LOCKED": Fault.BUSY,
    "SQLITE_PROTOCOL": Fault.BUSY,
    "SQLITE_FULL": Fault.FULL,
    "SQLITE_READONLY": Fault.READ_ONLY,
    "SQLITE_PERM": Fault.READ_ONLY,
    "SQLITE_IOERR": Fault.UNREACHABLE,
    "SQLITE_CANTOPEN": Fault.UNREACHABLE,
    "SQLITE_AUTH": Fault.UNREACHABLE,
    "SQLITE_CORRUPT": Fault.DAMAGED,
    "SQLITE_NOTADB": Fault.DAMAGED,
}


@cache
def _sqlite_upsert(table: Table, update: tuple[str, ...]) -> Insert:
    statement = sqlite.insert(table)
    if not update:
        return statement.on_conflict_do_nothing()
    return statement.on_conflict_do_update(
        index_elements=list(table.primary_key.columns),
        set_={name: statement.excluded[name] for name in update},
    )


def _on_connect(*pragmas: str) -> Callable[[Any, object], None]:
    def run(connection: Any, _record: object) -> None:
        cursor = connection.cursor()
        for pragma in pragmas:
            cursor.execute(pragma)
        cursor.close()

    return run


def _prepare_writer(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the transactions are ours, not the sqlite3 module's
    cursor = connection.cursor()
    cursor.execute("PRAGMA page_count")
    if cursor.fetchone()[0] == 0:
        # The first write of a new file, and before the write-ahead log: a process that is killed
        # here leaves a file that is known to be ours.
        cursor.execute(f"PRAGMA application_id={APPLICATION_ID}")
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()


