"""How far a run has come, without what each unit is linked to: counts, and states in the fewest bytes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from sqlalchemy import Select, and_, func, or_, select, tuple_

from harness.cache.exchange_rows import unpacked_json
from harness.cache.parts import StorePart
from harness.cache.tables import EXCHANGE, UNIT, UNIT_EXCHANGE, UNIT_KEY, AnyRow
from harness.messages import Purpose
from harness.outcomes import UNUSABLE, USABLE, ExchangeOutcome, UnitOutcome

MARKS_PAGE: Final = 10_000
_ANSWERED: Final = sorted(outcome.value for outcome in USABLE | UNUSABLE)
_SERVING: Final = sorted(outcome.value for outcome in ExchangeOutcome if outcome.serves)

Mark: TypeAlias = "tuple[str, int, str | None, int]"
"""A unit's case id, repeat, outcome and `again_after`, within one model and condition."""


class UnitCount(NamedTuple):
    """How many units of a model and condition ended so; `outcome` None: begun, or marked, and not ended."""

    model: str
    condition: str
    outcome: UnitOutcome | None
    units: int


class UnitMarkStore(StorePart):
    """Units of a run, many at once."""

    async def count_units(self, run_id: int) -> list[UnitCount]:
        """Return how many units that were begun stand how, in one query."""
        by = (UNIT.c.model, UNIT.c.condition, UNIT.c.outcome)
        statement = select(*by, func.count()).where(UNIT.c.run_id == run_id).group_by(*by).order_by(*by[:2])
        async with self._database.reading() as connection:
            rows = (await connection.execute(statement)).all()
        return [
            UnitCount(model, condition, None if outcome is None else UnitOutcome(outcome), units)
            for model, condition, outcome, units in rows
        ]

    async def count_served(self, run_id: int) -> dict[str, dict[tuple[Purpose, str | None], int]]:
        """Return model -> who answered how often, of units that have an answer; bodies are not read.

        An ask that was answered twice counts its last answer, as in the scores.
        """
        link, sent = UNIT_EXCHANGE.c, EXCHANGE.c
        same_unit = (UNIT.c[column] == link[column] for column in UNIT_KEY)
        of_ask = (*(link[column] for column in UNIT_KEY), link.purpose, link.attempt)
        place = func.row_number().over(partition_by=of_ask, order_by=sent.id.desc()).label("place")
        answers = (
            select(link.model, link.purpose, sent.served_model, place)
            .join_from(UNIT, UNIT_EXCHANGE, and_(*same_unit))
            .join(EXCHANGE, sent.id == link.exchange_id)
            .where(UNIT.c.run_id == run_id, UNIT.c.outcome.in_(_ANSWERED))
            .where(sent.id > UNIT.c.again_after, sent.outcome.in_(_SERVING))
            .where(or_(sent.served_model.is_not(None), sent.outcome != ExchangeOutcome.FILTERED.value))
            .subquery()
        )
        by = (answers.c.model, answers.c.purpose, answers.c.served_model)
        statement = select(*by, func.count()).where(answers.c.place == 1).group_by(*by)
        async with self._database.reading() as connection:
            rows = (await connection.execute(statement)).all()
        found: dict[str, dict[tuple[Purpose, str | None], int]] = {}
        for model, purpose, served, count in rows:
            found.setdefault(model, {})[purpose, served] = count
        return found

    async def unit_marks(
        self, run_id: int, model: str, condition: str, *, page: int = MARKS_PAGE
    ) -> AsyncIterator[Sequence[Mark]]:
        """Yield the units that were begun, some at a time, by case and repeat; errors are not read."""
        after: AnyRow | None = None
        while True:
            statement = _marks(run_id, model, condition, after).limit(page)
            async with self._database.reading() as connection:
                rows = (await connection.execute(statement)).all()
            if rows:
                yield rows
            if len(rows) < page:
                return
            after = rows[-1]

    async def unit_errors(
        self, run_id: int, model: str, *, but: Collection[UnitOutcome] = (), most: int = 5
    ) -> list[tuple[str, int]]:
        """Return the most frequent errors of a model's units with their counts, `but` outcomes left out."""
        count = func.count()
        statement = (
            select(UNIT.c.error, count)
            .where(UNIT.c.run_id == run_id, UNIT.c.model == model, UNIT.c.error.is_not(None))
            .where(func.coalesce(UNIT.c.outcome, "").not_in([one.value for one in but]))
            .group_by(UNIT.c.error)
            .order_by(count.desc(), func.min(UNIT.c.case_id))
            .limit(most)
        )
        async with self._database.reading() as connection:
            rows = (await connection.execute(statement)).all()
        return [(unpacked_json(error), units) for error, units in rows]


def _marks(run_id: int, model: str, condition: str, after: AnyRow | None) -> Select[*tuple[Any, ...]]:
    order = (UNIT.c.case_id, UNIT.c.repeat)
    statement = (
        select(*order, UNIT.c.outcome, UNIT.c.again_after)
        .where(UNIT.c.run_id == run_id, UNIT.c.model == model, UNIT.c.condition == condition)
        .order_by(*order)
    )
    return statement if after is None else statement.where(tuple_(*order) > (after[0], after[1]))
