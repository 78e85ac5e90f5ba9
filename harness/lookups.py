"""Look-ups of stored answers, many in one query."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TypeAlias

from harness.cache.rows import Exchange

FindServed: TypeAlias = Callable[[Collection[str]], Awaitable[Mapping[str, Exchange]]]


class Lookups:
    """Collects the keys that are asked for while a query runs, and asks for them in the next one.

    So a window of units costs one query, and a single look-up waits for nobody.
    """

    def __init__(self, find: FindServed) -> None:
        self._find = find
        self._wanted: dict[str, list[asyncio.Future[Exchange | None]]] = {}
        self._query: asyncio.Task[None] | None = None

    async def served(self, key: str) -> Exchange | None:
        """Return the stored exchange that answers a key, or None."""
        future: asyncio.Future[Exchange | None] = asyncio.get_running_loop().create_future()
        self._wanted.setdefault(key, []).append(future)
        if self._query is None:
            self._query = asyncio.create_task(self._run(), name="look-ups")
        return await future

    async def _run(self) -> None:
        try:
            while self._wanted:
                await asyncio.sleep(0)  # let the rest of a window add its keys
                wanted, self._wanted = self._wanted, {}
                await self._answer(wanted)
        finally:
            self._query = None

    async def _answer(self, wanted: Mapping[str, list[asyncio.Future[Exchange | None]]]) -> None:
        try:
            found = await self._find(list(wanted))
        except BaseException as error:
            for future in (one for many in wanted.values() for one in many):
                if not future.done():
                    future.set_exception(error)
            if not isinstance(error, Exception):
                raise
            return
        for key, futures in wanted.items():
            for future in futures:
                if not future.done():
                    future.set_result(found.get(key))
