"""Opens a store in a place where this process may not write; run by test_store_files."""

import asyncio
import sys

from harness.cache.store import Store
from harness.errors import StoreError


async def main(path: str) -> None:
    warnings: list[str] = []
    async with await Store.open(path, warn=warnings.append) as store:
        assert store.read_only
        assert any("reading only" in warning for warning in warnings), warnings
        sys.stdout.write(f"{(await store.stats())['exchanges']} ")
        try:
            await store.put_blob(b"x")
        except StoreError as error:
            sys.stdout.write(str(error))


asyncio.run(main(sys.argv[1]))
