"""Coroutines carried out in a thread with an event loop of its own, since a notebook has one that runs."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, Final, Generic, TypeVar

Result = TypeVar("Result")
Item = TypeVar("Item")

AHEAD: Final = 2
"""Items that are made before they are asked for."""

_LOOK_EVERY_S: Final = 0.2


def run_apart(work: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
    """Return what a coroutine comes to, or raise what it raises; an interrupt cancels it first."""
    [result] = stream_apart(lambda: _once(work))
    return result


async def _once(work: Callable[[], Coroutine[Any, Any, Result]]) -> AsyncIterator[Result]:
    yield await work()


def stream_apart(work: Callable[[], AsyncIterator[Item]]) -> Iterator[Item]:
    """Yield the items of an asynchronous iterator, made at most `AHEAD` before they are asked for.

    Whoever stops early, or is interrupted, ends it: it is closed, and its thread is waited for.
    """
    maker = _Maker(work)
    maker.thread.start()
    try:
        yield from maker.items()
    finally:
        maker.stop()


class _Maker(Generic[Item]):
    """Makes the items of an iterator in a thread, and hands them over."""

    def __init__(self, work: Callable[[], AsyncIterator[Item]]) -> None:
        self._work = work
        self._made: queue.Queue[Item | None] = queue.Queue(AHEAD)
        self._stopped = threading.Event()
        self._error: BaseException | None = None
        self._stop: Callable[[], object] | None = None
        self._lock = threading.Lock()
        self.thread = threading.Thread(target=self._make, name="harness store", daemon=True)

    def items(self) -> Iterator[Item]:
        """Yield what is made. Raises what the iterator raises."""
        while True:
            item = self._made.get()
            if item is None:
                break
            yield item
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """End the thread, and wait for its end."""
        with self._lock:
            self._stopped.set()
            if self._stop is not None:
                self._stop()
        self.thread.join()

    def _make(self) -> None:
        try:
            asyncio.run(self._hand_over())
        except asyncio.CancelledError:
            pass  # nobody waits any more
        except BaseException as error:  # noqa: BLE001 - it is raised where the items are asked for
            self._error = error
        self._put(None)

    async def _hand_over(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        loop = asyncio.get_running_loop()
        with self._lock:
            self._stop = lambda: loop.call_soon_threadsafe(task.cancel)
            if self._stopped.is_set():
                return
        items = self._work()
        try:
            async for item in items:
                if not self._put(item):
                    return
        finally:
            with self._lock:
                self._stop = None
            await _closed(items)

    def _put(self, item: Item | None) -> bool:
        """Hand an item over when there is room; False once nobody wants it."""
        while not self._stopped.is_set():
            try:
                self._made.put(item, timeout=_LOOK_EVERY_S)
            except queue.Full:
                continue
            return True
        return False


async def _closed(items: AsyncIterator[Any]) -> None:
    """Close an iterator; a cancellation that comes late does not cut this short."""
    close: Callable[[], Coroutine[Any, Any, None]] | None = getattr(items, "aclose", None)
    if close is None:
        return
    closing = asyncio.ensure_future(close())
    try:
        await asyncio.shield(closing)
    except asyncio.CancelledError:
        await closing
