"""What sessions at work are doing, as they tell it now and then: one row a session, for those who watch."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from sqlalchemy import select

from harness.cache.database import Transaction
from harness.cache.exchange_rows import packed_json, unpacked_object
from harness.cache.parts import StorePart
from harness.cache.tables import SESSION, SESSION_LIVE
from harness.canonical import JSON
from harness.errors import StoreError


@dataclass(frozen=True, slots=True)
class LiveSession:
    """What a session said of itself last, and when (microseconds since 1970 UTC).

    `state` None: what is stored is damaged. It is evidence of nothing, so that nobody fails of it.
    """

    session: int
    state: Mapping[str, JSON] | None
    at_us: int


@dataclass(frozen=True, slots=True)
class _Told:
    session: int
    state: Mapping[str, JSON]
    now_us: int


class LiveSessionStore(StorePart):
    """The last words of sessions at work."""

    async def tell_live(self, session: int, state: Mapping[str, JSON]) -> None:
        """Put what a session is doing in place of what it said before.

        It goes with whatever else is written, and nothing that fails of it is felt by others. Raises
        StoreError.
        """
        await self._writer.submit(_tell_all, _Told(session, state, self._clock()), light=True)

    def tell_live_last(self, session: int, state: Mapping[str, JSON]) -> None:
        """Have the same written without waiting for it, before whatever is written later."""
        with suppress(StoreError):
            told = self._writer.enqueue(_tell_all, _Told(session, state, self._clock()), light=True)
            told.add_done_callback(_heard)

    async def live_sessions(self, run_id: int) -> Sequence[LiveSession]:
        """Return what the sessions of a run said last, oldest session first."""
        statement = (
            select(SESSION_LIVE)
            .join_from(SESSION_LIVE, SESSION, SESSION.c.id == SESSION_LIVE.c.session_id)
            .where(SESSION.c.run_id == run_id)
            .order_by(SESSION_LIVE.c.session_id)
        )
        async with self._database.reading() as connection:
            rows = (await connection.execute(statement)).all()
        return [LiveSession(row.session_id, unpacked_object(row.state), row.at_us) for row in rows]


def _heard(told: asyncio.Future[None]) -> None:
    """Take note of a failure that concerns nobody."""
    if not told.cancelled():
        told.exception()


async def _tell_all(transaction: Transaction, told: Sequence[_Told]) -> list[None]:
    upsert = transaction.dialect.upsert(SESSION_LIVE, ["at_us", "state"])
    last = {one.session: one for one in told}
    rows = [
        {"session_id": one.session, "at_us": one.now_us, "state": packed_json(dict(one.state))}
        for one in last.values()
    ]
    await transaction.connection.execute(upsert, rows)
    return [None] * len(told)
