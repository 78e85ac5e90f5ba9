"""A thread with an event loop and a store of its own, where reading much holds no page up."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, Final, Generic, Protocol, TypeVar


class _Closing(Protocol):
    def stop(self) -> None: ...

    async def close(self) -> None: ...


_POLITE_S: Final = 3.0

Opened = TypeVar("Opened", bound=_Closing)
Result = TypeVar("Result")


class Aside(Generic[Opened]):
    """Carries coroutines out in another thread, on something that is opened there at the first of them."""

    def __init__(self, open: Callable[[], Awaitable[Opened]]) -> None:
        self._open = open
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._opening: asyncio.Task[Opened] | None = None

    async def run(self, work: Callable[[Opened], Coroutine[Any, Any, Result]]) -> Result:
        """Return what work comes to, or raise what it raises; whoever is cancelled cancels it."""
        future = asyncio.run_coroutine_threadsafe(self._work(work), self._started())
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Cancel what is at work, close what was opened, and end the thread. A second call does nothing."""
        with self._lock:
            thread, loop = self._thread, self._loop
            self._thread = self._loop = None
        if thread is not None and loop is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._opening = None
                self._thread = threading.Thread(
                    target=self._serve, args=(self._loop,), name="harness view", daemon=True
                )
                self._thread.start()
            return self._loop

    async def _work(self, work: Callable[[Opened], Coroutine[Any, Any, Result]]) -> Result:
        if self._opening is None:
            self._opening = asyncio.ensure_future(self._opened())
        try:
            opened = await asyncio.shield(self._opening)
        except Exception:
            self._opening = None  # the next one tries again
            raise
        return await work(opened)

    async def _opened(self) -> Opened:
        return await self._open()

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
            loop.run_until_complete(self._end())
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
        finally:
            asyncio.set_event_loop(None)
            loop.close()

    async def _end(self) -> None:
        """End what is at work: politely, since a query that is cut off loses its connection."""
        opening = self._opening
        if opening is not None and opening.done() and opening.exception() is None:
            opening.result().stop()
        tasks = [task for task in asyncio.all_tasks() if task not in (asyncio.current_task(), opening)]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=_POLITE_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if opening is not None:
            with suppress(Exception):
                await (await opening).close()
