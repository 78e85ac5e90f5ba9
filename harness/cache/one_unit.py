"""One unit, or the units of one case: looked up for somebody who looks at it, each in a query or two."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import select

from harness.cache.exchange_rows import unpacked_json
from harness.cache.grades import Grade, read_grade
from harness.cache.parts import StorePart, chunks
from harness.cache.rows import Link, UnitId, UnitState
from harness.cache.tables import GRADE, RECORD, SCORED_RUN, UNIT, UNIT_EXCHANGE, UNIT_SCORE, AnyRow
from harness.cache.unit_rows import STATE_COLUMNS, read_state, unit_key
from harness.canonical import JSON, canonical_json
from harness.outcomes import UnitOutcome


@dataclass(frozen=True, slots=True)
class KeptScores:
    """What `harness score` kept of a unit: what it read, and metric -> value, with the code that did so.

    `conventions`: those of the run's stored scores; None where these are not of the same scoring, or damaged.
    """

    outcome: UnitOutcome
    prediction: JSON
    parser: str
    scorer: str | None
    values: dict[str, float | None]
    conventions: Mapping[str, str] | None = None


class OneUnitStore(StorePart):
    """Look-ups by the whole key of a unit."""

    async def links_of_units(
        self, run_id: int, units: Iterable[UnitId]
    ) -> dict[UnitId, tuple[UnitState, tuple[Link, ...]]]:
        """Return state and links, in order, of those of some units that were begun; no exchanges.

        They are found by their key where the units are all that some models, conditions and cases make.
        """
        wanted = frozenset(units)
        models, conditions = ({getattr(unit, name) for unit in wanted} for name in ("model", "condition"))
        states: list[AnyRow] = []
        links: list[AnyRow] = []
        for part in chunks(sorted({unit.case_id for unit in wanted})):
            for chosen, table, found in (
                (select(*STATE_COLUMNS), UNIT, states), (select(UNIT_EXCHANGE), UNIT_EXCHANGE, links)
            ):  # fmt: skip
                named = (table.c.model.in_(sorted(models)), table.c.condition.in_(sorted(conditions)))
                here = chosen.where(table.c.run_id == run_id, *named, table.c.case_id.in_(part))
                async with self._database.reading() as connection:
                    found += (await connection.execute(here)).all()
        by_unit: dict[UnitId, list[Link]] = {}
        for row in sorted(links, key=lambda one: (one.position, one.exchange_id)):
            unit = UnitId(row.model, row.condition, row.case_id, row.repeat)
            by_unit.setdefault(unit, []).append(Link(row.exchange_id, row.purpose, row.attempt, row.used))
        begun = [state for state in map(read_state, states) if state.unit in wanted]
        return {state.unit: (state, tuple(by_unit.get(state.unit, ()))) for state in begun}

    async def states_of_case(
        self, run_id: int, models: Collection[str], conditions: Collection[str], case_id: str
    ) -> Sequence[UnitState]:
        """Return how the units of a case stand that were begun, in order of model, condition and repeat.

        `models` and `conditions` are those that the run asks: with them the units are found by their key.
        """
        statement = (
            select(*STATE_COLUMNS)
            .where(UNIT.c.run_id == run_id, UNIT.c.case_id == case_id)
            .where(UNIT.c.model.in_(sorted(models)), UNIT.c.condition.in_(sorted(conditions)))
        )
        async with self._database.reading() as connection:
            rows = (await connection.execute(statement)).all()
        return sorted(map(read_state, rows), key=lambda state: state.unit)

    async def unit_grade_history(self, run_id: int, unit: UnitId) -> Sequence[Grade]:
        """Return every grade of a unit ever given, by question and rater, and then by time."""
        key = unit_key(run_id, unit)
        statement = select(GRADE).where(*(GRADE.c[name] == value for name, value in key.items()))
        async with self._database.reading() as connection:
            rows = (await connection.execute(statement)).all()
        return sorted(
            map(read_grade, rows), key=lambda one: (one.key, one.graded_at_us, canonical_json(one.value))
        )

    async def is_graded(self, run_id: int, questions: Collection[str]) -> bool:
        """Tell whether anybody answered any of these questions about any unit of a run."""
        statement = select(GRADE.c.id).where(GRADE.c.run_id == run_id)
        asked = statement.where(GRADE.c.question.in_(sorted(questions))).limit(1)
        async with self._database.reading() as connection:
            return (await connection.execute(asked)).one_or_none() is not None

    async def kept_scores(self, run_id: int, unit: UnitId) -> KeptScores | None:
        """Return what was kept of a unit when its run was scored last; None where it was not.

        Nor where that is damaged: it is made of the exchanges, and `harness score` makes it anew.
        """
        key = unit_key(run_id, unit)
        columns = (RECORD.c.outcome, RECORD.c.prediction, RECORD.c.parser)
        record = select(*columns).where(*(RECORD.c[name] == value for name, value in key.items()))
        scores = select(UNIT_SCORE).where(*(UNIT_SCORE.c[name] == value for name, value in key.items()))
        async with self._database.reading() as connection:
            row = (await connection.execute(record)).one_or_none()
            values = (await connection.execute(scores)).all()
            whole = select(SCORED_RUN.c.depends).where(SCORED_RUN.c.run_id == run_id)
            depends = (await connection.execute(whole)).scalar()
        if row is None:
            return None
        try:
            outcome = UnitOutcome(row.outcome)
            prediction = None if row.prediction is None else unpacked_json(row.prediction)
            conventions = None if depends is None else unpacked_json(depends).get("conventions")
        except (zlib.error, ValueError):
            return None
        return KeptScores(
            outcome,
            prediction,
            row.parser,
            values[0].scorer if values else None,
            {one.metric: one.value for one in values},
            conventions,
        )
