"""Units of a run as lists show them: how each stands, what was last asked for it, what was read of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import Column, ColumnElement, Select, Table, and_, case, func, literal, select, tuple_

from harness.cache.parts import chunks
from harness.cache.rows import LinkedUnit, UnitId
from harness.cache.tables import GRADE, RECORD, SCORED_RUN, UNIT, UNIT_EXCHANGE, UNIT_KEY, UNIT_SCORE, AnyRow
from harness.cache.unit_rows import STATE_COLUMNS
from harness.cache.units import UnitStore

REFORMATTED: Final = 1_000_000
"""The `attempt` of units whose answer a reformatter restated."""

_AT_ONCE: Final = 2_000
_NEVER: Final = (None, 0)
"""The newest exchange of a unit that has none, and the attempt of its answer."""


class Glance(NamedTuple):
    """A unit of one model and condition that was begun.

    `last` is the newest exchange of its present round, None where there is none. `attempt` is that of the
    answer which it ended with: 0 where there is none, `REFORMATTED` for a reformatter's.
    """

    case_id: str
    repeat: int
    outcome: str | None
    last: int | None
    attempt: int


class Totals(NamedTuple):
    """How many units of a run that were begun stand so; `outcome` None: they have not ended."""

    run_id: int
    outcome: str | None
    units: int


def _of(
    table: Table, run_id: int, model: str, condition: str, cases: Sequence[str] | None
) -> list[ColumnElement[bool]]:
    """Return what chooses the rows of a model and condition, or of some of its cases."""
    row = table.c
    wanted = [row.run_id == run_id, row.model == model, row.condition == condition]
    return wanted if cases is None else [*wanted, row.case_id.in_(cases)]


def _keys(table: Table) -> list[Column[Any]]:
    return [table.c[name] for name in UNIT_KEY[1:]]


_ATTEMPT: Final = case((UNIT_EXCHANGE.c.purpose == "reformat", REFORMATTED), else_=UNIT_EXCHANGE.c.attempt)
_USED: Final = case((UNIT_EXCHANGE.c.used, _ATTEMPT), else_=literal(0))
_UNITS: Final = select(UNIT.c.case_id, UNIT.c.repeat, UNIT.c.outcome, UNIT.c.again_after)
_LAST: Final = select(
    UNIT_EXCHANGE.c.case_id, UNIT_EXCHANGE.c.repeat, func.max(UNIT_EXCHANGE.c.exchange_id), func.max(_USED)
).group_by(UNIT_EXCHANGE.c.case_id, UNIT_EXCHANGE.c.repeat)
"""Of all rounds. Not joined with the units: of tables that nobody analysed yet, as those of a sweep that has
just begun are, Postgres expects a row each, and would compare all of one with all of the other."""
_STATES: Final = select(*STATE_COLUMNS)
_LINKS: Final = select(UNIT_EXCHANGE).order_by(UNIT_EXCHANGE.c.position, UNIT_EXCHANGE.c.exchange_id)


class GlanceStore(UnitStore):
    """Many units at once, without their answers."""

    async def unit_glances(
        self, run_id: int, model: str, condition: str, cases: Collection[str] | None = None
    ) -> Sequence[Glance]:
        """Return all units of a model and condition that were begun, or those of some cases."""
        found: list[Glance] = []
        for part in [None] if cases is None else chunks(sorted(cases)):
            units = await self._rows_of(_UNITS.where(*_of(UNIT, run_id, model, condition, part)))
            of_these = _of(UNIT_EXCHANGE, run_id, model, condition, part)
            last = await self._last(_LAST.where(*of_these))
            for after in {row.again_after for row in units} - {0}:
                later = await self._last(_LAST.where(*of_these, UNIT_EXCHANGE.c.exchange_id > after))
                keys = ((row.case_id, row.repeat) for row in units if row.again_after == after)
                last |= {key: later.get(key, _NEVER) for key in keys}
            found += [
                Glance(row.case_id, row.repeat, row.outcome, *last.get((row.case_id, row.repeat), _NEVER))
                for row in units
            ]
        return found

    async def _last(
        self, statement: Select[*tuple[Any, ...]]
    ) -> dict[tuple[str, int], tuple[int | None, int]]:
        return {(row[0], row[1]): (row[2], row[3]) for row in await self._rows_of(statement)}

    async def touched_units(self, run_id: int, after: int, most: int) -> Sequence[UnitId] | None:
        """Return the units of a run that exchanges later than one were linked to; None: more than `most`."""
        link = UNIT_EXCHANGE.c
        statement = (
            select(link.model, link.condition, link.case_id, link.repeat)
            .where(link.exchange_id > after, link.run_id == run_id)
            .distinct()
            .limit(most + 1)
        )
        rows = await self._rows_of(statement)
        return None if len(rows) > most else [UnitId(*row) for row in rows]

    async def unit_totals(self, run_ids: Iterable[int]) -> Sequence[Totals]:
        """Return how the units of some runs stand, in one query."""
        by = (UNIT.c.run_id, UNIT.c.outcome)
        wanted = UNIT.c.run_id.in_(sorted(run_ids))
        return [
            Totals(*row) for row in await self._rows_of(select(*by, func.count()).where(wanted).group_by(*by))
        ]

    async def some_linked_units(self, run_id: int, units: Iterable[UnitId]) -> list[LinkedUnit]:
        """Return those of some units that were begun, with their exchanges, in no particular order."""
        by_row: dict[tuple[str, str], set[str]] = {}
        wanted = set(units)
        for unit in wanted:
            by_row.setdefault((unit.model, unit.condition), set()).add(unit.case_id)
        states: list[AnyRow] = []
        links: list[AnyRow] = []
        for (model, condition), cases in by_row.items():
            for part in chunks(sorted(cases)):
                for statement, table, found in ((_STATES, UNIT, states), (_LINKS, UNIT_EXCHANGE, links)):
                    here = (table.c.run_id == run_id, table.c.model == model)
                    asked = (table.c.condition == condition, table.c.case_id.in_(part))
                    found += await self._rows_of(statement.where(*here, *asked))
        return [one for one in await self._linked(states, links) if one.state.unit in wanted]

    async def record_texts(self, run_id: int) -> AsyncIterator[Sequence[AnyRow]]:
        """Yield the records of a run, many at a time: the unit's key, outcome, stage, text."""
        columns = (RECORD.c.outcome, RECORD.c.stage, RECORD.c.text)
        async for rows in self._pages(_keys(RECORD), columns, RECORD.c.run_id == run_id):
            yield rows

    async def unit_values(self, run_id: int, metrics: Collection[str]) -> AsyncIterator[Sequence[AnyRow]]:
        """Yield scores of a run's units, many at a time: the unit's key, metric, value."""
        keys = (*_keys(UNIT_SCORE), UNIT_SCORE.c.metric)
        wanted = and_(UNIT_SCORE.c.run_id == run_id, UNIT_SCORE.c.metric.in_(sorted(metrics)))
        async for rows in self._pages(keys, (UNIT_SCORE.c.value,), wanted):
            yield rows

    async def view_mark(self, run_id: int) -> tuple[object, ...]:
        """Return what is another one wherever a run was scored, or answers of it graded, since."""
        scoring = select(SCORED_RUN.c.scoring, SCORED_RUN.c.score.is_not(None)).where(
            SCORED_RUN.c.run_id == run_id
        )
        grades = select(func.count(), func.max(GRADE.c.id)).where(GRADE.c.run_id == run_id)
        scored, graded = await self._rows_of(scoring), await self._rows_of(grades)
        return (*map(tuple, scored), *map(tuple, graded))

    async def _pages(self, keys: Sequence[Any], columns: Sequence[Any], wanted: Any) -> AsyncIterator[Any]:
        after: tuple[Any, ...] | None = None
        while True:
            statement = select(*keys, *columns).where(wanted).order_by(*keys).limit(_AT_ONCE)
            if after is not None:
                statement = statement.where(tuple_(*keys) > after)
            rows = await self._rows_of(statement)
            if rows:
                yield rows
            if len(rows) < _AT_ONCE:
                return
            after = tuple(rows[-1])[: len(keys)]

    async def _rows_of(self, statement: Select[*tuple[Any, ...]]) -> Sequence[AnyRow]:
        async with self._database.reading() as connection:
            return (await connection.execute(statement)).all()
