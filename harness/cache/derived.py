"""Derived tables: records and scores, which may be dropped and made anew from the exchanges."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, TypeAlias

from sqlalchemy import Select, Table, delete, insert, select, tuple_

from harness.cache.database import Transaction
from harness.cache.exchange_rows import packed_json, unpacked_json
from harness.cache.parts import StorePart
from harness.cache.rows import UnitId
from harness.cache.stored_scores import begin_scoring, is_scored_by
from harness.cache.tables import RECORD, UNIT_KEY, UNIT_SCORE, escape_text
from harness.canonical import JSON
from harness.outcomes import UnitOutcome

PAGE: Final = 2_000


@dataclass(frozen=True, slots=True)
class RecordRow:
    """What became of one unit. `text` is for searching; `parser` the digest of the code that read it."""

    unit: UnitId
    outcome: UnitOutcome
    stage: str | None
    prediction: JSON
    text: str
    parser: str


@dataclass(frozen=True, slots=True)
class UnitScore:
    """One metric of one unit: a value, or None with a reason. `scorer` is the digest of the code."""

    unit: UnitId
    metric: str
    value: float | None
    reason: str | None
    scorer: str


Values: TypeAlias = tuple[object, ...]
"""One row as the database takes it, in the order of the table's columns."""


def record_values(run_id: int, row: RecordRow) -> Values:
    """Return the row of a record."""
    prediction = None if row.prediction is None else packed_json(row.prediction)
    return (
        *_unit_values(run_id, row.unit), row.outcome.value, row.stage, prediction,
        escape_text(row.text), row.parser,
    )  # fmt: skip


def score_values(
    run_id: int, unit: UnitId, scores: Mapping[str, tuple[float | None, str | None]], scorer: str
) -> list[Values]:
    """Return the rows of a unit's scores, given as metric -> value, or None with a reason."""
    start = _unit_values(run_id, unit)
    return [
        (*start, metric, value, None if reason is None else escape_text(reason), scorer)
        for metric, (value, reason) in scores.items()
    ]


def _unit_values(run_id: int, unit: UnitId) -> Values:
    return (
        run_id, escape_text(unit.model), escape_text(unit.condition), escape_text(unit.case_id), unit.repeat
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Replacement:
    table: Table
    run_id: int
    rows: Iterable[Values]
    scoring: str | None


class DerivedStore(StorePart):
    """The derived tables."""

    async def replace_records(
        self, run_id: int, rows: Iterable[Values], *, scoring: str | None = None
    ) -> None:
        """Put these (see `record_values`) in place of all records of a run, in one commit.

        The run's stored scores (see `StoredScoreStore`) are dropped by it. `scoring` names whoever is to
        store others.
        """
        await self._writer.submit(_replace_all, _Replacement(RECORD, run_id, rows, scoring), alone=True)

    async def replace_unit_scores(
        self, run_id: int, rows: Iterable[Values], *, scoring: str | None = None
    ) -> None:
        """Put these (see `score_values`) in place of all scores of a run's units, in one commit.

        With `scoring`, nothing is written where another one has replaced the records since; without, the
        run's stored scores are dropped.
        """
        await self._writer.submit(_replace_all, _Replacement(UNIT_SCORE, run_id, rows, scoring), alone=True)

    async def records(self, run_id: int) -> AsyncIterator[RecordRow]:
        """Yield a run's records in order of model, condition, case and repeat."""
        async for row in self._rows(RECORD, UNIT_KEY[1:], run_id):
            yield RecordRow(
                _unit(row), UnitOutcome(row.outcome), row.stage,
                None if row.prediction is None else unpacked_json(row.prediction), row.text, row.parser,
            )

    async def unit_scores(self, run_id: int) -> AsyncIterator[UnitScore]:
        """Yield the scores of a run's units in order of model, condition, case, repeat and metric."""
        async for row in self._rows(UNIT_SCORE, (*UNIT_KEY[1:], "metric"), run_id):
            yield UnitScore(_unit(row), row.metric, row.value, row.reason, row.scorer)

    async def _rows(self, table: Table, order: Sequence[str], run_id: int) -> AsyncIterator[Any]:
        after: Any = None
        while True:
            statement = _page(table, order, run_id, after)
            async with self._database.reading() as connection:
                rows = (await connection.execute(statement)).all()
            for row in rows:
                yield row
            if len(rows) < PAGE:
                return
            after = rows[-1]


def _page(table: Table, order: Sequence[str], run_id: int, after: Any) -> Select[*tuple[Any, ...]]:
    columns = [table.c[name] for name in order]
    statement = select(table).where(table.c.run_id == run_id).order_by(*columns).limit(PAGE)
    if after is None:
        return statement
    return statement.where(tuple_(*columns) > tuple(getattr(after, name) for name in order))


def _unit(row: Any) -> UnitId:
    return UnitId(row.model, row.condition, row.case_id, row.repeat)


async def _replace_all(transaction: Transaction, wanted: Sequence[_Replacement]) -> list[None]:
    connection = transaction.connection
    for item in wanted:
        table = item.table
        if table is UNIT_SCORE and item.scoring is not None:
            if not await is_scored_by(connection, item.run_id, item.scoring):
                continue
        else:
            await begin_scoring(connection, item.run_id, item.scoring)
        await connection.execute(delete(table).where(table.c.run_id == item.run_id))
        # With the driver's own placeholders: binding each value by name costs more than storing it.
        statement = str(insert(table).compile(dialect=connection.dialect))
        rows = iter(item.rows)
        while page := list(islice(rows, PAGE)):
            await connection.exec_driver_sql(statement, page)
    return [None] * len(wanted)
