"""What sessions at work are doing, as they tell it now and then: one row a session, for those who watch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import select

from harness.cache.database import Transaction
from harness.cache.exchange_rows import packed_json, unpacked_json
from harness.cache.parts import StorePart
from harness.cache.tables import SESSION, SESSION_LIVE
from harness.canonical import JSON


@dataclass(frozen=True, slots=True)
class LiveSession:
    """What a session said of itself last, and when (microseconds since 1970 UTC)."""

    session: int
    state: Mapping[str, JSON]
    at_us: int


@dataclass(frozen=True, slots=True)
class _Told:
    session: int
    state: Mapping[str, JSON]
    now_us: int


class LiveSessionStore(StorePart):
    """The last words of sessions at work."""

    async def tell_live(self, session: int, state: Mapping[str, JSON]) -> None:
        """Put what a session is doing in place of what it said before."""
        await self._writer.submit(_tell_all, _Told(session, state, self._clock()))

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
        found = []
        for row in rows:
            state = unpacked_json(row.state)
            assert isinstance(state, dict)
            found.append(LiveSession(row.session_id, state, row.at_us))
        return found


async def _tell_all(transaction: Transaction, told: Sequence[_Told]) -> list[None]:
    upsert = transaction.dialect.upsert(SESSION_LIVE, ["at_us", "state"])
    last = {one.session: one for one in told}
    rows = [
        {"session_id": one.session, "at_us": one.now_us, "state": packed_json(dict(one.state))}
        for one in last.values()
    ]
    await transaction.connection.execute(upsert, rows)
    return [None] * len(told)
