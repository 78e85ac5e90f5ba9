"""An SQLite connection on which a whole piece of work runs in one go, in the connection's own thread.

aiosqlite hands every call (cursor, execute, fetch, close) to its thread and waits: some forty hops a
transaction, each of which wakes two threads, cost more than SQLite does. `run` makes it one.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final, TypeVar

import aiosqlite

Result = TypeVar("Result")

_FETCHED_AT_A_TIME: Final = 64


class SqliteThread(aiosqlite.Connection):
    """A connection whose calls, made from within its own thread, are carried out at once."""

    async def run(self, work: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """Return what a piece of work comes to; it may await nothing but this connection.

        Once begun it is carried to its end, even if the caller is cancelled meanwhile: the caller then waits
        for that end. Raises RuntimeError for work that waits for anything else.
        """
        done = asyncio.ensure_future(self._execute(partial(_driven, work)))
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            await asyncio.wait([done])
            done.cancelled() or done.exception()  # whoever was cancelled wants neither result nor error
            raise

    async def _execute(self, fn: Any, *args: Any, **kwargs: Any) -> Any:
        if threading.get_ident() == self._thread.ident:
            return fn(*args, **kwargs)
        return await super()._execute(fn, *args, **kwargs)  # type: ignore[no-untyped-call]


def connect(database: str, **options: Any) -> SqliteThread:
    """Return a connection to be awaited, as `aiosqlite.connect` does."""
    connection = SqliteThread(partial(sqlite3.connect, database, **options), _FETCHED_AT_A_TIME)
    connection._thread.daemon = True  # a process that is told to stop now does not wait for it
    return connection


def _driven(work: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
    """Carry a coroutine to its end within one thread, without an event loop."""
    coroutine = work()
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: Result = end.value
        return result
    coroutine.close()
    raise RuntimeError("work in the store may wait for nothing but its connection")
