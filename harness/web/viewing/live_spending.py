"""What sessions spent that could not count it at their end: from what they stored, beside the pages."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from harness.budget import Spending
from harness.cache.rows import Run, Session
from harness.cache.store import Store
from harness.errors import StoreError
from harness.offline.spending import spent_by_model

DAMAGED: Final[Mapping[str, Spending]] = MappingProxyType({})
"""Stands for a session that cannot be counted (known by `is`)."""


class SpentBySession:
    """Counts sessions, one at a time, in the order in which they were asked for."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._found: dict[int, Mapping[str, Spending]] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._one = asyncio.Semaphore(1)

    def of(self, run: Run, session: Session, sessions: Sequence[Session]) -> Mapping[str, Spending] | None:
        """Return what a session spent by model, or `DAMAGED`; None while it is being counted."""
        if session.id not in self._found and session.id not in self._tasks:
            work = self._count(run, session, sessions)
            self._tasks[session.id] = asyncio.create_task(work, name=f"spending of session {session.id}")
        return self._found.get(session.id)

    async def counted(self) -> None:
        """Wait until all that was asked for is counted."""
        while self._tasks:
            await asyncio.wait(list(self._tasks.values()))

    async def close(self) -> None:
        """Stop counting."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _count(self, run: Run, session: Session, sessions: Sequence[Session]) -> None:
        try:
            async with self._one:
                self._found[session.id] = dict(await spent_by_model(self._store, run, session, sessions))
        except StoreError:
            self._found[session.id] = DAMAGED
        finally:
            del self._tasks[session.id]
