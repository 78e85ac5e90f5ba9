"""Whether the store is sound: its structure, what its rows point to, whether bytes are what they claim."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, Final

from sqlalchemy import Column, Select, Table, and_, exists, func, select

from harness.cache.blobs import unpacked_blob
from harness.cache.exchange_rows import unpacked_json
from harness.cache.grades import unpacked_value
from harness.cache.grading_checks import grading_problems
from harness.cache.key import key_of_twin, read_document, twin_of
from harness.cache.parts import StorePart
from harness.cache.stored_scores import UNREADABLE, read_stored_score
from harness.cache.tables import (
    BLOB,
    EXCHANGE,
    GRADE,
    GRADING,
    MEDIA,
    MEDIA_PLACE,
    RECORD,
    ROW_UNITS,
    RUN,
    SCORED_RUN,
    SERVED,
    SESSION,
    UNIT,
    UNIT_EXCHANGE,
    UNIT_KEY,
    UNIT_SCORE,
    AnyRow,
)
from harness.canonical import canonical_json, digest, sha256_hex, unpack
from harness.errors import StoreError
from harness.outcomes import USABLE, ExchangeOutcome, UnitOutcome

ROWS: Final = 100
"""Rows with bodies or bytes that are held in memory at once."""
MOST_PROBLEMS: Final = 1_000
"""A store that is damaged all over need not be listed to the end."""


class VerifyStore(StorePart):
    """Checking the store."""

    async def verify(self) -> list[str]:
        """Return what is wrong with the store, one sentence each; empty when all is sound.

        Reads everything, a little at a time. Looks at the database's own structure, at what rows point to,
        at digests of blobs, media and manifests, and at the packed bytes of exchanges; makes each exchange's
        key anew from its stored request, where the headers of that request are known.
        """
        problems: list[str] = []
        async with self._database.reading() as connection:
            problems += await self._database.dialect.integrity_problems(connection)
        structure_is_sound = not problems
        try:
            async for found in self._all_problems():
                problems += found
                if len(problems) >= MOST_PROBLEMS:
                    break
        except StoreError as error:
            if structure_is_sound:
                raise
            problems.append(f"the rest could not be looked at: {error}")
        return problems[:MOST_PROBLEMS]

    async def _all_problems(self) -> AsyncIterator[Sequence[str]]:
        for statement, sentence in _DANGLING.items():
            yield await self._sentences(statement, sentence)
        async for found in self._all_contents():
            yield found

    async def _all_contents(self) -> AsyncIterator[Sequence[str]]:
        async for row in self._rows_to_check(BLOB, BLOB.c.sha256):
            if unpacked_blob(row.sha256, row.data) is None:
                yield [f"blob {row.sha256} does not match its digest"]
        async for row in self._rows_to_check(MEDIA, MEDIA.c.sha256):
            if row.data is not None and sha256_hex(row.data) != row.sha256:
                yield [f"the kept bytes of medium {row.sha256} do not match its digest"]
        async for row in self._rows_to_check(RUN, RUN.c.id):
            yield await self._run_problems(row)
        async for row in self._rows_to_check(SCORED_RUN, SCORED_RUN.c.run_id):
            yield await self._score_problems(row)
        async for row in self._rows_to_check(GRADE, GRADE.c.id):
            yield _grade_problems(row)
        async for row in self._rows_to_check(GRADING, GRADING.c.id):
            async with self._database.reading() as connection:
                yield await grading_problems(connection, row)
        async for row in self._rows_to_check(EXCHANGE, EXCHANGE.c.id):
            yield _exchange_problems(row)

    async def _run_problems(self, row: AnyRow) -> list[str]:
        try:
            manifest = unpacked_json(row.manifest)
        except (zlib.error, ValueError):
            return [f"run {row.name!r} has a damaged manifest"]
        problems = []
        # Manifests without a version were never made by a run.
        if isinstance(manifest, dict) and "version" in manifest and digest(manifest) != row.digest:
            problems.append(f"run {row.name!r} does not match its digest")
        wanted = sorted(set(_blob_refs(manifest)))
        statement = select(BLOB.c.sha256).where(BLOB.c.sha256.in_(wanted))
        async with self._database.reading() as connection:
            found = set((await connection.execute(statement)).scalars())
        missing = [sha256 for sha256 in wanted if sha256 not in found]
        return [*problems, *(f"run {row.name!r} wants blob {one}, which does not exist" for one in missing)]

    async def _score_problems(self, row: AnyRow) -> list[str]:
        if row.score is None:  # a scoring began that never ended: nobody reads it
            return []
        problems = []
        try:
            read_stored_score(row)
        except UNREADABLE:
            problems.append(f"the whole scores of run {row.run_id} are damaged; {_SCORE_AGAIN}")
        of_run = ROW_UNITS.c.run_id == row.run_id
        places = select(ROW_UNITS.c.position).where(of_run).order_by(ROW_UNITS.c.position)
        async with self._database.reading() as connection:
            positions = (await connection.execute(places)).scalars().all()
            for position in positions:  # one by one: each holds all numbers of a model
                data = select(ROW_UNITS.c.data).where(of_run, ROW_UNITS.c.position == position)
                found = (await connection.execute(data)).scalar()
                if found is not None and not _unpacks(found):
                    problems.append(
                        f"numbers of units of run {row.run_id} are damaged, row {position}; {_SCORE_AGAIN}"
                    )
        return problems

    async def _sentences(self, statement: Select[*tuple[Any, ...]], sentence: str) -> list[str]:
        async with self._database.reading() as connection:
            rows = (await connection.execute(statement.limit(MOST_PROBLEMS))).all()
        return [sentence.format(*row) for row in rows]

    async def _rows_to_check(self, table: Table, order: Column[Any]) -> AsyncIterator[AnyRow]:
        after: Any = None
        while True:
            statement = select(table).order_by(order).limit(ROWS)
            if after is not None:
                statement = statement.where(order > after)
            async with self._database.reading() as connection:
                rows: Sequence[AnyRow] = (await connection.execute(statement)).all()
            for row in rows:
                yield row
            if len(rows) < ROWS:
                return
            after = rows[-1]._mapping[order]


_SCORE_AGAIN: Final = "`harness score` makes them anew"


def _unpacks(data: bytes) -> bool:
    try:
        unpack(data)
    except zlib.error:
        return False
    return True


def _same_unit(one: Table, other: Table) -> Any:
    return and_(*(one.c[name] == other.c[name] for name in UNIT_KEY))


def _without(table: Table, *columns: Column[Any], on: Any) -> Select[*tuple[Any, ...]]:
    """Return the rows of a table that have no partner in another."""
    return select(*columns).distinct().where(~exists().where(on)).select_from(table)


_UNIT: Final = tuple(UNIT.c[name] for name in ("case_id", "condition", "model", "repeat", "run_id"))
_LINK: Final = tuple(UNIT_EXCHANGE.c[name] for name in ("case_id", "condition", "model", "repeat", "run_id"))
_SERVING: Final = [outcome.value for outcome in ExchangeOutcome if outcome.serves]
_USED: Final = and_(_same_unit(UNIT, UNIT_EXCHANGE), UNIT_EXCHANGE.c.used)
_LAST: Final = select(func.coalesce(func.max(EXCHANGE.c.id), 0)).scalar_subquery()
_BY_ID: Final = SERVED.c.exchange_id == EXCHANGE.c.id

_DANGLING: Final = {
    select(SERVED.c.key, SERVED.c.exchange_id)
    .join_from(SERVED, EXCHANGE, _BY_ID, isouter=True)
    .where(EXCHANGE.c.id.is_(None)): "key {0} is served by exchange {1}, which does not exist",
    select(SERVED.c.key, SERVED.c.exchange_id)
    .join_from(SERVED, EXCHANGE, _BY_ID)
    .where(EXCHANGE.c.key != SERVED.c.key): "key {0} is served by exchange {1}, which has another key",
    select(SERVED.c.key, SERVED.c.exchange_id, EXCHANGE.c.outcome)
    .join_from(SERVED, EXCHANGE, _BY_ID)
    .where(EXCHANGE.c.outcome.not_in(_SERVING)): (
        "key {0} is served by exchange {1}, which is no answer ({2})"
    ),
    select(UNIT_EXCHANGE.c.exchange_id, UNIT_EXCHANGE.c.run_id)
    .join_from(UNIT_EXCHANGE, EXCHANGE, UNIT_EXCHANGE.c.exchange_id == EXCHANGE.c.id, isouter=True)
    .where(EXCHANGE.c.id.is_(None)): "a unit of run {1} is linked to exchange {0}, which does not exist",
    _without(UNIT_EXCHANGE, *_LINK, on=_same_unit(UNIT, UNIT_EXCHANGE)): (
        "unit {0} / {1} / {2} / {3} of run {4} has links, and does not exist"
    ),
    select(UNIT.c.run_id, UNIT.c.outcome).where(
        UNIT.c.outcome.not_in([outcome.value for outcome in UnitOutcome])
    ): "a unit of run {0} has the unknown outcome {1!r}",
    select(*_UNIT, UNIT.c.outcome).where(
        UNIT.c.outcome.in_([outcome.value for outcome in USABLE]), ~exists().where(_USED)
    ): "unit {0} / {1} / {2} / {3} of run {4} is {5}, and no exchange is used for it",
    select(*_UNIT, UNIT.c.again_after).where(UNIT.c.again_after > _LAST): (
        "unit {0} / {1} / {2} / {3} of run {4} is to be asked again after exchange {5}, which does not exist"
    ),
    _without(UNIT, UNIT.c.run_id, on=UNIT.c.run_id == RUN.c.id): (
        "there are units of run {0}, which does not exist"
    ),
    _without(SESSION, SESSION.c.id, SESSION.c.run_id, on=SESSION.c.run_id == RUN.c.id): (
        "session {0} belongs to run {1}, which does not exist"
    ),
    _without(GRADE, GRADE.c.run_id, on=GRADE.c.run_id == RUN.c.id): (
        "there are grades of run {0}, which does not exist"
    ),
    select(EXCHANGE.c.id, EXCHANGE.c.session_id)
    .join_from(EXCHANGE, SESSION, EXCHANGE.c.session_id == SESSION.c.id, isouter=True)
    .where(SESSION.c.id.is_(None)): "exchange {0} belongs to session {1}, which does not exist",
    select(MEDIA_PLACE.c.sha256)
    .join_from(MEDIA_PLACE, MEDIA, MEDIA_PLACE.c.sha256 == MEDIA.c.sha256, isouter=True)
    .where(MEDIA.c.sha256.is_(None)): "a file is remembered as medium {0}, which does not exist",
    _without(RECORD, RECORD.c.run_id, on=RECORD.c.run_id == RUN.c.id): (
        "there are records of run {0}, which does not exist; `harness store vacuum --derived` drops them"
    ),
    _without(SCORED_RUN, SCORED_RUN.c.run_id, on=SCORED_RUN.c.run_id == RUN.c.id): (
        "there are whole scores of run {0}, which does not exist; `harness store vacuum --derived` drops them"
    ),
    _without(ROW_UNITS, ROW_UNITS.c.run_id, on=ROW_UNITS.c.run_id == SCORED_RUN.c.run_id): (
        "run {0} has numbers of units without the scores that they belong to; `harness score` makes both anew"
    ),
    _without(UNIT_SCORE, UNIT_SCORE.c.run_id, on=UNIT_SCORE.c.run_id == RUN.c.id): (
        "there are scores of run {0}, which does not exist; `harness store vacuum --derived` drops them"
    ),
    _without(UNIT_SCORE, UNIT_SCORE.c.run_id, on=_same_unit(UNIT_SCORE, RECORD)): (
        "run {0} has scores of units without a record; `harness score` makes both anew"
    ),
}
"""Query -> what each of its rows means."""

_PACKED: Final[dict[str, Callable[[bytes], object]]] = {
    "request": unpacked_json,
    "headers": unpacked_json,
    "error": unpacked_json,
    "media_sent": unpacked_json,
    "body": unpack,
}


def _blob_refs(value: object) -> Iterator[str]:
    """Give the digests of all blobs that a manifest names: they stand beside an id."""
    if isinstance(value, dict):
        match value:
            case {"id": str(), "sha256": str(sha256)}:
                yield sha256
        for item in value.values():
            yield from _blob_refs(item)


def _grade_problems(row: AnyRow) -> list[str]:
    try:
        sound = isinstance(unpacked_value(row.value), str | int | float | bool)
    except (zlib.error, ValueError):
        sound = False
    return [] if sound else [f"grade {row.id} of run {row.run_id} has a damaged value"]


def _exchange_problems(row: AnyRow) -> list[str]:
    problems = []
    if row.outcome not in set(ExchangeOutcome):
        problems.append(f"exchange {row.id} has the unknown outcome {row.outcome!r}")
    for name, read in _PACKED.items():
        data = row._mapping[name]
        try:
            if data is not None:
                read(data)
        except (zlib.error, ValueError, TypeError):
            problems.append(f"exchange {row.id} has a damaged {name}")
    if not problems and not _has_its_key(row):
        problems.append(f"exchange {row.id} has a key that is not that of its request")
    return problems


def _has_its_key(row: AnyRow) -> bool:
    """Tell whether an exchange's key is that of its stored request; True where nobody can tell.

    Nobody can for a request that is older than the keeping of headers, or where a key was masked in one.
    """
    try:
        body, kept = read_document(unpack(row.request))
    except ValueError:
        return False
    if kept is None or (kept and row.masked):
        return True
    twin = twin_of(
        adapter=row.adapter,
        model=row.model,
        headers=kept,
        body=canonical_json(body),
        attempt=row.attempt,
        repeat=row.repeat,
    )
    key = key_of_twin(twin, endpoint=row.endpoint, wire_revision=row.wire_revision)
    return bool(twin == row.twin and key == row.key)
