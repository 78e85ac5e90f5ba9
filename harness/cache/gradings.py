"""Gradings: who grades which answers of a run, in which order, by which personal links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from sqlalchemy import ColumnElement, delete, func, insert, select, update

from harness.cache.database import Transaction
from harness.cache.exchange_rows import packed_json, unpacked_object
from harness.cache.grades import Grade, read_grade
from harness.cache.parts import StorePart
from harness.cache.rows import UnitId
from harness.cache.tables import GRADE, GRADING, UNIT, UNIT_KEY, AnyRow
from harness.canonical import JSON
from harness.errors import ConfigError, StoreError


@dataclass(frozen=True, slots=True)
class StoredGrading:
    """One grading. `settings` never change; `state` does (rounds, what was opened, links).

    `created_at_us` in microseconds since 1970 UTC.
    """

    id: int
    run_id: int
    name: str
    settings: Mapping[str, JSON]
    state: Mapping[str, JSON]
    created_at_us: int


@dataclass(frozen=True, slots=True)
class _New:
    run_id: int
    name: str
    settings: Mapping[str, JSON]
    state: Mapping[str, JSON]
    now_us: int


@dataclass(frozen=True, slots=True)
class _End:
    """`last`: the newest grade of the run that is known; `state`: the last one; None: take it out."""

    grading: StoredGrading
    last: int
    state: Mapping[str, JSON] | None


@dataclass(frozen=True, slots=True)
class _Change:
    id: int
    before: bytes
    after: bytes


class GradingStore(StorePart):
    """The gradings of all runs."""

    async def add_grading(
        self, run_id: int, name: str, settings: Mapping[str, JSON], state: Mapping[str, JSON]
    ) -> StoredGrading:
        """Keep a new grading. Raises ConfigError where the name is taken, StoreError."""
        return await self._writer.submit(_add_all, _New(run_id, name, settings, state, self._clock()))

    async def gradings(self) -> Sequence[StoredGrading]:
        """Return all gradings, oldest first."""
        return await self._those()

    async def grading_named(self, name: str) -> StoredGrading | None:
        """Return the grading of a name, and read no other one; None: there is none."""
        found = await self._those(GRADING.c.name == name)
        return found[0] if found else None

    async def gradings_of(self, run_id: int) -> Sequence[StoredGrading]:
        """Return the gradings of a run, oldest first."""
        return await self._those(GRADING.c.run_id == run_id)

    async def grading_names(self) -> Sequence[str]:
        """Return the names of all gradings, oldest first."""
        async with self._database.reading() as connection:
            rows = await connection.execute(select(GRADING.c.name).order_by(GRADING.c.id))
            return rows.scalars().all()

    async def _those(self, *wanted: ColumnElement[bool]) -> Sequence[StoredGrading]:
        async with self._database.reading() as connection:
            rows = (await connection.execute(select(GRADING).where(*wanted).order_by(GRADING.c.id))).all()
        return tuple(map(_read, rows))

    async def grading_now(self, grading: StoredGrading) -> StoredGrading | None:
        """Return a grading with the state that it has by now; None: it is gone.

        One that was made after it was deleted has its id, and is another one.
        """
        same = (GRADING.c.id == grading.id, GRADING.c.created_at_us == grading.created_at_us)
        statement = select(GRADING.c.state).where(*same)
        async with self._database.reading() as connection:
            found = (await connection.execute(statement)).scalar_one_or_none()
        if found is None:
            return None
        return grading if found == packed_json(grading.state) else replace(grading, state=_mapping(found))

    async def grades_after(self, run_id: int, id: int) -> Sequence[tuple[int, Grade]]:
        """Return the grades of a run that were kept after the one with an id, each with its own, in order.

        For those who have all before: ids only grow, and whatever is kept gets one under the write lock.
        """
        statement = select(GRADE).where(GRADE.c.run_id == run_id, GRADE.c.id > id).order_by(GRADE.c.id)
        async with self._database.reading() as connection:
            rows = (await connection.execute(statement)).all()
        return [(row.id, read_grade(row)) for row in rows]

    async def asked_again(self, run_id: int) -> Mapping[UnitId, tuple[int, str | None]]:
        """Return the units marked to be asked again in a run: after which exchange, and how they ended.

        Another value wherever the answer could be another one by now.
        """
        columns = [UNIT.c[name] for name in (*UNIT_KEY[1:], "again_after", "outcome")]
        statement = select(*columns).where(UNIT.c.run_id == run_id, UNIT.c.again_after > 0)
        async with self._database.reading() as connection:
            rows = (await connection.execute(statement)).all()
        return {UnitId(*row[:4]): (row.again_after, row.outcome) for row in rows}

    async def change_grading(self, grading: StoredGrading, state: Mapping[str, JSON]) -> bool:
        """Put a state in place of the one that `grading` has; False where another one stands there by now."""
        change = _Change(grading.id, packed_json(grading.state), packed_json(state))
        return await self._writer.submit(_change_all, change)

    async def remove_grading(self, grading: StoredGrading, last: int) -> bool:
        """Take a grading out of the store; its grades are the run's, and stay.

        By somebody who knows all grades of its run up to the one with the id `last`: False, and nothing is
        done, where there is a newer one, or another state than that of `grading`.
        """
        return await self._writer.submit(_end_all, _End(grading, last, None))

    async def withdraw_grading(self, grading: StoredGrading, state: Mapping[str, JSON], last: int) -> bool:
        """Put a grading aside with its last state, under another name. Otherwise as `remove_grading`."""
        return await self._writer.submit(_end_all, _End(grading, last, state))


def _read(row: AnyRow) -> StoredGrading:
    settings, state = _mapping(row.settings), _mapping(row.state)
    return StoredGrading(row.id, row.run_id, row.name, settings, state, row.created_at_us)


def _mapping(data: bytes) -> Mapping[str, JSON]:
    found = unpacked_object(data)
    if found is None:
        raise StoreError(
            "a grading in this store is damaged; `harness store verify` lists all that is; take it from "
            "a backup"
        )
    return found


async def _add_all(transaction: Transaction, wanted: Sequence[_New]) -> list[StoredGrading]:
    return [await _add(transaction, new) for new in wanted]


async def _add(transaction: Transaction, new: _New) -> StoredGrading:
    connection = transaction.connection
    taken = await connection.execute(select(GRADING.c.id).where(GRADING.c.name == new.name))
    if taken.first() is not None:
        raise ConfigError(f"a grading {new.name!r} is in this store already; choose another name")
    last = int((await connection.execute(select(func.coalesce(func.max(GRADING.c.id), 0)))).scalar_one())
    row = {
        "id": last + 1,
        "run_id": new.run_id,
        "name": new.name,
        "settings": packed_json(dict(new.settings)),
        "state": packed_json(dict(new.state)),
        "created_at_us": new.now_us,
    }
    await connection.execute(insert(GRADING), row)
    return StoredGrading(last + 1, new.run_id, new.name, new.settings, new.state, new.now_us)


async def _change_all(transaction: Transaction, changes: Sequence[_Change]) -> list[bool]:
    return [await _change(transaction, change) for change in changes]


async def _change(transaction: Transaction, change: _Change) -> bool:
    found = await transaction.connection.execute(
        update(GRADING)
        .where(GRADING.c.id == change.id, GRADING.c.state == change.before)
        .values(state=change.after)
    )
    return found.rowcount == 1


async def _end_all(transaction: Transaction, ends: Sequence[_End]) -> list[bool]:
    return [await _end(transaction, end) for end in ends]


async def _end(transaction: Transaction, end: _End) -> bool:
    connection, grading = transaction.connection, end.grading
    newer = select(GRADE.c.id).where(GRADE.c.run_id == grading.run_id, GRADE.c.id > end.last).limit(1)
    if (await connection.execute(newer)).first() is not None:
        return False
    same = (GRADING.c.id == grading.id, GRADING.c.state == packed_json(grading.state))
    if end.state is None:
        return (await connection.execute(delete(GRADING).where(*same))).rowcount == 1
    taken = set((await connection.execute(select(GRADING.c.name))).scalars())
    names = (f"{grading.name} (withdrawn{'' if n == 1 else f'-{n}'})" for n in count(1))
    values = {"state": packed_json(end.state), "name": next(name for name in names if name not in taken)}
    return (await connection.execute(update(GRADING).where(*same).values(values))).rowcount == 1
