"""Looking after the store: what is in it, and whether it is sound."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Final

from sqlalchemy import Column, Select, Table, func, select

from harness.cache.exchange_rows import unpacked_json
from harness.cache.parts import StorePart
from harness.cache.tables import (
    BLOB,
    CLAIM,
    EXCHANGE,
    MEDIA,
    MEDIA_PLACE,
    RUN,
    SCHEMA_VERSION,
    SERVED,
    SESSION,
    UNIT,
    UNIT_EXCHANGE,
    AnyRow,
)
from harness.canonical import JSON, sha256_hex, unpack
from harness.outcomes import ExchangeOutcome, UnitOutcome

PAGE: Final = 500
MOST_PROBLEMS: Final = 1_000
"""A store that is damaged all over need not be listed to the end."""

_COUNTED: Final = {
    "exchanges": EXCHANGE,
    "served_keys": SERVED,
    "runs": RUN,
    "sessions": SESSION,
    "units": UNIT,
    "claims": CLAIM,
    "blobs": BLOB,
    "media": MEDIA,
}


class MaintenanceStore(StorePart):
    """What `harness store` asks."""

    async def stats(self) -> dict[str, JSON]:
        """Return counts, times (microseconds UTC) and sizes (bytes); JSON throughout."""
        facts: dict[str, JSON] = {"schema_version": SCHEMA_VERSION, "read_only": self.read_only}
        async with self._database.reading() as connection:
            for name, table in _COUNTED.items():
                statement = select(func.count()).select_from(table)
                facts[name] = (await connection.execute(statement)).scalar_one()
            outcomes = select(EXCHANGE.c.outcome, func.count()).group_by(EXCHANGE.c.outcome)
            facts["outcomes"] = {name: count for name, count in await connection.execute(outcomes)}
            span = select(func.min(EXCHANGE.c.started_at_us), func.max(EXCHANGE.c.started_at_us))
            first, last = (await connection.execute(span)).one()
            facts |= {"first_exchange_at_us": first, "last_exchange_at_us": last}
            bodies = select(func.coalesce(func.sum(func.length(EXCHANGE.c.body)), 0))
            facts["packed_body_bytes"] = (await connection.execute(bodies)).scalar_one()
        return facts

    async def verify(self) -> list[str]:
        """Return what is wrong with the store, one sentence each; empty when all is sound.

        Reads everything. Looks at the database's own structure, digests of blobs, packed bytes of
        exchanges, what keys are served by, and what links point to.
        """
        problems: list[str] = []
        async with self._database.reading() as connection:
            problems += await self._database.dialect.integrity_problems(connection)
        for statement, sentence in _DANGLING.items():
            problems += await self._sentences(statement, sentence)
        async for row in self._pages(BLOB, BLOB.c.sha256):
            if not _is_blob(row):
                problems.append(f"blob {row.sha256} does not match its digest")
        async for row in self._pages(EXCHANGE, EXCHANGE.c.id):
            problems += _exchange_problems(row)
        return problems[:MOST_PROBLEMS]

    async def _sentences(self, statement: Select[*tuple[Any, ...]], sentence: str) -> list[str]:
        async with self._database.reading() as connection:
            rows = (await connection.execute(statement.limit(MOST_PROBLEMS))).all()
        return [sentence.format(*row) for row in rows]

    async def _pages(self, table: Table, order: Column[Any]) -> AsyncIterator[AnyRow]:
        after: Any = None
        while True:
            statement = select(table).order_by(order).limit(PAGE)
            if after is not None:
                statement = statement.where(order > after)
            async with self._database.reading() as connection:
                rows: Sequence[AnyRow] = (await connection.execute(statement)).all()
            for row in rows:
                yield row
            if len(rows) < PAGE:
                return
            after = rows[-1]._mapping[order]


_SERVING: Final = [outcome.value for outcome in ExchangeOutcome if outcome.serves]

_DANGLING: Final = {
    select(SERVED.c.key, SERVED.c.exchange_id)
    .join_from(SERVED, EXCHANGE, SERVED.c.exchange_id == EXCHANGE.c.id, isouter=True)
    .where(EXCHANGE.c.id.is_(None)): "key {0} is served by exchange {1}, which does not exist",
    select(SERVED.c.key, SERVED.c.exchange_id)
    .join_from(SERVED, EXCHANGE, SERVED.c.exchange_id == EXCHANGE.c.id)
    .where(EXCHANGE.c.key != SERVED.c.key): "key {0} is served by exchange {1}, which has another key",
    select(SERVED.c.key, SERVED.c.exchange_id, EXCHANGE.c.outcome)
    .join_from(SERVED, EXCHANGE, SERVED.c.exchange_id == EXCHANGE.c.id)
    .where(EXCHANGE.c.outcome.not_in(_SERVING)): (
        "key {0} is served by exchange {1}, which is no answer ({2})"
    ),
    select(UNIT_EXCHANGE.c.exchange_id, UNIT_EXCHANGE.c.run_id)
    .join_from(UNIT_EXCHANGE, EXCHANGE, UNIT_EXCHANGE.c.exchange_id == EXCHANGE.c.id, isouter=True)
    .where(EXCHANGE.c.id.is_(None)): "a unit of run {1} is linked to exchange {0}, which does not exist",
    select(UNIT.c.run_id, UNIT.c.outcome)
    .where(UNIT.c.outcome.not_in([outcome.value for outcome in UnitOutcome])): (
        "a unit of run {0} has the unknown outcome {1!r}"
    ),
    select(UNIT.c.run_id)
    .distinct()
    .join_from(UNIT, RUN, UNIT.c.run_id == RUN.c.id, isouter=True)
    .where(RUN.c.id.is_(None)): "there are units of run {0}, which does not exist",
    select(EXCHANGE.c.id, EXCHANGE.c.session_id)
    .join_from(EXCHANGE, SESSION, EXCHANGE.c.session_id == SESSION.c.id, isouter=True)
    .where(SESSION.c.id.is_(None)): "exchange {0} belongs to session {1}, which does not exist",
    select(MEDIA_PLACE.c.sha256)
    .join_from(MEDIA_PLACE, MEDIA, MEDIA_PLACE.c.sha256 == MEDIA.c.sha256, isouter=True)
    .where(MEDIA.c.sha256.is_(None)): "a file is remembered as medium {0}, which does not exist",
}
"""Query -> what each of its rows means."""

_PACKED: Final[dict[str, Callable[[bytes], object]]] = {
    "request": unpacked_json,
    "headers": unpacked_json,
    "error": unpacked_json,
    "media_sent": unpacked_json,
    "body": unpack,
}


def _is_blob(row: AnyRow) -> bool:
    try:
        return sha256_hex(unpack(row.data)) == str(row.sha256)
    except zlib.error:
        return False


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
    return problems
