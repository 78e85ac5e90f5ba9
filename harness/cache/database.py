"""Connections to the store: reading, one transaction at a time for writing, errors in our words."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, NoReturn, TypeAlias, TypeVar

from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from harness.cache.dialects import Access, Fault, StoreDialect
from harness.cache.reconnection import PatientConnection, Reconnection
from harness.errors import StoreError, StoreMemoryError

logger = logging.getLogger(__name__)

Sleep: TypeAlias = Callable[[float], Awaitable[None]]
Result = TypeVar("Result")

BUSY_TRIES: Final = 6
"""Times a transaction is begun while another process holds the write lock; each waits BUSY_TIMEOUT_S."""

BUSY_PAUSE_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class Transaction:
    """The write lock of the store, held until the block ends."""

    connection: AsyncConnection
    dialect: StoreDialect


class StoreGoneError(StoreError):
    """The store's file was deleted, moved or replaced while it was in use: nothing more may be written.

    Nor may anything be read and shown together with what was read before.
    """


class CommitUnknownError(StoreError):
    """Nobody waited for a commit's answer, or none came: it may have been made, or not."""


class _HeldByAnotherError(Exception):
    """The write lock was not to be had in time; nothing was begun."""


class Database:
    """One open store. `place` is how it is shown in messages.

    `only_read`: nothing may be written, although the file is opened so that it could be.
    """

    def __init__(
        self,
        dialect: StoreDialect,
        place: str,
        access: Access,
        *,
        sleep: Sleep = asyncio.sleep,
        only_read: bool = False,
        patient: bool = True,
    ) -> None:
        self.dialect = dialect
        self.place = place
        self.access = access
        self.only_read = only_read or access != "rw"
        self._sleep = sleep
        self._hurried = False
        self._identity = self._found()
        self._reader = dialect.reader(access)
        event.listen(self._reader.sync_engine, "connect", self._check_connected)
        self._writer = None if self.only_read else dialect.writer()
        self._looker: AsyncEngine | None = None
        self._reconnection = Reconnection(dialect, self._reader, sleep=sleep, patient=patient)

    async def recognise(self) -> None:
        """Remember which store this is, once its tables are there; a lost server is waited for from now on.

        Raises NotAStoreError.
        """
        async with self.reading() as connection:
            await self.dialect.recognise(connection)
        if self.access != "immutable":  # of such a file, any change since it was opened tells
            self._identity = self._found()
        self._reconnection.allowed = True

    @property
    def identity(self) -> object:
        """What tells this store from any other that may come to its place."""
        return self._identity

    def check_place(self) -> None:
        """Raise StoreGoneError where another file lies at the store's place, or none; it is not opened."""
        found = self._found()
        if found == self._identity:
            return
        if found is None:
            what = "is not where it was: its file was deleted or moved, or its disk is not there"
        elif self.access == "immutable":
            what = "was written to since it was opened as one that nobody writes to"
        else:
            what = "was replaced: another file lies at its place"
        raise StoreGoneError(f"the store {self.place!r} {what}")

    def _found(self) -> object:
        return self.dialect.identity(unchanging=self.access == "immutable")

    def _check_connected(self, connection: Any, _record: object) -> None:
        """Let no two connections be to two stores: what is read by both would be mixed."""
        try:
            self.check_place()
        except StoreGoneError:
            connection.close()
            raise

    async def comes_back(self, error: BaseException) -> bool:
        """Wait, for a bounded time, until a server that was lost answers again: then it is worth a new try.

        False where this is no lost connection, or the server does not come back.
        """
        return await self._reconnection.comes_back(error)

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """Give a connection that sees the last commit. Database errors become StoreError."""
        try:
            async with PatientConnection(self._reader, self._reconnection) as connection:
                yield connection
        except self.dialect.errors as error:
            self.refuse(error)

    @asynccontextmanager
    async def looking_anew(self) -> AsyncIterator[AsyncConnection]:
        """Give a connection for reading that was made just now, and checks first what it is connected to.

        An older one may know pages of a file that was written over since. Raises StoreGoneError, and
        StoreError for what the database says.
        """
        self.check_place()
        if self._looker is None:
            self._looker = self.dialect.looker(self.access) or self._reader
        try:
            async with PatientConnection(self._looker, self._reconnection) as connection:
                await self.dialect.check_same(connection)
                yield connection
        except self.dialect.errors as error:
            self.refuse(error)

    async def read(self, work: Callable[[AsyncConnection], Coroutine[Any, Any, Result]]) -> Result:
        """Return what `work` finds at the last commit, in one hop where the connection lives in a thread.

        It may await nothing but its connection. Database errors become StoreError.
        """
        async with self.reading() as connection:
            if not self.dialect.lives_in_threads:
                return await work(connection)
            return await self.dialect.run(connection, lambda: work(connection))

    async def write(
        self, work: Callable[[Transaction], Coroutine[Any, Any, Result]], *, patient: bool = True
    ) -> Result:
        """Return what `work` comes to, committed; in one hop where the connection lives in a thread.

        It may await nothing but its transaction's connection. Rolled back when it raises. Database errors are
        passed on as they are: see `refuse`. Not `patient`: the write lock is waited for once only, and later
        writes wait for it as long as ever.
        """
        tries = BUSY_TRIES if patient else 1
        if not self.dialect.lives_in_threads:
            async with self.writing(tries=tries) as transaction:
                return await work(transaction)
        return await self._patiently(lambda: self._write_once(work), tries)

    async def _write_once(self, work: Callable[[Transaction], Coroutine[Any, Any, Result]]) -> Result:
        connection = await self.writable().connect().start()

        async def transact() -> Result:
            await self._lock(connection)
            result = await work(Transaction(connection, self.dialect))
            await connection.commit()
            return result

        try:
            result = await self.dialect.run(connection, transact)
            self._check_place()
            return result
        finally:
            await asyncio.shield(connection.close())

    async def _lock(self, connection: AsyncConnection) -> None:
        try:
            await connection.begin()
        except self.dialect.errors as error:
            if self.fault(error) is Fault.BUSY:
                raise _HeldByAnotherError from error
            raise

    @asynccontextmanager
    async def writing(self, *, tries: int = BUSY_TRIES) -> AsyncIterator[Transaction]:
        """Give a transaction that is committed when the block ends and rolled back when it raises.

        Database errors are passed on as they are: see `refuse`.
        """
        connection = await self._begin(self.writable(), tries)
        try:
            yield Transaction(connection, self.dialect)
            await self._commit(connection)
            self._check_place()
        finally:
            await asyncio.shield(connection.close())

    async def _commit(self, connection: AsyncConnection) -> None:
        """Commit; where the answer to that was lost, find out what became of it before anyone acts on it."""
        try:
            await connection.commit()
        except self.dialect.errors as error:
            if self.fault(error) is not Fault.LOST:
                raise
            await connection.invalidate()
            if not await self._was_committed(error):
                raise

    async def _was_committed(self, error: Exception) -> bool:
        """Tell what became of a commit that got no answer. Raises CommitUnknownError where nobody can say."""
        unknown = CommitUnknownError(
            f"the store {self.place!r} lost its server in the middle of a commit, so nobody knows yet "
            "whether the last answers are in it; when the server is back, run the same command again: it "
            "looks first, and asks only for what is missing"
        )
        if not await self.comes_back(error):
            raise unknown from error
        try:
            async with self.reading() as connection:
                return await self.dialect.was_committed(connection)
        except StoreError as failed:
            raise unknown from failed

    def _check_place(self) -> None:
        """Raise StoreGoneError where what was just committed lies in a file that nobody will find."""
        if self.dialect.identity() != self._identity:
            raise StoreGoneError(
                f"the store {self.place!r} was deleted, moved or replaced while it was in use; first put "
                "it back where it was, beside the files that begin with its name, then run the command again"
            )

    def writable(self) -> AsyncEngine:
        """Return the writing engine. Raises StoreError where the store is open for reading only."""
        if self._writer is None:
            raise StoreError(f"the store {self.place!r} can only be read; {self.dialect.way_to_write}")
        return self._writer

    def fault(self, error: BaseException) -> Fault:
        """Return what an error of the database means."""
        return self.dialect.fault(error)

    def refuse(self, error: BaseException) -> NoReturn:
        """Raise StoreError for an error of the database, saying what to do."""
        raise self.as_store_error(error) from error

    def as_store_error(self, error: BaseException) -> StoreError:
        """Return an error of the database in our words; it holds no case text."""
        if isinstance(error, StoreError):
            return error
        original = getattr(error, "orig", None) or error
        advice = self.dialect.advice.get(self.fault(error))
        if advice is None:
            reason = f"{type(original).__name__}: {original}"
            return StoreError(f"the store {self.place!r} refused an entry ({reason})")
        if self.fault(error) is Fault.NO_MEMORY:
            return StoreMemoryError(f"the store {self.place!r} {advice}")
        kind = StoreGoneError if self.fault(error) is Fault.GONE else StoreError
        return kind(f"the store {self.place!r} {advice} ({original})")

    def hurry(self) -> None:
        """Wait hardly at all for other processes from now on: this one is about to end."""
        self._hurried = True
        self.dialect.hurry()

    async def close(self) -> None:
        """Close all connections; the last one out folds the write-ahead log into the file."""
        await self._reader.dispose()
        if self._writer is not None:
            await self._writer.dispose()

    async def _begin(self, engine: AsyncEngine, tries: int) -> AsyncConnection:
        return await self._patiently(lambda: self._begun(engine), tries)

    async def _begun(self, engine: AsyncEngine) -> AsyncConnection:
        connection = await engine.connect().start()
        try:
            await self._lock(connection)
        except BaseException:
            await asyncio.shield(connection.close())
            raise
        return connection

    async def _patiently(self, attempt: Callable[[], Awaitable[Result]], tries: int) -> Result:
        """Try again while another process holds the write lock; after all tries, hardly wait any more."""
        for tries_left in reversed(range(tries)):
            try:
                return await attempt()
            except _HeldByAnotherError as held:
                if not tries_left or self._hurried:
                    if tries == BUSY_TRIES:
                        self.hurry()  # what follows is the end of the program: it must not wait as long again
                    assert held.__cause__ is not None
                    raise held.__cause__ from None
                logger.warning("the store is held by another process; waiting")
            await self._sleep(BUSY_PAUSE_S)
        raise AssertionError("unreachable")

