"""What all scores of a run are made of, as one digest: equal as long as nothing of it changed."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final, TypeAlias

from sqlalchemy import Column, Select, Table, Text, func, select, tuple_, type_coerce

from harness.cache.parts import StorePart
from harness.cache.tables import GRADE, SESSION, UNIT, UNIT_EXCHANGE, UNIT_KEY, AnyRow, AnyText

Statement: TypeAlias = "Select[*tuple[Any, ...]]"

PAGE: Final = 20_000
"""Units or links that are read at a time."""


class EvidenceStore(StorePart):
    """Fingerprints of runs."""

    async def evidence_digest(self, run_id: int) -> str:
        """Return the SHA-256 over a run's units with their links, its sessions, and its newest grade.

        Another one wherever a score, or what it took, could be another: a unit that was asked, asked again,
        joined from another store or imported; settings or prices of a session; a grade. Exchanges themselves
        are never changed, so their ids stand for them; grades are only ever added.
        """
        found = hashlib.sha256()
        for table, order in ((UNIT, UNIT_KEY[1:]), (UNIT_EXCHANGE, (*UNIT_KEY[1:], "exchange_id"))):
            found.update(f"{table.name}\n".encode())
            async for rows in self._pages(table, order, run_id):
                found.update("\n".join(map(repr, rows)).encode())
                found.update(b"\n")
        for row in await self._few(_SESSIONS.where(SESSION.c.run_id == run_id)):
            found.update(f"session {row!r}\n".encode())
        for row in await self._few(_GRADES.where(GRADE.c.run_id == run_id)):
            found.update(f"grades {row!r}\n".encode())
        return found.hexdigest()

    async def _pages(
        self, table: Table, order: Sequence[str], run_id: int
    ) -> AsyncIterator[Sequence[AnyRow]]:
        after: AnyRow | None = None
        statement = _all_of(table, order, run_id)
        while True:
            rows = await self._few(statement if after is None else _from(statement, table, order, after))
            if rows:
                yield rows
            if len(rows) < PAGE:
                return
            after = rows[-1]

    async def _few(self, statement: Statement) -> Sequence[AnyRow]:
        async with self._database.reading() as connection:
            rows: Sequence[AnyRow] = (await connection.execute(statement)).all()
        return rows


_SESSIONS: Final = select(SESSION.c.id, SESSION.c.started_at_us, SESSION.c.info).order_by(SESSION.c.id)
_GRADES: Final = select(func.count(), func.max(GRADE.c.id))


def _as_stored(column: Column[Any]) -> Any:
    """Return a column whose texts come as they are stored: undoing their escapes would cost more than all."""
    return type_coerce(column, Text) if isinstance(column.type, AnyText) else column


def _all_of(table: Table, order: Sequence[str], run_id: int) -> Statement:
    # The key first, in its order: the next page begins after it.
    others = [column for column in table.c if column.name not in {"run_id", *order}]
    columns = map(_as_stored, [*(table.c[name] for name in order), *others])
    key = [table.c[name] for name in order]
    return select(*columns).where(table.c.run_id == run_id).order_by(*key).limit(PAGE)


def _from(statement: Statement, table: Table, order: Sequence[str], after: AnyRow) -> Statement:
    key = [_as_stored(table.c[name]) for name in order]
    return statement.where(tuple_(*key) > tuple(after[: len(order)]))
