"""Exchanges: appended, never changed, and served by key."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from harness.cache.claims import ClaimStore, release_all
from harness.cache.database import Transaction
from harness.cache.exchange_rows import COLUMNS, make_row, read_row, weight
from harness.cache.parts import CHUNK, chunks, off_the_loop
from harness.cache.rows import Exchange, NewExchange, UnitId
from harness.cache.tables import EXCHANGE, SERVED, UNIT, UNIT_EXCHANGE, AnyRow
from harness.cache.unit_rows import position, unit_key
from harness.errors import StoreError


@dataclass(frozen=True, slots=True)
class _Append:
    exchange: NewExchange
    session: int
    serve: bool
    link: tuple[int, UnitId] | None
    release_token: str | None


class ExchangeStore(ClaimStore):
    """The exchanges and what they serve."""

    async def append(
        self,
        exchange: NewExchange,
        *,
        session: int,
        serve: bool,
        link: tuple[int, UnitId] | None = None,
        release: bool = False,
    ) -> int:
        """Commit an exchange and return its id.

        In the same commit: later asks of its key are served by it (`serve`; an error never serves,
        whatever is said here), it is linked to a run's unit (`link`), and our claim on its key is given
        up (`release`). The entry is written even if the caller is cancelled meanwhile. Raises StoreError.
        """
        serves = serve and exchange.outcome.serves
        entry = _Append(exchange, session, serves, link, self._token if release else None)
        id = await self._writer.submit(_append_all, entry)
        if release:
            self._held.discard(exchange.key)
        return id

    async def served(self, keys: Iterable[str]) -> dict[str, Exchange]:
        """Return key -> the exchange that answers it, for those that have one."""
        found: dict[str, Exchange] = {}
        for part in chunks(list(dict.fromkeys(keys))):
            statement = (
                select(*COLUMNS)
                .join_from(SERVED, EXCHANGE, SERVED.c.exchange_id == EXCHANGE.c.id)
                .where(SERVED.c.key.in_(part))
            )
            for exchange in await self._read(statement):
                found[exchange.data.key] = exchange
        return found

    async def exchange(self, id: int) -> Exchange | None:
        """Return one exchange, None where there is none of this id."""
        return (await self.exchanges([id])).get(id)

    async def exchanges(self, ids: Iterable[int]) -> dict[int, Exchange]:
        """Return id -> exchange, for those that exist."""
        found: dict[int, Exchange] = {}
        for part in chunks(list(dict.fromkeys(ids))):
            for exchange in await self._read(select(*COLUMNS).where(EXCHANGE.c.id.in_(part))):
                found[exchange.id] = exchange
        return found

    async def sent_in_session(
        self, run_id: int, session: int, *, page: int = CHUNK
    ) -> AsyncIterator[tuple[str | None, Exchange]]:
        """Yield what a session sent, oldest first, each with the model of its unit in the run.

        None: it is linked to none; of several, the first by name. `page` exchanges are read at a time, so
        memory does not grow with the session.
        """
        after = 0
        while True:
            statement = _sent(run_id, session).where(EXCHANGE.c.id > after).limit(page)
            async with self._database.reading() as connection:
                rows = (await connection.execute(statement)).all()
            exchanges = await self.exchanges([row.id for row in rows])
            for row in rows:
                yield row.model, exchanges[row.id]
            if len(rows) < page:
                return
            after = rows[-1].id

    async def twins(self, twins: Iterable[str]) -> dict[str, set[tuple[str, int]]]:
        """Return, by twin, the endpoints and wire revisions at which such requests were answered."""
        found: dict[str, set[tuple[str, int]]] = {}
        for part in chunks(list(dict.fromkeys(twins))):
            async with self._database.reading() as connection:
                for row in await connection.execute(_TWINS.where(EXCHANGE.c.twin.in_(part))):
                    found.setdefault(row.twin, set()).add((row.endpoint, row.wire_revision))
        return found

    async def last_exchange_id(self) -> int:
        """Return the id of the newest exchange, 0 where there is none."""
        async with self._database.reading() as connection:
            return int((await connection.execute(_LAST_ID)).scalar_one())

    async def _read(self, statement: Select[*tuple[Any, ...]]) -> list[Exchange]:
        async def rows(connection: AsyncConnection) -> Sequence[AnyRow]:
            return (await connection.execute(statement)).all()

        return await _read_all(await self._database.read(rows))


def _sent(run_id: int, session: int) -> Select[*tuple[Any, ...]]:
    model = (
        select(func.min(UNIT_EXCHANGE.c.model))
        .where(UNIT_EXCHANGE.c.exchange_id == EXCHANGE.c.id, UNIT_EXCHANGE.c.run_id == run_id)
        .scalar_subquery()
    )
    sent = select(EXCHANGE.c.id, model.label("model")).where(EXCHANGE.c.session_id == session)
    return sent.order_by(EXCHANGE.c.id)


_TWINS = (
    select(EXCHANGE.c.twin, EXCHANGE.c.endpoint, EXCHANGE.c.wire_revision)
    .join(SERVED, SERVED.c.exchange_id == EXCHANGE.c.id)
    .distinct()
)
_LAST_ID = select(func.coalesce(func.max(EXCHANGE.c.id), 0))
_INSERT = insert(EXCHANGE)
_LINK = insert(UNIT_EXCHANGE)


async def _append_all(transaction: Transaction, entries: Sequence[_Append]) -> list[int]:
    connection = transaction.connection
    # Ids are given under the write lock, so they rise in the order of the commits.
    first = int((await connection.execute(_LAST_ID)).scalar_one()) + 1
    ids = list(range(first, first + len(entries)))
    await connection.execute(_INSERT, await _make_rows(entries, ids))
    # A later exchange of the same key wins, within the group too.
    serves = {entry.exchange.key: id for entry, id in zip(entries, ids, strict=True) if entry.serve}
    if serves:
        rows: list[dict[str, object]] = [{"key": key, "exchange_id": id} for key, id in serves.items()]
        await connection.execute(transaction.dialect.upsert(SERVED, ["exchange_id"]), rows)
    await _link_all(transaction, entries, ids)
    released = [
        (entry.exchange.key, entry.release_token) for entry in entries if entry.release_token is not None
    ]
    if released:
        await release_all(transaction, released)
    return ids


async def _link_all(transaction: Transaction, entries: Sequence[_Append], ids: Sequence[int]) -> None:
    linked = [(entry, id) for entry, id in zip(entries, ids, strict=True) if entry.link is not None]
    if not linked:
        return
    links = []
    units = []
    for entry, id in linked:
        assert entry.link is not None
        key = unit_key(*entry.link)
        units.append({**key, "again_after": 0})
        links.append({
            **key,
            "exchange_id": id,
            "position": position(id),
            "purpose": entry.exchange.purpose,
            "attempt": entry.exchange.attempt,
            "used": False,
        })
    await transaction.connection.execute(transaction.dialect.upsert(UNIT), units)
    await transaction.connection.execute(_LINK, links)


async def _make_rows(entries: Sequence[_Append], ids: Sequence[int]) -> list[dict[str, object]]:
    def make() -> list[dict[str, object]]:
        return [
            make_row(entry.exchange, id=id, session=entry.session)
            for entry, id in zip(entries, ids, strict=True)
        ]

    return await off_the_loop(make, sum(weight(entry.exchange) for entry in entries))


async def _read_all(rows: Sequence[AnyRow]) -> list[Exchange]:
    def read() -> list[Exchange]:
        return [_read(row) for row in rows]

    # Packed bytes are several times smaller than what they hold.
    return await off_the_loop(read, 4 * sum(len(row.body) + len(row.request) for row in rows))


def _read(row: AnyRow) -> Exchange:
    try:
        return read_row(row)
    except (zlib.error, ValueError) as error:
        raise StoreError(
            f"exchange {row.id} is damaged ({error}); look at the store with `harness store verify`, "
            "or go back to a backup"
        ) from error
