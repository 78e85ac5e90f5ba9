"""Units: how each ended in a run, and the exchanges it is linked to."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Collection, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from sqlalchemy import Select, Table, func, select, tuple_

from harness.cache.database import Transaction
from harness.cache.exchanges import ExchangeStore
from harness.cache.rows import Link, LinkedUnit, UnitId, UnitState
from harness.cache.tables import EXCHANGE, UNIT, UNIT_EXCHANGE, UNIT_KEY, AnyRow
from harness.cache.unit_rows import STATE_COLUMNS, link_rows, read_state, state_row, unit_key
from harness.outcomes import UNUSABLE, USABLE

PAGE: Final = 5_000
"""Units read at a time where only their state is wanted."""

_ORDER = UNIT_KEY[1:]
_ANSWERED = select(UNIT.c.case_id, UNIT.c.repeat, UNIT.c.again_after).where(
    UNIT.c.outcome.in_(sorted(outcome.value for outcome in USABLE | UNUSABLE))
)


@dataclass(frozen=True, slots=True)
class Only:
    """Which units of a run are meant: those of these models and conditions; None: of every one."""

    models: frozenset[str] | None = None
    conditions: frozenset[str] | None = None

    def of(self, statement: Select[*tuple[Any, ...]], table: Table) -> Select[*tuple[Any, ...]]:
        """Return a statement over a table of units that gives these alone."""
        for names, column in ((self.models, table.c.model), (self.conditions, table.c.condition)):
            if names is not None:
                statement = statement.where(column.in_(sorted(names)))
        return statement

    def has(self, model: str, condition: str) -> bool:
        """Tell whether units of a model and condition are meant."""
        named = self.models is None or model in self.models
        return named and (self.conditions is None or condition in self.conditions)


EVERY_UNIT: Final = Only()


@dataclass(frozen=True, slots=True)
class _Finished:
    run_id: int
    state: UnitState
    links: tuple[Link, ...]
    unless_answered: bool


@dataclass(frozen=True, slots=True)
class _Again:
    run_id: int
    units: Collection[UnitId]
    last_exchange_id: int | None


class UnitStore(ExchangeStore):
    """The units of all runs."""

    async def finish_unit(
        self, run_id: int, state: UnitState, links: Sequence[Link], *, unless_answered: bool = False
    ) -> None:
        """Commit how a unit ended, with its links in order.

        Links that exist get their new `used`; links of earlier rounds that are not given stay as they are.
        `unless_answered`: nothing is changed where the unit has an answer by now, in the same round. Another
        session gave it, while this one was suspended and lost its claim.
        """
        entry = _Finished(run_id, state, tuple(links), unless_answered)
        await self._writer.submit(_finish_all, entry)

    async def unit_states(self, run_id: int) -> dict[UnitId, UnitState]:
        """Return the state of every unit that was begun in a run.

        Outcome None: marked to be asked again, or begun and killed before it ended.
        """
        return {
            state.unit: state async for states in self.unit_state_pages(run_id) for state in states
        }

    async def unit_state_pages(self, run_id: int, *, page: int = PAGE) -> AsyncIterator[list[UnitState]]:
        """Yield the same states in order of model, condition, case and repeat, some at a time."""
        after: AnyRow | None = None
        while True:
            rows = await self._state_rows(run_id, after, page)
            if rows:
                yield [read_state(row) for row in rows]
            if len(rows) < page:
                return
            after = rows[-1]

    async def mark_again(
        self, run_id: int, units: Collection[UnitId], *, last_exchange_id: int | None = None
    ) -> int:
        """Mark units to be asked once more, all in one commit.

        Returns the id up to which their exchanges count as an earlier round: that of the newest exchange
        in the store, or `last_exchange_id`.
        """
        return await self._writer.submit(_mark_all, _Again(run_id, units, last_exchange_id))

    async def linked_units(
        self, run_id: int, *, batch: int = 500, only: Only = EVERY_UNIT
    ) -> AsyncGenerator[LinkedUnit, None]:
        """Yield every unit that was begun in a run, with all its exchanges in order.

        Ordered by model, condition, case, repeat; exchanges are read `batch` units at a time, so memory does
        not grow with the run. `only`: those of some models and conditions.
        """
        after: AnyRow | None = None
        while True:
            rows = await self._state_rows(run_id, after, batch, only)
            for unit in await self._with_exchanges(run_id, rows, only):
                yield unit
            if len(rows) < batch:
                return
            after = rows[-1]

    async def linked_unit(self, run_id: int, unit: UnitId) -> LinkedUnit | None:
        """Return one unit of a run with all its exchanges in order, None where it was never begun."""
        statement = select(*STATE_COLUMNS).where(
            *(UNIT.c[name] == value for name, value in unit_key(run_id, unit).items())
        )
        async with self._database.reading() as connection:
            rows = (await connection.execute(statement)).all()
        found = await self._with_exchanges(run_id, rows)
        return found[0] if found else None

    async def _state_rows(
        self, run_id: int, after: AnyRow | None, limit: int, only: Only = EVERY_UNIT
    ) -> Sequence[AnyRow]:
        statement = only.of(_page(run_id, after, limit), UNIT)
        async with self._database.reading() as connection:
            return (await connection.execute(statement)).all()

    async def _with_exchanges(
        self, run_id: int, rows: Sequence[AnyRow], only: Only = EVERY_UNIT
    ) -> list[LinkedUnit]:
        if not rows:
            return []
        statement = only.of(_links_between(run_id, rows[0], rows[-1]), UNIT_EXCHANGE)
        async with self._database.reading() as connection:
            linked = (await connection.execute(statement)).all()
        return await self._linked(rows, linked)

    async def _linked(self, rows: Sequence[AnyRow], linked: Sequence[AnyRow]) -> list[LinkedUnit]:
        """Return units, given as rows of `STATE_COLUMNS`, with the exchanges of these links."""
        links: dict[UnitId, list[Link]] = {}
        for row in linked:
            link = Link(row.exchange_id, row.purpose, row.attempt, row.used)
            links.setdefault(UnitId(row.model, row.condition, row.case_id, row.repeat), []).append(link)
        ids = {link.exchange_id for of_unit in links.values() for link in of_unit}
        exchanges = await self.exchanges(ids)
        return [
            LinkedUnit(
                state, tuple((link, exchanges[link.exchange_id]) for link in links.get(state.unit, ()))
            )
            for state in map(read_state, rows)
        ]


def _page(run_id: int, after: AnyRow | None, limit: int) -> Select[*tuple[Any, ...]]:
    order = [UNIT.c[name] for name in _ORDER]
    statement = select(*STATE_COLUMNS).where(UNIT.c.run_id == run_id).order_by(*order).limit(limit)
    return statement if after is None else statement.where(tuple_(*order) > _place(after))


def _links_between(run_id: int, first: AnyRow, last: AnyRow) -> Select[*tuple[Any, ...]]:
    order = [UNIT_EXCHANGE.c[name] for name in _ORDER]
    return (
        select(UNIT_EXCHANGE)
        .where(UNIT_EXCHANGE.c.run_id == run_id)
        .where(tuple_(*order) >= _place(first), tuple_(*order) <= _place(last))
        .order_by(*order, UNIT_EXCHANGE.c.position, UNIT_EXCHANGE.c.exchange_id)
    )


def _place(row: AnyRow) -> tuple[str, str, str, int]:
    return (row.model, row.condition, row.case_id, row.repeat)


async def _finish_all(transaction: Transaction, all: Sequence[_Finished]) -> list[None]:
    answered = await _answered(transaction, all)
    finished = [
        item
        for item in all
        if not item.unless_answered
        or answered.get((item.run_id, item.state.unit)) != item.state.again_after
    ]
    if not finished:
        return [None] * len(all)
    # The last word on a unit counts.
    states = {(item.run_id, item.state.unit): state_row(item.run_id, item.state) for item in finished}
    upsert = transaction.dialect.upsert
    await transaction.connection.execute(
        upsert(UNIT, ["outcome", "again_after", "error"]), list(states.values())
    )
    links = [row for item in finished for row in link_rows(item.run_id, item.state.unit, item.links)]
    if links:
        statement = upsert(UNIT_EXCHANGE, ["position", "purpose", "attempt", "used"])
        await transaction.connection.execute(statement, links)
    return [None] * len(all)


async def _answered(
    transaction: Transaction, finished: Sequence[_Finished]
) -> dict[tuple[int, UnitId], int]:
    """Return, of those units that must not lose an answer, those that have one, with the round it is of."""
    asked: dict[tuple[int, str, str], set[str]] = {}
    for item in finished:
        if item.unless_answered:
            unit = item.state.unit
            asked.setdefault((item.run_id, unit.model, unit.condition), set()).add(unit.case_id)
    found: dict[tuple[int, UnitId], int] = {}
    for (run_id, model, condition), cases in asked.items():
        statement = _ANSWERED.where(
            UNIT.c.run_id == run_id,
            UNIT.c.model == model,
            UNIT.c.condition == condition,
            UNIT.c.case_id.in_(sorted(cases)),
        )
        for row in await transaction.connection.execute(statement):
            found[run_id, UnitId(model, condition, row.case_id, row.repeat)] = row.again_after
    return found


async def _mark_all(transaction: Transaction, wanted: Sequence[_Again]) -> list[int]:
    newest = select(func.coalesce(func.max(EXCHANGE.c.id), 0))
    last = int((await transaction.connection.execute(newest)).scalar_one())
    statement = transaction.dialect.upsert(UNIT, ["outcome", "again_after", "error"])
    results = []
    for item in wanted:
        again_after = last if item.last_exchange_id is None else item.last_exchange_id
        results.append(again_after)
        marked = {"outcome": None, "again_after": again_after, "error": None}
        units = iter(item.units)
        while part := list(islice(units, PAGE)):
            rows: list[dict[str, object]] = [{**unit_key(item.run_id, unit), **marked} for unit in part]
            await transaction.connection.execute(statement, rows)
    return results


