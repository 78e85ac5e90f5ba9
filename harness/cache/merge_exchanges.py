"""Exchanges of another store, taken over once and in their order."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Mapping, Sequence

from sqlalchemy import select

from harness.cache.merge_report import MergeReport
from harness.cache.merge_steps import Target, Values, known_keys
from harness.cache.tables import EXCHANGE, SERVED, AnyRow
from harness.canonical import sha256_hex, unpack


class IdMap:
    """Ids of their exchanges -> ours, 8 bytes each; 0: not taken over.

    `theirs`: the last id when the merge began. Of ours a byte each is kept: one stands for one of theirs.
    """

    def __init__(self, *, theirs: int) -> None:
        self._ours = array("q", bytes(8 * (theirs + 1)))
        self._matched = bytearray()
        self.next_dry = 0

    def __getitem__(self, id: int) -> int:
        return self._ours[id] if 0 <= id < len(self._ours) else 0

    def __setitem__(self, id: int, ours: int) -> None:
        self._ours[id] = ours

    def take(self, ours: int) -> bool:
        """Note that one of ours stands for one of theirs; False if it already stands for another."""
        # Another merge may add to ours meanwhile, so there is no last one.
        self._matched.extend(bytes(max(ours + 1 - len(self._matched), 0)))
        if self._matched[ours]:
            return False
        self._matched[ours] = True
        return True

    def up_to(self) -> Sequence[int]:
        """Return, by their id, the highest of our ids that any of theirs up to it has."""
        highest, found = 0, array("q", self._ours)
        for place, ours in enumerate(self._ours):
            highest = max(highest, ours)
            found[place] = highest
        return found


async def add_exchanges(
    target: Target,
    rows: Sequence[AnyRow],
    served: Mapping[str, int],
    sessions: Mapping[int, int],
    ids: IdMap,
    report: MergeReport,
) -> None:
    """Take over exchanges in their order, and what they serve where ours serves nothing; fills `ids`.

    An exchange is there already where ours has one of the same session, key, start and duration with the
    same answer. `served`: key -> their exchange, for the keys of these rows.
    """
    await _match(target, rows, sessions, ids)
    first = max(await target.next_id(EXCHANGE), ids.next_dry)
    new: list[Values] = []
    for row in rows:
        if not ids[row.id]:
            ids[row.id] = first + len(new)
            new.append({**row._mapping, "id": ids[row.id], "session_id": sessions[row.session_id]})
    ids.next_dry = first + len(new) if target.dry else 0
    await target.add(EXCHANGE, new)
    for values in () if target.dry else new:
        ids.take(values["id"])
    report.exchanges_new += len(new)
    report.exchanges_known += len(rows) - len(new)
    here = {row.id for row in rows}
    wanted = {key: ids[id] for key, id in served.items() if id in here}
    known = await known_keys(target, SERVED, list(wanted))
    missing = [{"key": key, "exchange_id": id} for key, id in wanted.items() if key not in known]
    await target.add(SERVED, missing, update=())
    report.served_new += len(missing)


async def _match(target: Target, rows: Sequence[AnyRow], sessions: Mapping[int, int], ids: IdMap) -> None:
    """Find those of ours that are the same exchanges."""
    statement = (
        select(EXCHANGE)
        .where(EXCHANGE.c.key.in_(sorted({row.key for row in rows})))
        .where(EXCHANGE.c.started_at_us.in_(sorted({row.started_at_us for row in rows})))
        .order_by(EXCHANGE.c.id)
    )
    ours: dict[object, list[int]] = {}
    for row in await target.connection.execute(statement):
        ours.setdefault(_content(row, row.session_id), []).append(row.id)
    for row in rows:
        for candidate in ours.get(_content(row, sessions[row.session_id]), ()):
            if ids.take(candidate):
                ids[row.id] = candidate
                break


def _content(row: AnyRow, session: int) -> object:
    try:
        body = sha256_hex(unpack(row.body))
    except zlib.error:
        body = sha256_hex(row.body)  # damaged, and taken over as it is
    return session, row.key, row.started_at_us, row.total_s, row.status, row.outcome, row.attempt, body
