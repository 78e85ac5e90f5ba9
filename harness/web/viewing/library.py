"""The runs of a store as pages need them, read once and kept fresh, away from the pages' event loop."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

from harness.cache.database import StoreGoneError
from harness.cache.rows import Run
from harness.cache.runs import LATEST
from harness.cache.store import Store
from harness.offline.stored_run import StoredRun
from harness.web.viewing.aside import Aside
from harness.web.viewing.excerpts import Excerpt
from harness.web.viewing.run_scores import RunScores
from harness.web.viewing.run_summaries import RunSummary
from harness.web.viewing.shelf import Shelf
from harness.web.viewing.unit_index import UnitIndex

Result = TypeVar("Result")

PATIENCE_S: Final = 0.2
"""How long a page waits for an index that is being read."""
_TRIES: Final = 10
"""How often a patient page asks for an index, each time as long as any page waits."""
KEPT_S: Final = 10.0
"""How long what came later than a page waits is kept for those who ask again: it shows a moment gone by."""


class Library:
    """A store, looked at; nothing is written.

    Runs and units are read by a thread of its own, from the same store opened once more: however much there
    is to read, pages are answered meanwhile. `ended` ends it, for pages, and so does `close`.
    """

    def __init__(self, store: Store, *, kept_s: float = KEPT_S) -> None:
        self.store = store
        self._kept_s = kept_s
        url, identity = store.url, store.identity
        self._aside: Aside[_Reading] = Aside(lambda: _Reading.open(url, identity))
        self._seen: weakref.WeakValueDictionary[str, UnitIndex] = weakref.WeakValueDictionary()
        self._summed: Sequence[RunSummary] | None = None
        self._asked: dict[tuple[str, str], asyncio.Task[Any]] = {}
        weakref.finalize(self, self._aside.close)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Let pages look at the store; end the thread afterwards."""
        try:
            yield
        finally:
            await self.ended()

    async def ended(self) -> None:
        """End the thread that reads, as `close` does, without holding up the pages' event loop."""
        await asyncio.to_thread(self._aside.close)

    def close(self) -> None:
        """End the thread that reads; whatever is asked for later begins another one."""
        self._aside.close()

    async def runs(self) -> Sequence[Run]:
        """Return all runs, oldest first."""
        return await self.store.runs()

    async def stored(self, reference: str) -> StoredRun:
        """Return a run by name, digest prefix or latest. Raises UnknownNameError, StoreError."""
        return await self._ask(lambda shelf: shelf.stored(reference))

    async def index(self, reference: str) -> UnitIndex:
        """Return all units of a run, kept fresh while a sweep works on it. Raises as `stored` does.

        The first time, all of them are read: some half a second for 100,000.
        """
        return await self._ask(lambda shelf: shelf.index(reference))

    async def soon(self, reference: str) -> UnitIndex | None:
        """Return the same if that takes no longer than a page may wait, else as it was seen last.

        None: it is being read for the first time; ask again. An error is raised now or the next time.
        """
        found = await self._soon(("index", reference), lambda: self.index(reference))
        if found is None:
            return self._seen.get(reference)
        self._seen[reference] = found
        return found

    async def patiently(self, reference: str) -> UnitIndex | None:
        """Return the same as `soon`, for a page that can wait longer for it than for what it is about."""
        for _ in range(_TRIES):
            index = await self.soon(reference)
            if index is not None:
                return index
        return None

    async def summaries(self) -> Sequence[RunSummary] | None:
        """Return all runs in a few words, the latest first; as they were seen last, where it takes long.

        None: they are being counted for the first time; ask again.
        """
        found = await self._soon(("runs", ""), lambda: self._ask(lambda shelf: shelf.summaries()))
        self._summed = self._summed if found is None else found
        return self._summed

    async def scores(self, reference: str) -> tuple[RunScores | None] | None:
        """Return the main metric of a run, if its stored scores are current; None: ask again."""

        async def ask() -> tuple[RunScores | None]:
            return (await self._ask(lambda shelf: shelf.scores(reference)),)

        return await self._soon(("scores", reference), ask)

    async def read(self, reference: str, rows: Sequence[int]) -> None:
        """Read the answers of some rows that a page is about to show, as far as that may take."""
        if rows:
            await self._within_patience(lambda shelf: shelf.read(reference, rows))

    async def excerpts(
        self, reference: str, wanted: Mapping[int, Sequence[str]]
    ) -> Mapping[int, Sequence[Excerpt]]:
        """Return row -> what stands around words in its answer and case, if a page may wait for it."""
        if not wanted:
            return {}
        return await self._within_patience(lambda shelf: shelf.excerpts(reference, wanted)) or {}

    async def warm(self, patience_s: float, reference: str | None = None) -> None:
        """Read the run that is looked at first, else the latest; go on after a while in any case."""
        task = asyncio.create_task(self.index(reference or LATEST))
        task.add_done_callback(_take_error)
        await asyncio.wait([task], timeout=patience_s)

    async def _ask(self, work: Callable[[Shelf], Coroutine[Any, Any, Result]]) -> Result:
        return await self._aside.run(lambda reading: work(reading.shelf))

    async def _within_patience(self, work: Callable[[Shelf], Coroutine[Any, Any, Result]]) -> Result | None:
        """Return what work comes to; None where it takes longer than a page may wait, and then goes on."""
        task = asyncio.create_task(self._ask(work))
        task.add_done_callback(_take_error)
        done, _ = await asyncio.wait([task], timeout=PATIENCE_S)
        return await task if done else None

    async def _soon(
        self, name: tuple[str, str], work: Callable[[], Coroutine[Any, Any, Result]]
    ) -> Result | None:
        """Return what work comes to, of which there is one at a time of each name; None: not yet."""
        task: asyncio.Task[Result] | None = self._asked.get(name)
        if task is None:
            task = self._asked[name] = asyncio.create_task(work())
            task.add_done_callback(lambda done: self._keep(name, done))
        done, _ = await asyncio.wait([task], timeout=PATIENCE_S)
        if not done:
            return None
        self._asked.pop(name, None)
        return await task

    def _keep(self, name: tuple[str, str], task: asyncio.Task[Any]) -> None:
        """Keep what work came to for whoever asks again soon, and then no longer."""
        _take_error(task)
        asyncio.get_running_loop().call_later(self._kept_s, self._forget, name, task)

    def _forget(self, name: tuple[str, str], task: asyncio.Task[Any]) -> None:
        if self._asked.get(name) is task:
            del self._asked[name]


class _Reading:
    """The store, opened once more, and what was read of it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.shelf = Shelf(store)

    @classmethod
    async def open(cls, url: str, identity: object) -> _Reading:
        """Open the store that has this identity. Raises StoreGoneError where another lies there by now."""
        store = await Store.open(url, create=False, only_read=True, patient=False, warn=lambda told: None)
        if store.identity != identity:
            await store.close()
            raise StoreGoneError("the store was replaced while it was being read")
        return cls(store)

    def stop(self) -> None:
        self.shelf.stop()

    async def close(self) -> None:
        await self._store.close()


def _take_error(task: asyncio.Task[Any]) -> None:
    """Let an error that nobody waits for be: whoever asks again gets it, or another answer."""
    if not task.cancelled():
        task.exception()
