"""Units of two stores become one: answered beats failed beats absent, and no history is mixed up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from sqlalchemy import delete, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from harness.cache.merge_exchanges import IdMap
from harness.cache.merge_report import MergeReport
from harness.cache.merge_steps import Target, Values
from harness.cache.rows import Link, UnitId, UnitState
from harness.cache.tables import DERIVED, UNIT, UNIT_EXCHANGE, UNIT_KEY
from harness.cache.unit_rows import STATE_COLUMNS, link_rows, read_state, state_row
from harness.outcomes import UNUSABLE, USABLE, UnitOutcome

Verdict: TypeAlias = Literal["new", "updated", "known", "twice", "conflict", "reopened"]

_ANSWERED: Final = USABLE | UNUSABLE
_COLUMNS = tuple(UNIT_EXCHANGE.c[name] for name in UNIT_KEY[1:])


@dataclass(frozen=True, slots=True)
class History:
    """A unit's state with its links in order."""

    state: UnitState
    links: tuple[Link, ...] = ()

    @property
    def ids(self) -> frozenset[int]:
        """The exchanges it is linked to."""
        return frozenset(link.exchange_id for link in self.links)


async def histories(
    connection: AsyncConnection, run_id: int, units: Sequence[UnitId]
) -> dict[UnitId, History]:
    """Return those units of a run that were begun."""
    places = [(unit.model, unit.condition, unit.case_id, unit.repeat) for unit in units]
    links: dict[UnitId, list[Link]] = {}
    linked = (
        select(UNIT_EXCHANGE)
        .where(UNIT_EXCHANGE.c.run_id == run_id, tuple_(*_COLUMNS).in_(places))
        .order_by(UNIT_EXCHANGE.c.position, UNIT_EXCHANGE.c.exchange_id)
    )
    for row in await connection.execute(linked):
        unit = UnitId(row.model, row.condition, row.case_id, row.repeat)
        links.setdefault(unit, []).append(Link(row.exchange_id, row.purpose, row.attempt, row.used))
    columns = [UNIT.c[name] for name in UNIT_KEY[1:]]
    begun = select(*STATE_COLUMNS).where(UNIT.c.run_id == run_id, tuple_(*columns).in_(places))
    states = map(read_state, await connection.execute(begun))
    return {state.unit: History(state, tuple(links.get(state.unit, ()))) for state in states}


def translated(theirs: History, ids: IdMap, up_to: Sequence[int]) -> tuple[History, bool]:
    """Return a unit of theirs in our numbers, and whether its rounds of `--again` can still be told apart.

    An exchange up to `again_after` belongs to an earlier round. In our numbers an id must lie between the
    two groups; it is that of the whole list where it can be, since sessions know their lists by it.
    """
    links = tuple(
        Link(ids[link.exchange_id], link.purpose, link.attempt, link.used)
        for link in theirs.links
        if ids[link.exchange_id]
    )
    state, after = theirs.state, theirs.state.again_after
    if not after:
        return History(UnitState(state.unit, state.outcome, 0, state.error), links), True
    earlier = [ids[link.exchange_id] for link in theirs.links if link.exchange_id <= after]
    current = [ids[link.exchange_id] for link in theirs.links if link.exchange_id > after]
    first = min(current, default=None)
    for candidate in (up_to[min(after, len(up_to) - 1)], max(earlier, default=0)):
        if first is None or candidate < first:
            return History(UnitState(state.unit, state.outcome, candidate, state.error), links), True
    last = max(*earlier, *current)
    return History(UnitState(state.unit, None, last), links), False


def joined(ours: History | None, theirs: History) -> tuple[Verdict, History | None]:
    """Return what becomes of a unit, and what to write of it (None: nothing)."""
    if ours is None:
        return "new", theirs
    if _is_further(ours, theirs):
        return _taken(ours, theirs)
    apart = not theirs.ids <= ours.ids and not ours.ids <= theirs.ids
    if not apart or theirs.state.outcome not in _ANSWERED or ours.state.outcome not in _ANSWERED:
        return "known", None
    return ("twice" if theirs.state.outcome is ours.state.outcome else "conflict"), None


def _is_further(ours: History, theirs: History) -> bool:
    """True where theirs is more of an answer, or the same history with more in it."""
    mine, other = _rank(ours.state.outcome), _rank(theirs.state.outcome)
    marked_since = ours.state.outcome is None and ours.state.again_after > theirs.state.again_after
    if other > mine:
        return not marked_since
    return other == mine and ours.ids < theirs.ids


def _rank(outcome: UnitOutcome | None) -> int:
    if outcome is None:
        return 0
    if outcome in _ANSWERED:
        return 3
    return 2 if outcome is UnitOutcome.NOT_APPLICABLE else 1


def _taken(ours: History, theirs: History) -> tuple[Verdict, History]:
    """Return theirs; what only ours is linked to becomes an earlier round: kept and counted, not read."""
    extra = ours.ids - theirs.ids
    state = theirs.state
    if not extra:
        return "updated", theirs
    after = max(state.again_after, *extra)
    current = [id for id in theirs.ids if id > state.again_after]
    if current and after >= min(current):
        return "reopened", History(UnitState(state.unit, None, max(*extra, *theirs.ids)), theirs.links)
    return "updated", History(UnitState(state.unit, state.outcome, after, state.error), theirs.links)


async def add_units(
    target: Target, run_id: int, theirs: Mapping[UnitId, tuple[History, bool]], report: MergeReport
) -> None:
    """Join a page of units of one run; where anything changes, what was derived from the run is dropped."""
    ours = await histories(target.connection, run_id, list(theirs))
    states: list[Values] = []
    links: list[Values] = []
    for unit, (history, is_ordered) in theirs.items():
        verdict, written = joined(ours.get(unit), history)
        _count(report, unit, verdict)
        if written is not None:
            report.units_reopened += verdict == "reopened" or not is_ordered
            states.append(state_row(run_id, written.state))
            links += link_rows(run_id, unit, written.links)
    if not states or target.dry:
        return
    await target.add(UNIT, states, update=["outcome", "again_after", "error"])
    await target.add(UNIT_EXCHANGE, links, update=["position", "purpose", "attempt", "used"])
    for table in DERIVED:
        await target.connection.execute(delete(table).where(table.c.run_id == run_id))


def _count(report: MergeReport, unit: UnitId, verdict: Verdict) -> None:
    match verdict:
        case "new":
            report.units_new += 1
        case "updated" | "reopened":
            report.units_updated += 1
        case "known":
            report.units_known += 1
        case "twice" | "conflict":
            report.units_twice += 1
    if verdict == "conflict":
        report.conflict(f"{unit.case_id} / {unit.condition} / {unit.model} / {unit.repeat}")
