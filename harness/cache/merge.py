"""Joining another store into this one: nothing is paid for twice, and every run keeps its own evidence."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from sqlalchemy import Column, Table, func, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from harness.cache.database import Transaction
from harness.cache.dialects import SqliteDialect
from harness.cache.merge_exchanges import IdMap, add_exchanges
from harness.cache.merge_gradings import add_gradings
from harness.cache.merge_report import MergeReport
from harness.cache.merge_steps import (
    Target,
    add_blobs,
    add_grades,
    add_media,
    add_places,
    add_runs,
    add_sessions,
    translate_again,
)
from harness.cache.merge_units import add_units, histories, translated
from harness.cache.other_store import Migrate, open_other
from harness.cache.parts import StorePart
from harness.cache.rows import UnitId
from harness.cache.tables import (
    BLOB,
    EXCHANGE,
    GRADE,
    GRADING,
    MEDIA,
    MEDIA_PLACE,
    RUN,
    SERVED,
    SESSION,
    UNIT,
    UNIT_KEY,
    AnyRow,
)
from harness.errors import StoreError

ROWS: Final = 100
"""Rows with bodies or bytes that are held in memory at once."""
UNITS: Final = 500

Step: TypeAlias = Callable[[Target], Awaitable[Any]]
Progress: TypeAlias = Callable[[int, int], None]
"""Called with the exchanges that are done and those that there are."""


class MergeStore(StorePart):
    """Joining stores."""

    async def merge(
        self,
        other: Path,
        migrate: Migrate,
        *,
        dry_run: bool = False,
        progress: Progress = lambda done, total: None,
    ) -> MergeReport:
        """Take over everything that the store in a file holds and this one lacks; the file stays as it is.

        Exchanges keep their order and get our numbers; one that is here already is not taken twice. Where
        both answer a key, ours goes on serving it. Runs of one identity become one: of a unit's two states
        the answered one stands, ours where both are answered. Claims are not taken. In many short commits,
        each of which leaves a sound store: a run may be at work here, and a merge that was killed is finished
        by the same merge. `migrate` brings a copy of an older store up to date. Raises StoreError.
        """
        if self._database.dialect.identity() == _identity(other):
            raise StoreError(f"{str(other)!r} is this very store; name another one to merge into it")
        async with open_other(other, migrate) as theirs:
            merging = _Merging(self, theirs, MergeReport(dry_run), progress)
            await merging.run()
        return merging.report

    async def _step(self, step: Step, *, dry: bool) -> Any:
        """Do one step in a commit of its own; without one where nothing is to be written."""
        if not dry:
            return await self._writer.submit(_do, step, alone=True)
        async with self._database.reading() as connection:
            return await step(Target(connection, self._database.dialect, dry=True))


async def _do(transaction: Transaction, steps: Sequence[Step]) -> list[Any]:
    target = Target(transaction.connection, transaction.dialect, dry=False)
    return [await step(target) for step in steps]


def _identity(path: Path) -> object:
    """Return what `StoreDialect.identity` says of the store in a file; never equal to that of none."""
    return SqliteDialect(path).identity() or path


@dataclass(slots=True)
class _Merging:
    store: MergeStore
    theirs: AsyncConnection
    report: MergeReport
    progress: Progress

    async def run(self) -> None:
        # Each part before what refers to it: a merge that is killed leaves nothing that points nowhere.
        async for rows in self._pages(BLOB, BLOB.c.sha256, ROWS):
            await self._step(_call(add_blobs, rows, self.report))
        async for rows in self._pages(MEDIA, MEDIA.c.sha256, ROWS):
            await self._step(_call(add_media, rows, self.report))
        async for rows in self._pages(MEDIA_PLACE, MEDIA_PLACE.c.path, UNITS):
            await self._step(_call(add_places, rows))
        run_rows = await self._all(RUN)
        runs = await self._step(_call(add_runs, run_rows, self.report))
        session_rows = await self._all(SESSION)
        sessions = await self._step(_call(add_sessions, session_rows, runs, self.report))
        ids = await self._exchanges(sessions)
        up_to = ids.up_to()
        await self._step(_call(translate_again, session_rows, sessions, up_to))
        for theirs, ours in runs.items():
            await self._units(theirs, ours, ids, up_to)
        async for rows in self._pages(GRADE, GRADE.c.id, UNITS):
            await self._step(_call(add_grades, rows, runs, self.report))
        await self._step(_call(add_gradings, await self._all(GRADING), runs, self.report))

    async def _exchanges(self, sessions: Mapping[int, int]) -> IdMap:
        last = select(func.coalesce(func.max(EXCHANGE.c.id), 0))
        count = select(func.count()).select_from(EXCHANGE)
        total = int((await self.theirs.execute(count)).scalar_one())
        theirs = int((await self.theirs.execute(last)).scalar_one())
        ids = IdMap(theirs=theirs)
        done = 0
        async for rows in self._pages(EXCHANGE, EXCHANGE.c.id, ROWS):
            keys = sorted({row.key for row in rows})
            found = await self.theirs.execute(select(SERVED).where(SERVED.c.key.in_(keys)))
            served = {row.key: row.exchange_id for row in found}
            await self._step(_call(add_exchanges, rows, served, sessions, ids, self.report))
            done += len(rows)
            self.progress(done, total)
        return ids

    async def _units(self, theirs: int, ours: int, ids: IdMap, up_to: Sequence[int]) -> None:
        order = [UNIT.c[name] for name in UNIT_KEY[1:]]
        after: tuple[Any, ...] | None = None
        while True:
            statement = select(*order).where(UNIT.c.run_id == theirs).order_by(*order).limit(UNITS)
            if after is not None:
                statement = statement.where(tuple_(*order) > after)
            places = [tuple(row) for row in await self.theirs.execute(statement)]
            if not places:
                return
            found = await histories(self.theirs, theirs, [UnitId(*place) for place in places])
            page = {unit: translated(history, ids, up_to) for unit, history in found.items()}
            await self._step(_call(add_units, ours, page, self.report))
            after = places[-1]

    async def _step(self, step: Step) -> Any:
        return await self.store._step(step, dry=self.report.dry_run)

    async def _all(self, table: Table) -> list[AnyRow]:
        return list((await self.theirs.execute(select(table).order_by(table.c.id))).all())

    async def _pages(self, table: Table, order: Column[Any], size: int) -> AsyncIterator[Sequence[AnyRow]]:
        after: Any = None
        while True:
            statement = select(table).order_by(order).limit(size)
            if after is not None:
                statement = statement.where(order > after)
            rows: Sequence[AnyRow] = (await self.theirs.execute(statement)).all()
            if not rows:
                return
            yield rows
            after = rows[-1]._mapping[order]


def _call(step: Callable[..., Awaitable[Any]], *given: Any) -> Step:
    """Return a step with everything that it needs but our store."""

    async def call(target: Target) -> Any:
        return await step(target, *given)

    return call
