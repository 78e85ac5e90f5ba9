"""How entries gather into commits."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from harness.cache.database import Transaction
from harness.cache.store import Store


class Sleeps:
    """A sleep that ends when it is told to, and knows how long it was asked for."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self.over = asyncio.Event()

    async def __call__(self, seconds: float) -> None:
        self.asked.append(seconds)
        await self.over.wait()


async def test_entries_that_come_while_a_commit_waits_are_in_it(store: Store) -> None:
    groups: list[int] = []

    async def apply(_transaction: Transaction, items: Sequence[int]) -> list[int]:
        groups.append(len(items))
        return list(items)

    sleeps = Sleeps()
    writer = store._writer
    writer._sleep = sleeps
    store.gather(0.01)
    entries = []
    for number in range(20):
        entries.append(asyncio.create_task(writer.submit(apply, number)))
        await asyncio.sleep(0)  # one after another, as answers come
    sleeps.over.set()
    assert await asyncio.gather(*entries) == list(range(20))
    assert groups == [20]
    assert sleeps.asked == [0.01]


async def test_without_gathering_nothing_waits(store: Store) -> None:
    sleeps = Sleeps()
    store._writer._sleep = sleeps
    await asyncio.wait_for(store.put_blob(b"one"), 10)
    store.gather(0.01)
    store.hurry()
    await asyncio.wait_for(store.put_blob(b"two"), 10)
    assert sleeps.asked == []
