"""What every part of the store is built on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias, TypeVar

from harness.cache.database import Database
from harness.cache.writer import Writer
from harness.moments import now_us

Clock: TypeAlias = Callable[[], int]
"""Integer microseconds since 1970 UTC."""

CHUNK: Final = 500
"""Most values in one IN list: far below what any database takes."""

THREAD_FROM_BYTES: Final = 262_144
"""Compressing more than this would hold up the event loop: it is done in a thread."""

Item = TypeVar("Item")
Result = TypeVar("Result")


class StorePart:
    """A group of the store's methods; `Store` is made of all of them."""

    def __init__(self, database: Database, *, clock: Clock = now_us) -> None:
        self._database = database
        self._writer = Writer(database)
        self._clock = clock

    @property
    def read_only(self) -> bool:
        """True where the store is open for reading only: every write raises StoreError."""
        return self._database.only_read


def chunks(items: Sequence[Item], size: int = CHUNK) -> Iterator[Sequence[Item]]:
    """Yield slices of at most `size` items."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


async def off_the_loop(work: Callable[[], Result], size: int) -> Result:
    """Return what work on `size` bytes comes to: in a thread if it would hold up an event loop, else at once.

    Writes are carried out in their connection's own thread where it has one: no loop runs there.
    """
    if size < THREAD_FROM_BYTES:
        return work()
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    return await asyncio.to_thread(work)
