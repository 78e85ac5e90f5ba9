"""What tells, while a store is looked at for hours, that it is still the one that was opened."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from sqlalchemy import Select, String, Table, cast, func, literal, or_, select, union_all

from harness.cache.database import StoreGoneError
from harness.cache.parts import StorePart
from harness.cache.tables import EXCHANGE, GRADE, RUN, SESSION

_AT: Final = {
    "exchange": "started_at_us", "session": "started_at_us", "run": "created_at_us", "grade": "graded_at_us",
}  # fmt: skip
_TABLES: Final = (EXCHANGE, SESSION, RUN, GRADE)


class Witness(NamedTuple):
    """The newest rows of a store at one look, as (table, id, its moment): rows that are never deleted."""

    rows: frozenset[tuple[str, int, str]]


class WitnessStore(StorePart):
    """Whether a store is still there."""

    @property
    def identity(self) -> object:
        """What tells this store from others at its place: for a file its number on the disk, else an id."""
        return self._database.identity

    @property
    def is_snapshot(self) -> bool:
        """True where the file is read as one that nobody changes: what is written later is not seen."""
        return self._database.access == "immutable"

    def check_place(self) -> None:
        """Raise StoreGoneError where the file at the store's place is gone, or another; no query is made."""
        self._database.check_place()

    async def witness(self, before: Witness | None = None) -> Witness:
        """Return what is newest in the store, seen by a connection that knows nothing of what was.

        Raises StoreGoneError where it is another store, or lacks a row of `before`, as one does that was put
        back from a backup, over the file itself; StoreError where it cannot be read.
        """
        known = {table: id for table, id, _ in before.rows} if before else {}
        async with self._database.looking_anew() as connection:
            looks = union_all(*(_newest(one, known.get(one.name)) for one in _TABLES))
            found = await connection.execute(looks)
            rows = {(str(table), int(id), str(at)) for table, id, at in found}
        if before is not None and not before.rows <= rows:
            raise StoreGoneError(
                f"the store {self._database.place!r} was put back as it was earlier, or replaced: what was "
                "newest in it is not there any more"
            )
        newest: dict[str, tuple[str, int, str]] = {}
        for row in rows:
            newest[row[0]] = max(row, newest.get(row[0], row), key=lambda one: one[1])
        return Witness(frozenset(newest.values()))


def _newest(table: Table, known: int | None) -> Select[Any]:
    id, at = table.c.id, cast(table.c[_AT[table.name]], String)
    is_newest = id == select(func.max(id)).scalar_subquery()
    wanted = is_newest if known is None else or_(is_newest, id == known)
    return select(literal(table.name), id, at).where(wanted)
