"""A plan made in a thread: media that the store knows unchanged are not read, and Ctrl-C ends it soon."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from harness.config import Config
from harness.media import Media
from harness.media_reading import MediaReader, ReadingCounts, Stamp
from harness.offline.step_cases import Followed
from harness.planning import Plan, make_plan
from harness.run_options import RunOptions

Remembered: TypeAlias = Callable[[Mapping[Path, Stamp]], Coroutine[Any, Any, Mapping[Path, Media]]]
"""`Store.remembered`, or what stands for it."""


async def plan_in_thread(
    options: RunOptions,
    config: Config,
    remembered: Remembered,
    counts: ReadingCounts | None = None,
    followed: Followed | None = None,
) -> Plan:
    """Return what `make_plan` does; `counts` tells meanwhile how far the reading of media is.

    Raises what `make_plan` raises, StoreError where the store cannot be asked.
    """
    loop = asyncio.get_running_loop()
    stop = threading.Event()

    def recall(stamps: Mapping[Path, Stamp]) -> Mapping[Path, Media]:
        return asyncio.run_coroutine_threadsafe(remembered(stamps), loop).result()

    reader = MediaReader(recall, stop=stop, counts=counts)
    try:
        return await asyncio.to_thread(make_plan, options, config, reader, followed)
    finally:
        stop.set()
