"""The scores of whole runs with the numbers of their units: derived, droppable, and never half there."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from sqlalchemy import delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from harness.cache.database import Transaction
from harness.cache.exchange_rows import packed_json, unpacked_json
from harness.cache.parts import StorePart
from harness.cache.tables import ROW_UNITS, SCORED_RUN
from harness.canonical import JSON, pack, unpack
from harness.errors import StoreError

UNREADABLE: Final = (zlib.error, ValueError, TypeError, AttributeError)
"""What reading damaged scores raises."""


class UnitsKey(NamedTuple):
    """What names a row of a run's scores: its kind, its name, its condition or union."""

    kind: str
    name: str
    condition: str


@dataclass(frozen=True, slots=True)
class PackedUnits:
    """The units of one row: how many, how many numbers each has, and all of that as compressed bytes."""

    key: UnitsKey
    units: int
    width: int
    data: bytes


@dataclass(frozen=True, slots=True)
class StoredScore:
    """What is stored of a run's scores, rows of units apart.

    `scoring` names the scoring that all derived tables of the run are of. `depends` is what the numbers were
    made of; `score` and `effort` are JSON as text. `clusters` has 8 bytes a case; `rows` are those whose
    units are kept, in the order of the scores.
    """

    scoring: str
    depends: Mapping[str, JSON]
    score: str
    effort: str
    clusters: bytes
    rows: Sequence[UnitsKey] = ()


@dataclass(frozen=True, slots=True)
class _Storing:
    run_id: int
    stored: StoredScore
    rows: Iterator[PackedUnits]


class StoredScoreStore(StorePart):
    """Stored scores. What dropped or replaced a run's records has dropped them too."""

    async def store_score(self, run_id: int, stored: StoredScore, rows: Iterator[PackedUnits]) -> bool:
        """Keep a run's scores with all their rows, in one commit, if its records are of this scoring.

        False where another scoring has replaced these since: then its scores are to stand here.
        """
        return await self._writer.submit(_store_all, _Storing(run_id, stored, rows), alone=True)

    async def stored_score(self, run_id: int) -> StoredScore | None:
        """Return a run's stored scores; None where there are none, not all of them, or damaged ones."""
        async with self._database.reading() as connection:
            statement = select(SCORED_RUN).where(SCORED_RUN.c.run_id == run_id)
            row = (await connection.execute(statement)).one_or_none()
            if row is None or row.score is None:
                return None
            keys = (await connection.execute(_KEYS.where(ROW_UNITS.c.run_id == run_id))).all()
            if not await is_scored_by(connection, run_id, row.scoring):
                return None  # another process has just begun to score it, and these rows may be anybody's
        with suppress(*UNREADABLE):
            return read_stored_score(row, [UnitsKey(*key) for key in keys])
        return None

    async def row_units(self, run_id: int, scoring: str, key: UnitsKey) -> PackedUnits | None:
        """Return the units of one row, None where it has none. Raises StoreError.

        `scoring` is that of `stored_score`: rows of another one are none of these scores.
        """
        statement = select(ROW_UNITS).where(
            ROW_UNITS.c.run_id == run_id,
            ROW_UNITS.c.kind == key.kind,
            ROW_UNITS.c.name == key.name,
            ROW_UNITS.c.condition == key.condition,
        )
        async with self._database.reading() as connection:
            row = (await connection.execute(statement)).one_or_none()
            still = await is_scored_by(connection, run_id, scoring)
        if not still:
            raise _scored_again(run_id)
        return None if row is None else PackedUnits(key, row.units, row.width, row.data)


_NAMES: Final = (ROW_UNITS.c.kind, ROW_UNITS.c.name, ROW_UNITS.c.condition)
_KEYS: Final = select(*_NAMES).order_by(ROW_UNITS.c.position)


def read_stored_score(row: Any, rows: Sequence[UnitsKey] = ()) -> StoredScore:
    """Return the scores in a row of their table. Raises `UNREADABLE` for damaged ones."""
    score, effort = unpack(row.score).decode("ascii"), unpack(row.effort).decode("ascii")
    return StoredScore(row.scoring, unpacked_json(row.depends), score, effort, unpack(row.clusters), rows)


async def begin_scoring(connection: AsyncConnection, run_id: int, scoring: str | None) -> None:
    """Drop a run's stored scores, within a transaction; only `scoring` may store others from now on."""
    for table in (ROW_UNITS, SCORED_RUN):
        await connection.execute(delete(table).where(table.c.run_id == run_id))
    if scoring is not None:
        await connection.execute(insert(SCORED_RUN), {"run_id": run_id, "scoring": scoring})


async def is_scored_by(connection: AsyncConnection, run_id: int, scoring: str) -> bool:
    """Tell whether a scoring was the last to replace a run's records."""
    statement = select(SCORED_RUN.c.scoring).where(SCORED_RUN.c.run_id == run_id)
    return (await connection.execute(statement)).scalar() == scoring


async def _store_all(transaction: Transaction, wanted: Sequence[_Storing]) -> list[bool]:
    return [await _store_one(transaction.connection, item) for item in wanted]


async def _store_one(connection: AsyncConnection, item: _Storing) -> bool:
    stored = item.stored
    values = {
        "depends": packed_json(stored.depends),
        "score": pack(stored.score.encode("ascii")),
        "effort": pack(stored.effort.encode("ascii")),
        "clusters": pack(stored.clusters),
    }
    if not await is_scored_by(connection, item.run_id, stored.scoring):
        return False
    await connection.execute(update(SCORED_RUN).where(SCORED_RUN.c.run_id == item.run_id).values(values))
    await connection.execute(delete(ROW_UNITS).where(ROW_UNITS.c.run_id == item.run_id))
    for position, row in enumerate(item.rows):
        of_row = {"position": position, "units": row.units, "width": row.width, "data": row.data}
        await connection.execute(insert(ROW_UNITS), {"run_id": item.run_id, **row.key._asdict(), **of_row})
    return True


def _scored_again(run_id: int) -> StoreError:
    return StoreError(f"run {run_id} was scored again meanwhile; run the same command once more")

