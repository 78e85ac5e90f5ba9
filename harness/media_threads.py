"""The few threads in which media are read, converted and encoded, so that the event loop stays free."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, ParamSpec, TypeVar

P = ParamSpec("P")
Result = TypeVar("Result")

MEDIA_THREADS: Final = max(1, min(4, (os.cpu_count() or 1) - 1))
"""How many work at once, one core being the event loop's. More would gain nothing, since base64 runs in one
at a time, and each of them may keep the event loop waiting for the interpreter's lock."""

_threads = ThreadPoolExecutor(MEDIA_THREADS, thread_name_prefix="media")


async def in_media_thread(work: Callable[P, Result], /, *args: P.args, **kwargs: P.kwargs) -> Result:
    """Return what blocking work on media comes to; at most `MEDIA_THREADS` pieces of it run at once."""
    return await asyncio.get_running_loop().run_in_executor(_threads, partial(work, *args, **kwargs))
