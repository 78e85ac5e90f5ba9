"""What all scores of a run are made of, as one digest: equal as long as nothing of it changed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from sqlalchemy import Column, ColumnElement, Select, Text, case, cast, func, literal, select, type_coerce

from harness.cache.parts import StorePart
from harness.cache.tables import GRADE, SESSION, UNIT, UNIT_EXCHANGE

Statement: TypeAlias = "Select[*tuple[Any, ...]]"


class EvidenceStore(StorePart):
    """Fingerprints of runs."""

    async def evidence_digest(self, run_id: int) -> str:
        """Return the SHA-256 over a run's units with their links, its sessions, and its newest grade.

        Another one wherever a score, or what it took, could be another: a unit that was asked, asked again,
        joined from another store or imported; settings or prices of a session; a grade. Exchanges themselves
        are never changed, so their ids stand for them; grades are only ever added.
        """
        found = hashlib.sha256()
        rows = await self._all(_ROWS.where(UNIT.c.run_id == run_id))
        for model, condition in rows:
            for kind, statement in _OF_ROW.items():
                table = _TABLES[kind]
                here = (table.c.run_id == run_id, _raw(table.c.model) == model)
                parts = await self._all(_joined(statement.where(*here, _raw(table.c.condition) == condition)))
                found.update(f"{kind} {model!r} {condition!r} {parts!r}\n".encode())
        for kind, statement in _OF_RUN.items():
            for row in await self._all(statement.where(_TABLES[kind].c.run_id == run_id)):
                found.update(f"{kind} {row!r}\n".encode())
        return found.hexdigest()

    async def _all(self, statement: Statement) -> Sequence[tuple[Any, ...]]:
        """Return whole rows as tuples: the `repr` of SQLAlchemy's own ones leaves out what is long."""
        async with self._database.reading() as connection:
            return [tuple(row) for row in await connection.execute(statement)]


def _raw(column: Column[Any]) -> ColumnElement[str]:
    """Return a column of text as it is stored, escapes and all."""
    return type_coerce(column, Text)


def _line(case_id: Column[Any], *values: ColumnElement[Any]) -> ColumnElement[str]:
    """Return values as one text that no other values give: a case's id can hold any character."""
    found = cast(func.length(_raw(case_id)), Text) + ":" + _raw(case_id)
    for value in values:
        found = found + "|" + cast(value, Text)
    return found + "\n"


def _joined(lines: Statement) -> Statement:
    """Return the texts of many rows as one: a row each would cost more to fetch than to make."""
    (line,) = lines.subquery().c
    return select(func.aggregate_strings(line, ""))


_TABLES: Final = {
    "unit": UNIT, "link": UNIT_EXCHANGE, "error": UNIT, "session": SESSION, "grades": GRADE
}  # fmt: skip
_ROWS: Final = (
    select(_raw(UNIT.c.model), _raw(UNIT.c.condition))
    .distinct()
    .order_by(_raw(UNIT.c.model), _raw(UNIT.c.condition))
)
_OF_ROW: Final[dict[str, Statement]] = {
    "unit": select(
        _line(UNIT.c.case_id, UNIT.c.repeat, func.coalesce(UNIT.c.outcome, "-"), UNIT.c.again_after)
    ).order_by(UNIT.c.case_id, UNIT.c.repeat),
    "link": select(
        _line(
            UNIT_EXCHANGE.c.case_id,
            UNIT_EXCHANGE.c.repeat,
            UNIT_EXCHANGE.c.exchange_id,
            UNIT_EXCHANGE.c.position,
            UNIT_EXCHANGE.c.purpose,
            UNIT_EXCHANGE.c.attempt,
            case((UNIT_EXCHANGE.c.used, literal("used")), else_=literal("-")),
        )
    ).order_by(UNIT_EXCHANGE.c.case_id, UNIT_EXCHANGE.c.repeat, UNIT_EXCHANGE.c.exchange_id),
}
"""What is read of each model and condition. A link never stands without its unit."""
_OF_RUN: Final[dict[str, Statement]] = {
    "error": select(
        _raw(UNIT.c.model), _raw(UNIT.c.condition), _raw(UNIT.c.case_id), UNIT.c.repeat, UNIT.c.error
    )
    .where(UNIT.c.error.is_not(None))
    .order_by(UNIT.c.model, UNIT.c.condition, UNIT.c.case_id, UNIT.c.repeat),
    "session": select(SESSION.c.id, SESSION.c.started_at_us, SESSION.c.info).order_by(SESSION.c.id),
    "grades": select(func.count(), func.max(GRADE.c.id)),
}
