"""Keeps one exchange more in a store, and closes it; run by test_store_files."""

import asyncio
import sys

from store_examples import a_session, an_exchange

from harness.cache.store import Store


async def main(path: str) -> None:
    async with await Store.open(path) as store:
        _, session = await a_session(store)
        number = (await store.stats())["exchanges"]
        await store.append(an_exchange(number), session=session, serve=True)


asyncio.run(main(sys.argv[1]))
