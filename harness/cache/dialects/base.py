"""What the store asks of a database."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from sqlalchemy import Insert, Table
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

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
    DENIED = "denied"
    """The server does not let us in."""
    LOST = "lost"
    """The connection broke, or none can be made: the server may come back."""
    GONE = "gone"
    """The database or its tables are there no longer."""
    NO_MEMORY = "no memory"
    """For this entry; a smaller one may well succeed."""
    REFUSED = "refused"
    """This statement was refused; others may well succeed."""


class StoreDialect(Protocol):
    """What the store asks of a database."""

    lives_in_threads: bool
    """True if each connection has a thread of its own, in which `run` carries out a whole transaction."""

    way_to_write: str
    """What to do about a store that can only be read."""

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """Return what the database raises when it fails."""
        ...

    @property
    def advice(self) -> Mapping[Fault, str]:
        """Return what happened and what to do, by fault: the end of a sentence that began with the store."""
        ...

    def identity(self, *, unchanging: bool = False) -> object:
        """Return what tells this store from any other that may come to its place; None: it is gone.

        `unchanging`: also from itself, once something was written to it.
        """
        ...

    async def check_same(self, connection: AsyncConnection) -> None:
        """Raise an error of `errors` where a connection leads to another store than the one recognised."""
        ...

    async def recognise(self, connection: AsyncConnection) -> None:
        """Remember which store this is, once its tables are there. Raises NotAStoreError."""
        ...

    def reader(self, access: Access) -> AsyncEngine:
        """Return the engine for reading: every statement sees the last commit and waits for no writer."""
        ...

    def looker(self, access: Access) -> AsyncEngine | None:
        """Return an engine for one look, which keeps no connection, else as the one for reading.

        None where any connection sees what is there now, whatever was there before.
        """
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

    async def was_committed(self, connection: AsyncConnection) -> bool:
        """Tell whether the last transaction begun was committed, when its commit got no answer.

        `connection` is one for reading. Waits until the database is done with that transaction.
        """
        ...

    async def create_tables(self, connection: AsyncConnection, *, only: Collection[str] = ()) -> None:
        """Make the tables of a new store, or `only` these where they are missing, within a transaction."""
        ...

    async def keep_copy(self, connection: AsyncConnection, version: int) -> str:
        """Keep a copy of a store of this version beside it, before it is changed; return where, as shown.

        `connection` is one for reading. Raises StoreError.
        """
        ...

    async def backup(self, connection: AsyncConnection, target: Path) -> None:
        """Write a consistent copy of the whole store to an empty file: an SQLite store, whatever this is."""
        ...

    async def mark_version(self, connection: AsyncConnection, version: int) -> None:
        """Note the version where it can be read without opening the store, if there is such a place."""
        ...

    async def integrity_problems(self, connection: AsyncConnection) -> list[str]:
        """Return what the database itself finds wrong with what it holds."""
        ...
