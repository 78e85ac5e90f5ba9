"""SQLite: its engines, pragmas and copies, and what its errors mean."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from sqlalchemy import URL, Connection, Insert, Table, event, text
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool, NullPool

from harness.cache.dialects.base import Access, Fault, Result, Work
from harness.cache.sqlite_thread import SqliteThread, connect
from harness.cache.tables import METADATA
from harness.errors import StoreError

APPLICATION_ID: Final = 0x48524E53
"""Marks an SQLite file as a store of ours ("HRNS")."""

BUSY_TIMEOUT_S: Final = 20.0
"""How long one statement waits for another process's write."""

HURRIED_MS: Final = 100
"""The same once the program is about to end."""

READERS: Final = 4
PRIVATE_MODE: Final = 0o600
MOST_COPIES: Final = 1_000


class SqliteDialect:
    """SQLite through aiosqlite."""

    lives_in_threads = True
    way_to_write = "make its file and folder writable, or copy it"

    def __init__(self, path: Path, *, busy_timeout_s: float = BUSY_TIMEOUT_S) -> None:
        self._path = path
        self._busy_timeout_s = busy_timeout_s
        self._hurried = False

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """Return what SQLAlchemy raises for SQLite's errors."""
        return (SQLAlchemyError,)

    @property
    def advice(self) -> Mapping[Fault, str]:
        """Return what to do about a file."""
        return _ADVICE

    def identity(self, *, unchanging: bool = False) -> object:
        """Return what tells the store's file from any other that may come to its place; None: it is gone.

        `unchanging`: also its size and time; where a log beside it holds commits that the file lacks,
        something that equals nothing.
        """
        try:
            found = self._path.stat()
        except OSError:
            return None
        if not unchanging:
            return found.st_dev, found.st_ino
        with suppress(OSError):
            if self._path.with_name(f"{self._path.name}-wal").stat().st_size:
                return object()
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns

    async def check_same(self, connection: AsyncConnection) -> None:
        """Do nothing: a file is known by its place on the disk."""

    async def recognise(self, connection: AsyncConnection) -> None:
        """Do nothing: a file is known by its place on the disk."""

    def reader(self, access: Access) -> AsyncEngine:
        """Return an engine whose connections cannot write."""
        engine = self._engine(
            access, pool_size=READERS, isolation_level="AUTOCOMMIT", skip_autocommit_rollback=True
        )
        event.listen(engine.sync_engine, "connect", _on_connect("PRAGMA query_only=ON"))
        return engine

    def looker(self, access: Access) -> AsyncEngine:
        """Return an engine whose connections are made anew each time, and cannot write."""
        engine = self._engine(access, poolclass=NullPool, isolation_level="AUTOCOMMIT")
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

    async def was_committed(self, connection: AsyncConnection) -> bool:
        """Return False: SQLite says of every commit how it went, and one that failed was not made."""
        return False

    async def create_tables(self, connection: AsyncConnection, *, only: Collection[str] = ()) -> None:
        """Make the tables, or `only` these, as they are declared."""
        tables = [METADATA.tables[name] for name in only] or None
        await connection.run_sync(METADATA.create_all, tables=tables)

    async def keep_copy(self, connection: AsyncConnection, version: int) -> str:
        """Copy the file to one beside it that nobody uses yet."""
        for number in range(1, MOST_COPIES):
            target = self._path.with_name(f"{self._path.name}.v{version}-backup-{number}")
            try:
                os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDWR, PRIVATE_MODE))
            except FileExistsError:
                continue
            except OSError as error:
                raise StoreError(f"cannot create the backup {str(target)!r} ({error.strerror})") from error
            try:
                await self.backup(connection, target)
            except BaseException:
                target.unlink(missing_ok=True)
                raise
            return str(target)
        raise StoreError(f"too many backups beside {str(self._path)!r}; move some away")

    async def backup(self, connection: AsyncConnection, target: Path) -> None:
        """Copy by VACUUM INTO, which sees what still stands in the write-ahead log."""
        await connection.execute(text("PRAGMA query_only=OFF"))
        try:
            await connection.execute(text("VACUUM INTO :target"), {"target": str(target)})
        finally:
            await connection.execute(text("PRAGMA query_only=ON"))

    async def take_alone(self, connection: AsyncConnection) -> None:
        """Leave the write-ahead log, which only a sole connection can, and keep the file's lock."""
        await _run_outside(connection, "PRAGMA journal_mode=DELETE", "PRAGMA locking_mode=EXCLUSIVE")

    async def compact(self, connection: AsyncConnection) -> None:
        """Write the file anew, without what was deleted."""
        await _run_outside(connection, "VACUUM")

    async def let_others_in(self, connection: AsyncConnection) -> None:
        """Let the file's lock go and set up the write-ahead log again, as whoever writes next would too."""
        # The lock is let go at the first read after the pragma.
        await _run_outside(connection, "PRAGMA locking_mode=NORMAL", "SELECT 1 FROM sqlite_master")
        with suppress(sqlite3.OperationalError):  # somebody is in already, and has set it up or will
            await _run_outside(connection, "PRAGMA journal_mode=WAL")

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
            **(_POOL | options if "poolclass" not in options else options),
            # Parameters hold case text: they must not reach a traceback.
            hide_parameters=True,
            connect_args={"timeout": self._busy_timeout_s, "async_creator_fn": connect},
        )


_POOL: Final = {"poolclass": AsyncAdaptedQueuePool, "max_overflow": 0, "pool_timeout": 120}

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


async def _run_outside(connection: AsyncConnection, *statements: str) -> None:
    """Run statements that no transaction may hold: SQLAlchemy would begin one."""
    raw = await connection.get_raw_connection()
    driver: Any = raw.driver_connection
    for statement in statements:
        await (await driver.execute(statement)).close()


_ADVICE: Final = {
    Fault.NO_MEMORY: "cannot take an entry: this machine ran out of memory; close other programs, or lower "
    "--max-in-flight, then run the same command again: what was committed is kept",
    Fault.BUSY: "is held by another process that does not let go; stop that process, then run the same "
    "command again: what was committed is kept",
    Fault.FULL: "cannot grow: its disk is full; free some space, then run the same command again: "
    "what was committed is kept",
    Fault.READ_ONLY: "cannot be written; make its file and folder writable, then run the same command "
    "again: what was committed is kept",
    Fault.UNREACHABLE: "cannot be reached: reading or writing its file failed; check the disk, then run the "
    "same command again: what was committed is kept",
    Fault.DAMAGED: "is damaged; stop, copy the file, and look at it with `harness store verify`, or go back "
    "to a backup",
}
