"""The runs of a store as pages need them, read once and kept while nothing changes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from harness.cache.rows import Run
from harness.cache.store import Store
from harness.offline.stored_run import StoredRun, load_run
from harness.web.viewing.unit_index import UnitIndex

_KEPT: Final = 8
"""Runs whose cases are kept in memory."""


class Library:
    """A store, looked at; nothing is written."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._stored: OrderedDict[int, StoredRun] = OrderedDict()

    async def runs(self) -> Sequence[Run]:
        """Return all runs, oldest first."""
        return await self.store.runs()

    async def stored(self, reference: str) -> StoredRun:
        """Return a run by name, digest prefix or latest. Raises UnknownNameError, StoreError."""
        run = await self.store.find_run(reference)
        sessions = await self.store.sessions(run.id)
        known = self._stored.pop(run.id, None)
        if known is None or known.sessions != tuple(sessions):
            known = await load_run(self.store, run)
        self._stored[run.id] = known
        while len(self._stored) > _KEPT:
            self._stored.popitem(last=False)
        return known

    async def index(self, reference: str) -> UnitIndex:
        """Return all units of a run, kept fresh while a sweep works on it. Raises as `stored` does."""
        raise NotImplementedError
