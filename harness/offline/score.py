"""Scores a stored run: the same code at the end of the run and for ever after, offline."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import TypeAlias

from harness.benchmarks.base import CaseSet, MetricValue, chosen_conventions
from harness.cache.rows import Run
from harness.cache.store import Store
from harness.messages import Purpose
from harness.offline.derived import DerivedTables
from harness.offline.references import References, correct_references
from harness.offline.replay import ReplayedUnit, Replayer
from harness.offline.replay_stream import replay_units
from harness.offline.row_units import RowUnits, UnitColumns
from harness.offline.score_json import Changes, CommonCases, Score
from harness.offline.score_ranking import not_common
from harness.offline.score_rows import Row, Scorer, baseline_rows, model_row, over_repeats, rater_row
from harness.offline.stored_run import StoredRun, load_run
from harness.outcomes import UNUSABLE, USABLE, UnitOutcome, is_answer
from harness.served_models import ServedCounts

__all__ = ["Score", "score_run"]

OnUnit: TypeAlias = Callable[[ReplayedUnit, Sequence[float] | None], None]
"""Gets a unit and its numbers, None where it is nobody's answer."""


async def score_run(
    store: Store,
    run: Run,
    *,
    conventions: Mapping[str, str] | None = None,
    corrected: CaseSet | None = None,
) -> Score:
    """Replay and score all that a run wants; unless the store is read-only, rebuild its derived tables.

    `corrected`: cases whose references replace the run's own where inputs agree. Raises ConfigError for a
    convention that the benchmark does not have, StoreError where the store fails.
    """
    stored = await load_run(store, run)
    references = correct_references(stored.cases, stored.case_index, corrected)
    chosen = chosen_conventions(stored.benchmark, conventions or {})
    scorer = Scorer(stored.benchmark, chosen, references.index)
    if store.read_only:
        return await _Scoring(store, stored, scorer).score(references)
    with DerivedTables(run, stored.benchmark, chosen) as derived:
        score = await _Scoring(store, stored, scorer, derived.add).score(references)
        await derived.store(store)
    return score


class _Scoring:
    """One pass over a run's units, row by row; a second one only where models differ in their cases."""

    def __init__(
        self, store: Store, stored: StoredRun, scorer: Scorer, on_unit: OnUnit | None = None
    ) -> None:
        self._store = store
        self._stored = stored
        self._scorer = scorer
        self._on_unit = on_unit
        self._replayer = Replayer(stored)
        self._changes = Changes()
        self._nothing = (math.nan,) * len(scorer.benchmark.numbers)
        self._case_errors: Mapping[str, frozenset[int]] = {}

    async def score(self, references: References) -> Score:
        self._case_errors = await self._find_case_errors()
        models = await self._model_rows()
        rows: list[Row] = []
        for condition in self._stored.conditions:
            wanted = self._wanted(condition)
            rows += sorted((row for row in models if row.condition == condition), key=lambda row: row.name)
            for name, ratings in sorted(references.cases.raters.items()):
                rows.append(rater_row(name, condition, ratings, scorer=self._scorer, wanted=wanted))
            rows += baseline_rows(condition, scorer=self._scorer, wanted=wanted)
        metric = self._stored.benchmark.main_metric
        return Score(
            stored=self._stored,
            references=references,
            conventions=self._scorer.conventions,
            metric=metric,
            rows=tuple(rows),
            case_errors={
                name: tuple(map(self._scorer.cases.id, sorted(places)))
                for name, places in self._case_errors.items()
            },
            common=await self._common_cases(models, metric),
            changes=self._changes,
        )

    def _wanted(self, condition: str) -> list[int]:
        """Return the places of the cases that are scored, in the order of the cases."""
        return [place for place in self._scorer.cases if place not in self._case_errors[condition]]

    async def _find_case_errors(self) -> Mapping[str, frozenset[int]]:
        """Return condition -> the places of the cases that no model could be sent."""
        found: dict[str, set[int]] = {condition: set() for condition in self._stored.conditions}
        async for states in self._store.unit_state_pages(self._stored.run.id):
            for state in states:
                if state.outcome is UnitOutcome.CASE_ERROR and state.unit.condition in found:
                    place = self._scorer.cases.find(state.unit.case_id)
                    if place is not None:
                        found[state.unit.condition].add(place)
        return {condition: frozenset(places) for condition, places in found.items()}

    async def _model_rows(self) -> list[Row]:
        rows: list[Row] = []
        columns, served = self._scorer.columns(), Counter[tuple[Purpose, str | None]]()
        current: tuple[str, str] | None = None
        async for replayed in replay_units(self._store, self._stored, self._replayer):
            row = replayed.unit.model, replayed.unit.condition
            if current is not None and row != current:
                rows.append(self._model_row(current, columns.units(), served))
                columns, served = self._scorer.columns(), Counter()
            current = row
            self._changes.note(replayed)
            served.update(_served(replayed))
            numbers = self._add(columns, replayed)
            if self._on_unit is not None:
                self._on_unit(replayed, numbers)
        if current is not None:
            rows.append(self._model_row(current, columns.units(), served))
        return rows

    def _model_row(self, row: tuple[str, str], units: RowUnits, served: ServedCounts) -> Row:
        model, condition = row
        left_out = self._case_errors[condition]
        return model_row(
            model, condition, units, scorer=self._scorer, left_out=left_out, served=served
        )

    def _add(self, columns: UnitColumns, replayed: ReplayedUnit) -> Sequence[float] | None:
        """Add a unit to the columns of its row; return its numbers, None where it is nobody's answer."""
        unit, result = replayed.unit, replayed.result
        place = self._scorer.cases.place(unit.case_id)
        if result.outcome not in _ANSWERED:
            columns.add(place, unit.repeat, result.outcome, self._nothing)
            return None
        numbers = self._scorer.numbers(place, result.outcome, result.prediction)
        columns.add(place, unit.repeat, result.outcome, numbers)
        return numbers

    async def _common_cases(self, models: Sequence[Row], metric: str) -> dict[str, CommonCases]:
        """Read the complete models again on what they share: the cases are known only after all of them."""
        shared: dict[str, frozenset[int]] = {}
        for condition in self._stored.conditions:
            rows = [row for row in models if row.condition == condition]
            missing = not_common(rows)
            if missing is not None:
                left_out = {self._scorer.cases.place(case) for case in missing}
                shared[condition] = frozenset(self._wanted(condition)) - left_out
        if not shared:
            return {}
        compared = {
            (row.name, row.condition): self._scorer.columns()
            for row in models
            if row.condition in shared and not row.incomplete and row.n_cases > 0
        }
        async for replayed in replay_units(self._store, self._stored, self._replayer):
            unit = replayed.unit
            columns = compared.get((unit.model, unit.condition))
            if columns is not None and self._scorer.cases.place(unit.case_id) in shared[unit.condition]:
                self._add(columns, replayed)
        found = {condition: CommonCases(len(places), {}) for condition, places in shared.items()}
        for (model, condition), columns in compared.items():
            found[condition].values[model] = self._value(columns.units(), metric)
        return found

    def _value(self, units: RowUnits, metric: str) -> MetricValue:
        repeats = range(1, self._stored.manifest.repeats + 1)
        return over_repeats(units, repeats, self._scorer)[metric]


def _served(replayed: ReplayedUnit) -> Iterator[tuple[Purpose, str | None]]:
    """Yield purpose and served model of each ask's answer of this round, where the run ended in an answer.

    An ask that was answered twice (by two processes, one of them suspended meanwhile) counts its last answer.
    """
    if replayed.state is None or replayed.state.outcome not in _ANSWERED:
        return
    last: dict[tuple[Purpose, int], tuple[int, str | None]] = {}
    for link, exchange in replayed.links:
        data = exchange.data
        if exchange.id > replayed.state.again_after and is_answer(data.outcome, data.served_model):
            ask = (link.purpose, link.attempt)
            last[ask] = max(last.get(ask, (0, None)), (exchange.id, data.served_model), key=itemgetter(0))
    yield from ((purpose, served) for (purpose, _), (_, served) in last.items())


_ANSWERED = USABLE | UNUSABLE
