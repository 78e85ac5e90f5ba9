"""Scores a stored run: the same code at the end of the run and for ever after, offline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from harness.benchmarks.base import CaseSet, MetricValue, chosen_conventions
from harness.cache.rows import Run
from harness.cache.store import Store
from harness.offline.derived import DerivedTables
from harness.offline.references import References, correct_references
from harness.offline.replay import ReplayedUnit, Replayer
from harness.offline.replay_stream import replay_units
from harness.offline.score_json import Changes, CommonCases, Score
from harness.offline.score_ranking import common_cases
from harness.offline.score_rows import Row, RowUnit, Scorer, baseline_rows, model_row, over_repeats, rater_row
from harness.offline.stored_run import StoredRun, load_run
from harness.outcomes import UnitOutcome

__all__ = ["Score", "score_run"]

OnUnit: TypeAlias = Callable[[ReplayedUnit], None]


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
    references = correct_references(stored.cases, corrected)
    cases = {case.id: case for case in references.cases.cases}
    chosen = chosen_conventions(stored.benchmark, conventions or {})
    scorer = Scorer(stored.benchmark, chosen, cases)
    if store.read_only:
        return await _Scoring(store, stored, scorer).score(references)
    with DerivedTables(run, stored.benchmark, cases, chosen) as derived:
        score = await _Scoring(store, stored, scorer, derived.add).score(references)
        await derived.store(store)
    return score


class _Scoring:
    """One pass over a run's units, row by row; a second one only where models differ in their cases."""

    def __init__(
        self, store: Store, stored: StoredRun, scorer: Scorer, on_unit: OnUnit = lambda replayed: None
    ) -> None:
        self._store = store
        self._stored = stored
        self._scorer = scorer
        self._on_unit = on_unit
        self._replayer = Replayer(stored)
        self._changes = Changes()
        self._case_errors: Mapping[str, frozenset[str]] = {}

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
            case_errors={name: tuple(sorted(cases)) for name, cases in self._case_errors.items()},
            common=await self._common_cases(models, metric),
            changes=self._changes,
        )

    def _wanted(self, condition: str) -> list[str]:
        return [case for case in self._scorer.cases if case not in self._case_errors[condition]]

    async def _find_case_errors(self) -> Mapping[str, frozenset[str]]:
        """Return condition -> the cases that no model could be sent."""
        found: dict[str, set[str]] = {condition: set() for condition in self._stored.conditions}
        async for states in self._store.unit_state_pages(self._stored.run.id):
            for state in states:
                if state.outcome is UnitOutcome.CASE_ERROR and state.unit.condition in found:
                    found[state.unit.condition].add(state.unit.case_id)
        return {condition: frozenset(cases) for condition, cases in found.items()}

    async def _model_rows(self) -> list[Row]:
        rows: list[Row] = []
        units: list[RowUnit] = []
        current: tuple[str, str] | None = None
        async for replayed in replay_units(self._store, self._stored, self._replayer):
            row = replayed.unit.model, replayed.unit.condition
            if current is not None and row != current:
                rows.append(self._model_row(current, units))
                units = []
            current = row
            self._changes.note(replayed)
            self._on_unit(replayed)
            units.append(_row_unit(replayed))
        if current is not None:
            rows.append(self._model_row(current, units))
        return rows

    def _model_row(self, row: tuple[str, str], units: Sequence[RowUnit]) -> Row:
        model, condition = row
        left_out = self._case_errors[condition]
        return model_row(model, condition, _in_order(units), scorer=self._scorer, left_out=left_out)

    async def _common_cases(self, models: Sequence[Row], metric: str) -> dict[str, CommonCases]:
        """Read the complete models again on what they share: all answers at once may not fit into memory."""
        shared: dict[str, tuple[str, ...]] = {}
        for condition in self._stored.conditions:
            rows = [row for row in models if row.condition == condition]
            cases = common_cases(rows, self._wanted(condition))
            if cases is not None:
                shared[condition] = cases
        if not shared:
            return {}
        inside = {condition: frozenset(cases) for condition, cases in shared.items()}
        compared = {
            (row.name, row.condition): list[RowUnit]()
            for row in models
            if row.condition in shared and not row.incomplete and row.n_cases > 0
        }
        async for replayed in replay_units(self._store, self._stored, self._replayer):
            unit = replayed.unit
            units = compared.get((unit.model, unit.condition))
            if units is not None and unit.case_id in inside[unit.condition]:
                units.append(_row_unit(replayed))
        found = {condition: CommonCases(cases, {}) for condition, cases in shared.items()}
        for (model, condition), units in compared.items():
            found[condition].values[model] = self._value(units, metric)
        return found

    def _value(self, units: Sequence[RowUnit], metric: str) -> MetricValue:
        repeats = range(1, self._stored.manifest.repeats + 1)
        return over_repeats(_in_order(units), repeats, self._scorer)[metric]


def _row_unit(replayed: ReplayedUnit) -> RowUnit:
    result = replayed.result
    return RowUnit(replayed.unit.case_id, replayed.unit.repeat, result.outcome, result.prediction)


def _in_order(units: Sequence[RowUnit]) -> list[RowUnit]:
    # Databases order text differently; numbers must not depend on it.
    return sorted(units, key=lambda unit: (unit.case_id, unit.repeat))
