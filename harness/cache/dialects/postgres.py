"""Postgres: its engines, lock and copies, and how a commit that got no answer is looked up."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, Connection, Insert, Table, event, select, text
from sqlalchemy.dialects import postgresql
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool

from harness.cache.dialects.base import Access, Fault, Result, Work
from harness.cache.dialects.postgres_copies import copy_schema, copy_to_sqlite
from harness.cache.dialects.postgres_faults import ADVICE, fault_of, scrub
from harness.cache.dialects.postgres_tables import lock_number, postgres_tables, unsound_parts
from harness.cache.postgres_address import PostgresAddress
from harness.cache.tables import META
from harness.errors import ConfigError, NotAStoreError

DRIVER: Final = "asyncpg"
READERS: Final = 4
LOCK_TIMEOUT_S: Final = 20.0
CONNECT_TIMEOUT_S: Final = 10.0
HURRIED_MS: Final = 100
"""How long a transaction waits for the lock once the program is about to end."""
COMMAND_TIMEOUT_S: Final = 300.0
"""How long one statement may take: beyond it the server is taken for lost."""

_SERVER_SETTINGS: Final = {
    "application_name": "harness",
    # A database may have other defaults; the lock must come before the snapshot that ids are taken from.
    "default_transaction_isolation": "read committed",
    "lock_timeout": f"{LOCK_TIMEOUT_S:.0f}s",
    # A process that stops, or whose machine vanishes, must not keep the lock from all others.
    "idle_in_transaction_session_timeout": "60s",
    "tcp_keepalives_idle": "30",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
}

_STORE_ID: Final = "store_id"
_ASK_ID: Final = select(META.c.value).where(META.c.name == _STORE_ID)
_WRITER_PREFIX: Final = "writer:"


class PostgresDialect:
    """Postgres through asyncpg. A store is one schema of a database.

    The write lock is an advisory lock of the transaction. The statement that takes it also counts this
    process's transactions in a row of its own, so that a commit without an answer can be looked up, and
    finds no store where the tables were emptied, restored or replaced.
    """

    lives_in_threads = False
    way_to_write = "connect to the primary server as a user who may write in its schema"

    def __init__(self, address: PostgresAddress, *, command_timeout_s: float = COMMAND_TIMEOUT_S) -> None:
        check_driver()
        self._address = address
        self._command_timeout_s = command_timeout_s
        self._store_id: str | None = None
        self._writer_name = _WRITER_PREFIX + secrets.token_hex(16)
        self._count = 0
        self._hurried = False

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """Return SQLAlchemy's errors, and what a network raises."""
        return (SQLAlchemyError, OSError)

    @property
    def advice(self) -> Mapping[Fault, str]:
        """Return what to do about a server."""
        return ADVICE

    @property
    def schema(self) -> str:
        """Return the schema that the store's tables are in."""
        return self._address.schema

    def identity(self, *, unchanging: bool = False) -> object:
        """Return the id that the store was given when it was made; each transaction asks for it."""
        return self._store_id

    async def check_same(self, connection: AsyncConnection) -> None:
        """Ask for the store's id. Raises StoreReplacedError where it is another one."""
        if (await connection.execute(_ASK_ID)).scalar() != self._store_id:
            raise StoreReplacedError("it holds another store, or none")

    async def recognise(self, connection: AsyncConnection) -> None:
        """Remember the store's id. Raises NotAStoreError where it has none."""
        self._store_id = (await connection.execute(_ASK_ID)).scalar()
        if self._store_id is None:
            raise NotAStoreError(
                f"the tables of schema {self.schema!r} are no store of this program; give another one with "
                "?schema=NAME in the store's URL"
            )

    def reader(self, access: Access) -> AsyncEngine:
        """Return an engine whose connections cannot write."""
        engine = self._engine(pool_size=READERS, isolation_level="AUTOCOMMIT", skip_autocommit_rollback=True)
        event.listen(engine.sync_engine, "connect", _read_only)
        return engine

    def looker(self, access: Access) -> AsyncEngine | None:
        """Return None: connections know the tables by name, and keep no pages."""
        return None

    def writer(self) -> AsyncEngine:
        """Return an engine of one connection whose transactions begin with the store's lock."""
        engine = self._engine(pool_size=1)
        event.listen(engine.sync_engine, "connect", _wait_for_the_disk)
        event.listen(engine.sync_engine, "begin", self._lock)
        return engine

    async def run(self, connection: AsyncConnection, work: Work[Result]) -> Result:
        """Carry out work here: the driver waits in the event loop, and no thread is hopped to."""
        return await work()

    def hurry(self) -> None:
        """Let the next transactions wait for the write lock for `HURRIED_MS` only."""
        self._hurried = True

    def upsert(self, table: Table, update: Sequence[str] = ()) -> Insert:
        """Return an INSERT with ON CONFLICT on the primary key."""
        return _postgres_upsert(table, tuple(update))

    def fault(self, error: BaseException) -> Fault:
        """Return what an error means."""
        return Fault.GONE if isinstance(error, StoreReplacedError) else fault_of(error)

    async def was_committed(self, connection: AsyncConnection) -> bool:
        """Wait for the lock, which the server keeps until it is done with the transaction; then look."""
        await connection.execute(text("SELECT pg_advisory_xact_lock_shared(:n)"), {"n": self._lock_number})
        statement = select(META.c.value).where(META.c.name == self._writer_name)
        return (await connection.execute(statement)).scalar() == str(self._count)

    async def create_tables(self, connection: AsyncConnection, *, only: Collection[str] = ()) -> None:
        """Make the schema where it is missing, its tables (or `only` these), and the store's id."""
        declared = postgres_tables()
        tables = [declared.tables[name] for name in only] or None
        await connection.execute(text(f'CREATE SCHEMA IF NOT EXISTS "{self.schema}"'))
        await connection.run_sync(declared.create_all, tables=tables)
        await connection.execute(self.upsert(META), {"name": _STORE_ID, "value": secrets.token_hex(16)})

    async def keep_copy(self, connection: AsyncConnection, version: int) -> str:
        """Copy the tables to a schema beside this one."""
        engine = self._engine(pool_size=1)
        try:
            async with engine.begin() as writing:
                await writing.execute(text("SELECT pg_advisory_xact_lock(:n)"), {"n": self._lock_number})
                return f"schema {await copy_schema(writing, self.schema, version)} of the same database"
        finally:
            await engine.dispose()

    async def backup(self, connection: AsyncConnection, target: Path) -> None:
        """Copy everything, as of one moment, to an SQLite store."""
        engine = self._engine(pool_size=1, isolation_level="REPEATABLE READ")
        try:
            async with engine.connect() as source:
                await copy_to_sqlite(source, target, skip_meta=(_STORE_ID, _WRITER_PREFIX))
        finally:
            await engine.dispose()

    async def mark_version(self, connection: AsyncConnection, version: int) -> None:
        """Do nothing: the version is read from its table."""

    async def integrity_problems(self, connection: AsyncConnection) -> list[str]:
        """Look for missing tables and keys, indexes that are not valid, and pages with wrong checksums."""
        return await unsound_parts(connection, self.schema)

    @property
    def _lock_number(self) -> int:
        return lock_number(self.schema)

    def _engine(self, **options: Any) -> AsyncEngine:
        connect: dict[str, Any] = {
            "dsn": self._address.dsn,
            "timeout": CONNECT_TIMEOUT_S,
            "command_timeout": self._command_timeout_s,
            "server_settings": {**_SERVER_SETTINGS, "search_path": f'"{self.schema}"'},
        }
        engine = create_async_engine(
            URL.create("postgresql+asyncpg"),
            poolclass=AsyncAdaptedQueuePool,
            max_overflow=0,
            pool_timeout=120,
            # Parameters hold case text: they must not reach a traceback.
            hide_parameters=True,
            connect_args=connect,
            **options,
        )
        event.listen(engine.sync_engine, "handle_error", _scrub)
        return engine

    def _lock(self, connection: Connection) -> None:
        """Take the store's lock at the beginning of a transaction, and count it."""
        if self._hurried:
            connection.execute(text(f"SET LOCAL lock_timeout = {HURRIED_MS}"))
        if self._store_id is None:  # its tables are about to be made, or looked at for the first time
            connection.execute(text("SELECT pg_advisory_xact_lock(:n)"), {"n": self._lock_number})
            return
        self._count += 1
        values = {
            "n": self._lock_number, "writer": self._writer_name, "count": str(self._count),
            "id_name": _STORE_ID, "id": self._store_id,
        }  # fmt: skip
        if connection.execute(_LOCK_AND_COUNT, values).rowcount != 1:
            raise StoreReplacedError("it holds another store, or none")


class StoreReplacedError(SQLAlchemyError):
    """The tables at the store's place are those of another store."""


_LOCK_AND_COUNT: Final = text(
    "INSERT INTO meta (name, value) SELECT :writer, :count "
    "FROM (SELECT pg_advisory_xact_lock(:n)) AS locked "
    "WHERE EXISTS (SELECT FROM meta AS known WHERE known.name = :id_name AND known.value = :id) "
    "ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)


def check_driver() -> None:
    """Raise ConfigError where the driver is not installed."""
    if find_spec(DRIVER) is None:
        raise ConfigError(
            f"a Postgres store needs {DRIVER}, which is not installed; install it with: "
            "pip install 'mllm-harness[postgres]'"
        )


@cache
def _postgres_upsert(table: Table, update: tuple[str, ...]) -> Insert:
    statement = postgresql.insert(table)
    if not update:
        return statement.on_conflict_do_nothing()
    return statement.on_conflict_do_update(
        index_elements=list(table.primary_key.columns),
        set_={name: statement.excluded[name] for name in update},
    )


def _read_only(connection: Any, _record: object) -> None:
    _run(connection, "SET default_transaction_read_only = on")


def _wait_for_the_disk(connection: Any, _record: object) -> None:
    """Have every commit wait for the disk; a server that waits for more, for a replica say, still does."""
    _run(
        connection,
        "SELECT set_config('synchronous_commit', 'on', false) "
        "WHERE current_setting('synchronous_commit') = 'off'",
    )


def _run(connection: Any, statement: str) -> None:
    cursor = connection.cursor()
    cursor.execute(statement)
    cursor.close()
    connection.commit()


def _scrub(context: ExceptionContext) -> None:
    scrub(context.original_exception)
    scrub(context.sqlalchemy_exception)
