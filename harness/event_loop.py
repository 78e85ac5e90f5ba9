"""The event loop on which a session works: the one place that says which loop that is.

Asyncio's own starts a thread at its end, only to wait in it for its other threads. On a machine without
memory such a thread may never come to life, and whoever starts it waits for ever: here, nothing is started.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from harness import address_space

Result = TypeVar("Result")

THREADS: Final = "session"
"""What the names of the threads begin with that work for the loop."""

LAST_WORK_S: Final = 30.0
"""How long work in threads may go on once all else is over: they compute and look up names, in seconds."""


class SessionLoop(asyncio.SelectorEventLoop):
    """A loop that ends without starting anything."""

    def __init__(self) -> None:
        super().__init__()
        self._threads = ThreadPoolExecutor(thread_name_prefix=THREADS)
        self.set_default_executor(self._threads)

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ASYNC109 - theirs
        """Wait for what is at work in threads, `LAST_WORK_S` at most; what was not begun is dropped."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        end = time.monotonic() + LAST_WORK_S
        for thread in threading.enumerate():
            if thread.name.startswith(THREADS):
                thread.join(max(end - time.monotonic(), 0.0))


def run_session(work: Coroutine[Any, Any, Result]) -> Result:
    """Return what the work comes to, on a loop of its own, as `asyncio.run` does."""
    address_space.spare()
    with asyncio.Runner(loop_factory=SessionLoop) as runner:
        return runner.run(work)
