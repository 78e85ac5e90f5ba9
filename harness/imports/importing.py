"""Puts imported answers into the store: exchanges that serve nobody, linked to a run of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from harness.cache.rows import Exchange, Link, LinkedUnit, NewExchange, Run, UnitId, UnitState
from harness.cache.store import Store
from harness.imports.comparing import BATCH, Compared, Comparison, Stored
from harness.imports.reader import AnswerReader, ImportFile
from harness.imports.turns import Check
from harness.offline.replay import Replayer
from harness.offline.stored_run import load_run
from harness.outcomes import UnitOutcome

SUPERSEDED = 0
"""The attempt of an answer that a later import replaced: kept and linked, never read."""


def file_facts(files: Sequence[ImportFile], digests: Sequence[str]) -> list[Mapping[str, object]]:
    """Return what a session keeps of its files: names without folders, digests, formats, what they say."""
    facts: list[Mapping[str, object]] = []
    for file, sha256 in zip(files, digests, strict=True):
        head = file.form.head(file.source)
        facts.append(
            {
                "name": file.source.name,
                "sha256": sha256,
                "format": file.form.name,
                "model": head.model,
                "tool_version": head.tool_version,
                **head.facts,
            }
        )
    return facts


class Importer:
    """Imports the answers of one reader into one run, within one session."""

    def __init__(
        self,
        store: Store,
        run: Run,
        session: int,
        comparison: Comparison,
        check: Check,
    ) -> None:
        """`comparison`: with the answers of the same run. `check`: whether it is still this import's turn."""
        self._store = store
        self._run = run
        self._session = session
        self._comparison = comparison
        self._check = check
        self._fresh = False
        self.stored = Stored()
        """What `add` has come to so far."""

    async def add(self, reader: AnswerReader) -> Stored:
        """Store what is new. What is there already is left as it is, or linked to this run too."""
        stored = self.stored
        self._fresh = not await self._store.count_units(self._run.id)
        async for batch in self._comparison.batches(reader):
            await self._check()
            await self._add(batch, stored)
        return stored

    async def is_finished(self, stored: Stored) -> bool:
        """Tell whether nothing came in, and no earlier import was cut off before its units were finished."""
        if stored.added or stored.linked:
            return False
        counts = await self._store.count_units(self._run.id)
        return all(one.outcome is not None for one in counts)

    async def finish(self) -> int:
        """Say how each unit ends, by the code that scores it; return how many units changed."""
        stored_run = await load_run(self._store, self._run)
        replayer = Replayer(stored_run)
        changed = 0
        waiting: list[tuple[UnitState, Sequence[Link]]] = []
        async for linked in self._store.linked_units(self._run.id, batch=BATCH):
            ended = _ended(linked, replayer)
            if ended is not None:
                changed += 1
                waiting.append(ended)
            if len(waiting) >= BATCH:
                await self._finish(waiting)
                waiting = []
        await self._finish(waiting)
        return changed

    async def _finish(self, units: Iterable[tuple[UnitState, Sequence[Link]]]) -> None:
        async with asyncio.TaskGroup() as group:
            for state, links in units:
                group.create_task(self._store.finish_unit(self._run.id, state, links))

    async def _add(self, batch: Sequence[Compared], stored: Stored) -> None:
        async with asyncio.TaskGroup() as group:
            for one in batch:
                stored.count(one)
                unit, new = one.unit, one.new
                if one.elsewhere is not None:
                    link = Link(one.elsewhere, "answer", new.attempt)
                    group.create_task(self._store.finish_unit(self._run.id, UnitState(unit, None), [link]))
                elif not one.known:
                    group.create_task(self._append(unit, new))

    async def _append(self, unit: UnitId, new: NewExchange) -> None:
        if not self._fresh:
            # What the unit ended as no longer holds: if we are killed before it is finished, that shows.
            await self._store.finish_unit(self._run.id, UnitState(unit, None), [])
        # Never served: what was asked there is not known here.
        await self._store.append(new, session=self._session, serve=False, link=(self._run.id, unit))


def renumbered(linked: LinkedUnit, replayer: Replayer) -> list[tuple[Link, Exchange]]:
    """Return a unit's exchanges with the attempts that they count as, in order.

    Of each attempt that the files name, the newest import counts. As in a run, a send that failed is no
    attempt: the next answer is one more send of the same. What was replaced has the attempt `SUPERSEDED`.
    """
    newest: dict[int, int] = {}
    for _, exchange in linked.links:
        stated = exchange.data.attempt
        newest[stated] = max(newest.get(stated, 0), exchange.id)
    in_order = sorted((exchange for _, exchange in linked.links), key=lambda one: (one.data.attempt, one.id))
    found = []
    attempt = 1
    for exchange in in_order:
        counts = newest[exchange.data.attempt] == exchange.id
        found.append((Link(exchange.id, "answer", attempt if counts else SUPERSEDED), exchange))
        if counts and replayer.read(linked.state.unit, exchange).outcome.serves:
            attempt += 1
    return found


def _ended(linked: LinkedUnit, replayer: Replayer) -> tuple[UnitState, Sequence[Link]] | None:
    """Return how a unit ends, with its links; None where that stands in the store already."""
    links = renumbered(linked, replayer)
    unit = linked.state.unit
    # An outcome that leaves it all to the exchanges: None would say that the unit was never finished.
    read = replayer.replay(unit, LinkedUnit(UnitState(unit, UnitOutcome.VALID), tuple(links))).result
    used = {ask.exchange_id for ask in read.used}
    ended = [replace(link, used=link.exchange_id in used) for link, _ in links]
    error = None if read.error is None else f"{read.error.kind}: {read.error.message}"
    state = UnitState(unit, read.outcome, error=error)
    if state == linked.state and {*ended} == {link for link, _ in linked.links}:
        return None
    return state, ended
