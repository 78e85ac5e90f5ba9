"""Stored requests that may be near one that is not stored: found by indices, a bounded number."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from sqlalchemy import Select, func, select

from harness.cache.parts import StorePart, chunks
from harness.cache.rows import Run
from harness.cache.tables import EXCHANGE, RUN, SESSION, UNIT_EXCHANGE, AnyRow
from harness.canonical import unpack
from harness.messages import Purpose
from harness.outcomes import ExchangeOutcome

MOST_RUNS: Final = 50
"""Runs in which a case is looked for, the newest first."""
MOST_OF_CASE: Final = 64
"""Exchanges of a case that are looked at in one run."""
MOST_RECENT: Final = 200
"""Exchanges of a model that are looked at, whatever they asked."""
RECENT_IDS: Final = 20_000
"""How far back in the store these are looked for."""


@dataclass(frozen=True, slots=True)
class StoredRequest:
    """An exchange that answers, without its answer. `request` is the stored document."""

    id: int
    key: str
    session: int
    purpose: Purpose
    attempt: int
    repeat: int
    provider: str
    endpoint: str
    model: str
    adapter: str
    wire_revision: int
    request: bytes
    outcome: ExchangeOutcome
    started_at_us: int


class NeighbourStore(StorePart):
    """What `explain` looks up; every query reads a bounded number of rows."""

    async def requests_of_twin(self, twin: str) -> list[StoredRequest]:
        """Return answered requests that differ from one in endpoint or wire revision only, newest first."""
        newest = _NEWEST.where(EXCHANGE.c.twin == twin).limit(MOST_OF_CASE)
        return await self._requests(newest)

    async def requests_of_ids(self, ids: Collection[int]) -> list[StoredRequest]:
        """Return the answered requests among the newest of these exchanges, newest first."""
        return await self._requests(_NEWEST.where(EXCHANGE.c.id.in_(sorted(ids)[-MOST_OF_CASE:])))

    async def requests_of_case(
        self, runs: Sequence[Run], models: Collection[str], conditions: Collection[str], case_id: str
    ) -> list[StoredRequest]:
        """Return answered requests that runs made for a case, newest first in each run.

        `models` and `conditions` are those that the runs ask: with them the links are found by their key.
        """
        found: list[StoredRequest] = []
        for run in runs[:MOST_RUNS]:
            ids = (
                select(UNIT_EXCHANGE.c.exchange_id)
                .where(UNIT_EXCHANGE.c.run_id == run.id, UNIT_EXCHANGE.c.model.in_(list(models)))
                .where(UNIT_EXCHANGE.c.condition.in_(list(conditions)), UNIT_EXCHANGE.c.case_id == case_id)
                .order_by(UNIT_EXCHANGE.c.exchange_id.desc())
                .limit(MOST_OF_CASE)
            )
            async with self._database.reading() as connection:
                linked = (await connection.execute(ids)).scalars().all()
            found += await self._requests(_NEWEST.where(EXCHANGE.c.id.in_(linked)))
        return found

    async def recent_requests(self, purpose: Purpose, model: str | None = None) -> list[StoredRequest]:
        """Return the newest answered requests of a purpose, `model` (its provider's name of it) or any."""
        last = select(func.coalesce(func.max(EXCHANGE.c.id), 0)).scalar_subquery()
        statement = _NEWEST.where(EXCHANGE.c.id > last - RECENT_IDS, EXCHANGE.c.purpose == purpose)
        if model is not None:
            statement = statement.where(EXCHANGE.c.model == model)
        return await self._requests(statement.limit(MOST_RECENT))

    async def run_of_session(self, sessions: Iterable[int]) -> dict[int, str]:
        """Return session -> the name of its run."""
        found: dict[int, str] = {}
        for part in chunks(sorted(set(sessions))):
            statement = (
                select(SESSION.c.id, RUN.c.name)
                .join_from(SESSION, RUN, SESSION.c.run_id == RUN.c.id)
                .where(SESSION.c.id.in_(part))
            )
            async with self._database.reading() as connection:
                found |= {row.id: row.name for row in await connection.execute(statement)}
        return found

    async def _requests(self, statement: Select[*tuple[Any, ...]]) -> list[StoredRequest]:
        async with self._database.reading() as connection:
            rows = (await connection.execute(statement)).all()
        return [request for request in map(_request, rows) if request is not None]


def _request(row: AnyRow) -> StoredRequest | None:
    """Return a row as a request; None where it is damaged, which `verify` says."""
    try:
        request = unpack(row.request)
    except zlib.error:
        return None
    return StoredRequest(
        id=row.id,
        key=row.key,
        session=row.session_id,
        purpose=cast(Purpose, row.purpose),
        attempt=row.attempt,
        repeat=row.repeat,
        provider=row.provider,
        endpoint=row.endpoint,
        model=row.model,
        adapter=row.adapter,
        wire_revision=row.wire_revision,
        request=request,
        outcome=ExchangeOutcome(row.outcome),
        started_at_us=row.started_at_us,
    )


_NEWEST: Final = (
    select(
        EXCHANGE.c.id, EXCHANGE.c.key, EXCHANGE.c.session_id, EXCHANGE.c.purpose, EXCHANGE.c.attempt,
        EXCHANGE.c.repeat, EXCHANGE.c.provider, EXCHANGE.c.endpoint, EXCHANGE.c.model, EXCHANGE.c.adapter,
        EXCHANGE.c.wire_revision, EXCHANGE.c.request, EXCHANGE.c.outcome, EXCHANGE.c.started_at_us,
    )
    .where(EXCHANGE.c.outcome.in_([outcome.value for outcome in ExchangeOutcome if outcome.serves]))
    .order_by(EXCHANGE.c.id.desc())
)  # fmt: skip
