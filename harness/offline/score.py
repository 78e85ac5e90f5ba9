"""Scores a stored run: the same code at the end of the run and for ever after, offline."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from itertools import chain
from typing import TypeAlias

from harness.benchmarks.base import CaseSet
from harness.benchmarks.registry import chosen_conventions
from harness.benchmarks.scored import MetricValue
from harness.cache.rows import Run
from harness.cache.store import Store
from harness.canonical import JSON
from harness.offline.chosen_grades import ChosenGrades, chosen_grades
from harness.offline.derived import DerivedTables
from harness.offline.effort import Effort
from harness.offline.graded_units import GradedUnits, graded_units
from harness.offline.grading_progress import GradingProgress, grading_progress
from harness.offline.kept_score import KeptScore
from harness.offline.kept_units import KeptUnits
from harness.offline.model_units import ANSWERED, ModelUnits, numbers_of, scored_together, targets
from harness.offline.new_answers import new_answers
from harness.offline.other_grades import OtherGrades, other_grades
from harness.offline.people_agreement import people_agreement
from harness.offline.references import References, correct_references
from harness.offline.replay import ReplayedUnit, Replayer
from harness.offline.replay_stream import replay_units
from harness.offline.row_units import RowUnits
from harness.offline.score_basis import score_basis
from harness.offline.score_json import Changes, CommonCases, Score
from harness.offline.score_ranking import not_common
from harness.offline.score_rows import Row, Scorer, baseline_rows, rater_row, rows_across
from harness.offline.stored_run import StoredRun, load_run
from harness.outcomes import UnitOutcome

__all__ = ["Score", "score_run", "score_stored"]

OnUnit: TypeAlias = Callable[[ReplayedUnit, Sequence[float] | None], None]
"""Gets a unit and its numbers, None where it is nobody's answer."""


async def score_run(
    store: Store,
    run: Run,
    *,
    conventions: Mapping[str, str] | None = None,
    corrected: CaseSet | None = None,
    grades: str | None = None,
) -> Score:
    """Replay and score all that a run wants; unless the store is read-only, rebuild its derived tables.

    `corrected`: cases whose references replace the run's own where inputs agree. `grades`: whose (see
    `chosen_grades`). Raises ConfigError for a convention that the benchmark does not have and for grades that
    nobody gave, StoreError where the store fails.
    """
    stored = await load_run(store, run)
    chosen = chosen_conventions(stored.benchmark, conventions or {})
    return (await score_stored(store, stored, conventions=chosen, corrected=corrected, grades=grades)).score


async def score_stored(
    store: Store,
    stored: StoredRun,
    *,
    conventions: Mapping[str, str],
    corrected: CaseSet | None = None,
    grades: str | None = None,
) -> KeptScore:
    """Score a run as `score_run` does, and return what is kept of it.

    `conventions` has all of the benchmark's.
    """
    references = correct_references(stored.cases, stored.case_index, corrected)
    basis = await score_basis(  # before anything is read: what changes meanwhile makes it outdated
        store, stored, conventions=conventions, grades=grades,
        corrected=None if corrected is None else references,
    )  # fmt: skip
    grading = await chosen_grades(store, stored, grades)
    others = await other_grades(store, stored, grading, grades)
    units = KeptUnits()
    effort = Effort(stored)
    with stored.benchmark.prepared(conventions) as benchmark:
        scorer = Scorer(benchmark, conventions, references.index, scored_together(stored), units.keep)

        async def scored(*on_unit: OnUnit) -> KeptScore:
            passing = _Scoring(
                store, stored, scorer, grading, others, (lambda one, _: effort.note(one), *on_unit)
            )
            score = await passing.score(references)
            return KeptScore(score, basis, effort.to_json(), units, scorer.clusters)

        if store.read_only:
            return await scored()
        with DerivedTables(stored.run, benchmark, conventions) as derived:
            found = await scored(derived.add)
            await derived.store(store)
        await store.store_score(stored.run.id, found.stored(derived.scoring), units.rows(found.rows))
        return found


class _Scoring:
    """One pass over a run's units, model by model; a second one only where models differ in their cases."""

    def __init__(
        self,
        store: Store,
        stored: StoredRun,
        scorer: Scorer,
        grading: ChosenGrades | None,
        others: OtherGrades | None,
        on_unit: Sequence[OnUnit],
    ) -> None:
        self._store = store
        self._stored = stored
        self._scorer = scorer
        self._grading = grading
        self._others = others
        self._on_unit = on_unit
        self._replayer = Replayer(stored)
        self._changes = Changes()
        self._case_errors: Mapping[str, frozenset[int]] = {}
        self._graded: GradedUnits | None = None
        self._people: Mapping[str, JSON] | None = None
        self._progress: GradingProgress | None = None

    async def score(self, references: References) -> Score:
        self._case_errors = await self._find_case_errors()
        if self._grading is not None:
            self._grading.corrected = frozenset(references.corrected)
        if self._others is not None:
            self._others.corrected(references.corrected)
        new = await new_answers(self._store, self._stored)
        self._graded = await graded_units(self._store, self._stored, new)
        self._people = await people_agreement(self._store, self._stored)
        self._progress = await self._grading_progress()
        models = await self._model_rows()
        rows: list[Row] = []
        for condition in _conditions_of(models, self._scorer.together):
            own = sorted((row for row in models if row.condition == condition), key=lambda row: row.name)
            rows += rows_across(own, condition, self._scorer.benchmark)
            rows += self._other_rows(condition, references)
        return Score(
            stored=self._stored,
            references=references,
            conventions=self._scorer.conventions,
            rows=tuple(rows),
            ranked_by={row.condition: self._main_metric(row.condition) for row in rows},
            case_errors={
                name: tuple(map(self._scorer.cases.id, sorted(places)))
                for name, places in self._case_errors.items()
            },
            common=await self._common_cases(models),
            changes=self._changes,
            answers_changed=sum(not one.seen for one in new.values()),
            grading=self._grading_json(),
            agreement=self._people if self._graded is None else self._graded.to_json(),
            graded=self._how_far_graded(),
        )

    def _grading_json(self) -> Mapping[str, JSON] | None:
        if self._grading is None:
            return None
        others = [] if self._others is None else self._others.to_json()
        return {**self._grading.to_json(), **({"other_steps": others} if others else {})}

    async def _grading_progress(self) -> GradingProgress | None:
        """Return room for how far people graded this run, unless the numbers rest on other grades."""
        grading = self._grading
        if grading is not None and (grading.kind == "model" or (grading.kind == "none" and grading.others)):
            return None
        raters = None if grading is None else grading.only
        return await grading_progress(self._store, self._stored, raters)

    def _how_far_graded(self) -> Sequence[JSON]:
        """Return what people graded: of this run, else of the answers that this step is compared about."""
        progress = self._progress or (None if self._graded is None else self._graded.progress)
        return () if progress is None else progress.to_json()

    def _other_rows(self, condition: str, references: References) -> Iterator[Row]:
        members = self._scorer.together.get(condition)
        if members is None:
            return  # whom a step is about
        wanted = {member: self._wanted(member) for member in members}
        for name, ratings in sorted(references.cases.raters.items()):
            if members == (condition,):
                places = wanted[condition]
                yield rater_row(name, condition, ratings, scorer=self._scorer, wanted=places)
        yield from baseline_rows(condition, scorer=self._scorer, wanted=wanted)

    def _wanted(self, condition: str) -> list[int]:
        """Return the places of the cases that are scored, in the order of the cases."""
        unasked = self._case_errors[condition]
        return [place for place in self._stored.places(condition) if place not in unasked]

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
        model: str | None = None
        units = ModelUnits(self._scorer, self._grading)
        async with aclosing(replay_units(self._store, self._stored, self._replayer)) as stream:
            async for replayed in stream:
                if model is not None and replayed.unit.model != model:
                    rows += units.rows()
                    units = ModelUnits(self._scorer, self._grading)
                model = replayed.unit.model
                self._changes.note(replayed)
                if self._graded is not None:
                    self._graded.note(replayed)
                if self._progress is not None:
                    self._progress.note(replayed)
                if self._others is not None:
                    place = self._scorer.cases.place(replayed.unit.case_id)
                    self._others.note(replayed, self._scorer.case(place))
                numbers = units.add(replayed, self._case_errors[replayed.unit.condition])
                for take in self._on_unit:
                    take(replayed, numbers)
        return [*rows, *units.rows()]

    async def _common_cases(self, models: Sequence[Row]) -> dict[str, CommonCases]:
        """Read the complete models again on what they share: the cases are known only after all of them."""
        shared: dict[str, frozenset[int]] = {}
        for condition, members in self._scorer.together.items():
            missing = not_common([row for row in models if row.condition == condition])
            if missing is not None and self._main_metric(condition) is not None:
                left_out = {self._scorer.cases.place(case) for case in missing}
                wanted = (self._wanted(member) for member in members)
                shared[condition] = frozenset(chain.from_iterable(wanted)) - left_out
        if not shared:
            return {}
        compared = {
            (row.name, row.condition): self._scorer.columns(row.condition)
            for row in models
            if row.condition in shared and not row.incomplete and row.n_cases > 0
        }
        async with aclosing(replay_units(self._store, self._stored, self._replayer)) as stream:
            async for replayed in stream:
                place = self._scorer.cases.place(replayed.unit.case_id)
                unasked = self._case_errors[replayed.unit.condition]
                for condition, member in targets(replayed.unit.condition, self._scorer.together):
                    columns = compared.get((replayed.unit.model, condition))
                    if columns is not None and place in shared[condition] and place not in unasked:
                        numbers = numbers_of(self._scorer, replayed, self._scorer.case(place), self._grading)
                        columns.add(
                            place, replayed.unit.repeat, replayed.result.outcome, numbers, member=member
                        )
        found = {condition: CommonCases(len(places), {}) for condition, places in shared.items()}
        for (model, condition), columns in compared.items():
            found[condition].values[model] = self._value(columns.units(), condition)
        return found

    def _main_metric(self, condition: str) -> str | None:
        return self._scorer.benchmark.table(condition).main_metric

    def _value(self, units: RowUnits, condition: str) -> MetricValue:
        metric = self._main_metric(condition)
        assert metric is not None
        answered = units.where(units.ended(ANSWERED))
        repeats = range(1, self._stored.manifest.repeats + 1)
        return self._scorer.metrics(answered, condition, repeats)[metric]


def _conditions_of(models: Sequence[Row], known: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return what the rows are grouped by: the run's conditions and unions, or those that a step is about."""
    return list(dict.fromkeys([*known, *sorted(row.condition for row in models)]))
