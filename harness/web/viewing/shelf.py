"""Runs that pages look at, with their indexes: read once, kept fresh, forgotten when others are wanted."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from harness.cache.rows import Run, Session
from harness.cache.store import Store
from harness.errors import HarnessError
from harness.internal_errors import code_lines, kind_and_place
from harness.offline.stored_run import StoredRun, load_run, models_of
from harness.settings import Model
from harness.web.viewing.excerpts import Excerpt
from harness.web.viewing.index_reading import IndexReader
from harness.web.viewing.index_scores import current_score
from harness.web.viewing.run_scores import RunScores, run_scores
from harness.web.viewing.run_summaries import RunSummary, Summaries
from harness.web.viewing.unit_index import UnitIndex

_log = logging.getLogger(__name__)

_KEPT_RUNS: Final = 8
"""Runs whose cases are at hand."""
_KEPT_INDEXES: Final = 3
"""Runs whose units and answers are in memory."""
_LOOK_EVERY_S: Final = 1.0
_SHARE: Final = 0.1
"""Of the time that looks at a run may take, however long each of them takes."""
_PATIENCE_S: Final = 0.1
"""How long a page waits for a look to end, rather than show what was seen before."""


@dataclass
class _Held:
    index: UnitIndex
    reader: IndexReader
    mark: tuple[object, ...] = ()
    next_look: float = 0.0
    looking: asyncio.Task[None] | None = None
    filling: asyncio.Task[None] | None = None


@dataclass
class Shelf:
    """The runs of a store, in one event loop."""

    store: Store
    _stored: OrderedDict[int, StoredRun] = field(default_factory=OrderedDict)
    _held: OrderedDict[int, asyncio.Task[_Held]] = field(default_factory=OrderedDict)
    _scores: dict[int, tuple[object, RunScores | None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Begin with no run counted."""
        self._summaries = Summaries(self.store)

    def stop(self) -> None:
        """Let what reads answers end at its next step."""
        for task in self._held.values():
            _let_go(task)

    async def summaries(self) -> Sequence[RunSummary]:
        """Return all runs in a few words, the one that was worked on last first."""
        return await self._summaries.all()

    async def scores(self, reference: str) -> RunScores | None:
        """Return the main metric of a run; None where it has no stored scores that are current."""
        stored = await self.stored(reference)
        mark = await self._mark(stored.run.id, stored)
        known = self._scores.get(stored.run.id)
        if known is None or known[0] != mark:
            kept = await current_score(self.store, stored)
            known = (mark, None if kept is None else run_scores(stored, kept))
            self._scores[stored.run.id] = known
        return known[1]

    async def stored(self, reference: str) -> StoredRun:
        """Return a run by name, digest prefix or latest. Raises UnknownNameError, StoreError."""
        run = await self.store.find_run(reference)
        return await self._with_sessions(run, await self.store.sessions(run.id))

    async def index(self, reference: str) -> UnitIndex:
        """Return all units of a run as they stand. Raises UnknownNameError, StoreError."""
        return (await self._fresh(reference)).index

    async def read(self, reference: str, rows: Sequence[int]) -> None:
        """Read the answers of some rows of a run, and put each in a few words."""
        await (await self._fresh(reference)).reader.read(rows, headlines=True)

    async def excerpts(
        self, reference: str, wanted: Mapping[int, Sequence[str]]
    ) -> Mapping[int, Sequence[Excerpt]]:
        """Return what stands around words in the answers and cases of some rows of a run."""
        return await (await self._fresh(reference)).reader.excerpts(wanted)

    async def _fresh(self, reference: str) -> _Held:
        run = await self.store.find_run(reference)
        task = self._held.pop(run.id, None)
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            task = asyncio.create_task(self._hold(run))
        self._held[run.id] = task
        while len(self._held) > _KEPT_INDEXES:
            _, forgotten = self._held.popitem(last=False)
            _let_go(forgotten)
        held = await asyncio.shield(task)
        if held.looking is None and time.monotonic() >= held.next_look:
            held.looking = asyncio.create_task(self._look(held))
        if held.looking is not None:
            await asyncio.wait([held.looking], timeout=_PATIENCE_S)
        return held

    async def _hold(self, run: Run) -> _Held:
        stored = await self._with_sessions(run, await self.store.sessions(run.id))
        index = UnitIndex(stored)
        held = _Held(index, IndexReader(self.store, index))
        held.mark = await self._mark(run.id, stored)
        await held.reader.load()
        held.next_look = time.monotonic() + _LOOK_EVERY_S
        held.filling = asyncio.create_task(self._fill(held, scores=True))
        return held

    async def _look(self, held: _Held) -> None:
        """Take what changed since the last look. What fails is tried again by the next one."""
        began = time.monotonic()
        try:
            await self._take_changes(held)
        except HarnessError as error:
            _log.warning("run %s cannot be looked at: %s", held.index.stored.run.id, error)
        except Exception as error:  # noqa: BLE001 - told without its text, which may quote a case
            _tell("a look at", held, error)
        finally:
            took = time.monotonic() - began
            held.next_look = time.monotonic() + max(_LOOK_EVERY_S, took / _SHARE)
            held.looking = None

    async def _take_changes(self, held: _Held) -> None:
        run = held.index.stored.run
        stored = await self._with_sessions(run, await self.store.sessions(run.id))
        if stored is not held.index.stored:
            held.index.stored = stored
            held.reader.forget_settings()
        mark = await self._mark(run.id, stored)
        changed, scored = mark != held.mark, mark[-1] != held.mark[-1]
        if changed or held.reader.working:
            await held.reader.look()
        if scored:
            await held.reader.regrade()
        held.mark = mark
        idle = held.filling is None or held.filling.done()
        if idle and (scored or len(held.index.columns.unread)):
            held.filling = asyncio.create_task(self._fill(held, scores=scored))

    async def _mark(self, run_id: int, stored: StoredRun) -> tuple[object, ...]:
        return (
            await self.store.last_exchange_id(), stored.sessions, await self.store.view_mark(run_id)
        )  # fmt: skip

    async def _fill(self, held: _Held, *, scores: bool) -> None:
        try:
            await held.reader.fill(scores=scores)
        except HarnessError as error:
            _log.warning("answers of run %s cannot be read: %s", held.index.stored.run.id, error)
        except Exception as error:  # noqa: BLE001 - as above
            _tell("reading the answers of", held, error)

    async def _with_sessions(self, run: Run, sessions: Sequence[Session]) -> StoredRun:
        known = self._stored.pop(run.id, None)
        if known is None:
            known = await load_run(self.store, run)
        if known.sessions != tuple(sessions):
            known = _of_sessions(known, sessions)
        self._stored[run.id] = known
        while len(self._stored) > _KEPT_RUNS:
            self._stored.popitem(last=False)
        return known


def _tell(what: str, held: _Held, error: Exception) -> None:
    run = held.index.stored.run.id
    _log.error("error: %s run %s failed: %s%s", what, run, kind_and_place(error), code_lines(error, _log))


def _of_sessions(stored: StoredRun, sessions: Sequence[Session]) -> StoredRun:
    """Return a run with the sessions that it has now: its cases and prompts never change."""
    by_session = {session.id: models_of(session) for session in sessions}
    models: dict[str, Model] = {}
    for session in sorted(sessions, key=lambda one: one.id):
        models |= by_session[session.id]
    return replace(stored, models=models, session_models=by_session, sessions=tuple(sessions))


def _let_go(task: asyncio.Task[_Held]) -> None:
    if task.done() and not task.cancelled() and task.exception() is None:
        task.result().reader.stop()
    elif not task.done():
        task.add_done_callback(_let_go)
