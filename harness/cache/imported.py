"""Finds imported answers again, so that the same file adds nothing the second time."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import func, select

from harness.cache.parts import StorePart, chunks
from harness.cache.tables import EXCHANGE, UNIT_EXCHANGE


class ImportedStore(StorePart):
    """Look-ups over exchanges that no request can be served by."""

    async def imported_in_run(self, run_id: int, twins: Iterable[str]) -> dict[str, tuple[int, str]]:
        """Return twin -> id and key of the newest exchange of it that a run's unit is linked to."""
        newest = (
            select(EXCHANGE.c.twin, func.max(EXCHANGE.c.id).label("id"))
            .join(UNIT_EXCHANGE, UNIT_EXCHANGE.c.exchange_id == EXCHANGE.c.id)
            .where(UNIT_EXCHANGE.c.run_id == run_id)
            .group_by(EXCHANGE.c.twin)
        )
        found: dict[str, tuple[int, str]] = {}
        for part in chunks(list(dict.fromkeys(twins))):
            inside = newest.where(EXCHANGE.c.twin.in_(part)).subquery()
            statement = select(EXCHANGE.c.twin, EXCHANGE.c.id, EXCHANGE.c.key).join(
                inside, inside.c.id == EXCHANGE.c.id
            )
            async with self._database.reading() as connection:
                for row in await connection.execute(statement):
                    found[row.twin] = (row.id, row.key)
        return found

    async def imported_by_key(self, keys: Iterable[str]) -> dict[str, int]:
        """Return key -> id of the newest exchange with it, whichever run it was imported for."""
        found: dict[str, int] = {}
        statement = select(EXCHANGE.c.key, func.max(EXCHANGE.c.id).label("id")).group_by(EXCHANGE.c.key)
        for part in chunks(list(dict.fromkeys(keys))):
            async with self._database.reading() as connection:
                for row in await connection.execute(statement.where(EXCHANGE.c.key.in_(part))):
                    found[row.key] = row.id
        return found
