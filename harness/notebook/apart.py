"""Coroutines carried out in a thread with an event loop of its own, since a notebook has one that runs."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, Generic, TypeAlias, TypeVar

Result = TypeVar("Result")
Item = TypeVar("Item")
Opened = TypeVar("Opened")
Open: TypeAlias = Callable[[], AbstractAsyncContextManager[Opened]]

AHEAD: Final = 2
"""Items that are made before they are asked for."""

_LOOK_EVERY_S: Final = 0.2


def run_apart(open: Open[Opened], work: Callable[[Opened], Coroutine[Any, Any, Result]]) -> Result:
    """Return what work on something opened comes to, or raise what it raises.

    An interrupt cancels the work, and is passed on when what was opened is closed.
    """

    async def once(opened: Opened) -> AsyncIterator[Result]:
        yield await work(opened)

    [result] = stream_apart(open, once)
    return result


def stream_apart(open: Open[Opened], work: Callable[[Opened], AsyncIterator[Item]]) -> Iterator[Item]:
    """Yield the items that work on something opened gives, made at most `AHEAD` before they are asked for.

    Whoever stops early, or is interrupted, cancels the work; what was opened is closed, without being cut
    short, and the thread is waited for.
    """
    maker = _Maker(open, work)
    maker.thread.start()
    try:
        yield from maker.items()
    finally:
        maker.stop()


class _Maker(Generic[Opened, Item]):
    """Makes the items of an iterator in a thread, and hands them over."""

    def __init__(self, open: Open[Opened], work: Callable[[Opened], AsyncIterator[Item]]) -> None:
        self._open = open
        self._work = work
        self._made: queue.Queue[Item | None] = queue.Queue(AHEAD)
        self._stopped = threading.Event()
        self._error: BaseException | None = None
        self._cancel: Callable[[], object] | None = None
        self._lock = threading.Lock()
        self.thread = threading.Thread(target=self._make, name="harness store", daemon=True)

    def items(self) -> Iterator[Item]:
        """Yield what is made. Raises what the iterator raises."""
        while (item := self._made.get()) is not None:
            yield item
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """End the thread, and wait for its end."""
        with self._lock:
            self._stopped.set()
            if self._cancel is not None:
                self._cancel()
        self.thread.join()

    def _make(self) -> None:
        try:
            asyncio.run(self._hand_over())
        except BaseException as error:  # noqa: BLE001 - it is raised where the items are asked for
            self._error = error
        self._put(None)

    async def _hand_over(self) -> None:
        """Make the items in a task of their own: it alone is ever cancelled, and no closing is."""
        loop = asyncio.get_running_loop()
        async with self._open() as opened:
            making = loop.create_task(self._each(opened), name="making items")
            with self._lock:
                self._cancel = lambda: loop.call_soon_threadsafe(making.cancel)
                if self._stopped.is_set():
                    making.cancel()
            try:
                await asyncio.wait([making])
            finally:
                with self._lock:
                    self._cancel = None
            if not making.cancelled():
                making.result()

    async def _each(self, opened: Opened) -> None:
        async for item in self._work(opened):
            if not self._put(item):
                return

    def _put(self, item: Item | None) -> bool:
        """Hand an item over when there is room; False once nobody wants it."""
        while not self._stopped.is_set():
            try:
                self._made.put(item, timeout=_LOOK_EVERY_S)
            except queue.Full:
                continue
            return True
        return False
