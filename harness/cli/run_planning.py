"""What `run` does before it writes: the plan, made in a thread, with the store as it is beside it."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from tqdm import tqdm

from harness.cache.opening import is_there
from harness.cache.store import Store
from harness.cli.options import say
from harness.config import Config
from harness.errors import StoreError
from harness.media import Media
from harness.media_reading import ReadingCounts, Stamp
from harness.offline.step_cases import follow
from harness.planning import Plan
from harness.planning_thread import plan_in_thread
from harness.run_options import RunOptions

QUIET_S = 2.0
"""Reading media is told of when it takes longer than this."""
LINE_EVERY_S = 15.0
"""Seconds between two lines about it in a pipe."""
LOOK_EVERY_S = 0.5


class StoreAsItIs:
    """The store before anything is written: opened when it is first asked for, None where there is none."""

    def __init__(self, url: str, stack: AsyncExitStack) -> None:
        self._url = url
        self._stack = stack
        self._opened: Store | None = None

    async def get(self) -> Store | None:
        """Return the open store. Raises StoreError where it cannot be used."""
        if self._opened is None and await is_there(self._url):
            self._opened = await self._stack.enter_async_context(await Store.open(self._url, create=False))
        return self._opened

    async def recall(self, stamps: Mapping[Path, Stamp]) -> Mapping[Path, Media]:
        """Return which of these files the store knows unchanged."""
        store = await self.get()
        return {} if store is None else await store.remembered(stamps)


@asynccontextmanager
async def store_as_it_is(url: str) -> AsyncIterator[StoreAsItIs]:
    """Give the store before anything is written, and close it at the end."""
    async with AsyncExitStack() as stack:
        yield StoreAsItIs(url, stack)


async def planned(options: RunOptions, config: Config, found: StoreAsItIs) -> Plan:
    """Make the plan, and show how far it is where that takes long."""
    followed = None
    if options.step is not None:
        store = await found.get()
        if store is None:
            raise StoreError("there is no store yet, so there is no run whose answers a step could look at")
        followed = await follow(store, options)
    counts = ReadingCounts()
    shown = asyncio.create_task(_show(counts), name="reading media")
    try:
        return await plan_in_thread(options, config, found.recall, counts, followed)
    finally:
        shown.cancel()
        await asyncio.wait([shown])


async def _show(counts: ReadingCounts) -> None:
    """Show on stderr how far reading has come, where it takes long: a bar, or a line now and then."""
    await asyncio.sleep(QUIET_S)
    if sys.stderr.isatty():
        await _show_bar(counts)
    said = 0.0
    while True:
        if counts.expected and time.monotonic() - said >= LINE_EVERY_S:
            said = time.monotonic()
            done = counts.known + counts.read
            say(f"reading media: {done}/{counts.expected}, {counts.read_bytes / 1e9:.1f} GB read")
        await asyncio.sleep(LOOK_EVERY_S)


async def _show_bar(counts: ReadingCounts) -> None:
    bar: tqdm[Any]
    with tqdm(
        desc="reading media",
        file=sys.stderr,
        dynamic_ncols=True,
        leave=False,
        bar_format="{desc} {n_fmt}/{total_fmt} {rate_fmt}{postfix}",
    ) as bar:
        while True:
            bar.total, bar.n = counts.expected, counts.known + counts.read
            bar.set_postfix_str(f"{counts.read_bytes / 1e9:.1f} GB", refresh=True)
            await asyncio.sleep(LOOK_EVERY_S)
