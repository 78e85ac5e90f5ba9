"""One row of the scores: what became of a model's units, and every metric in its two readings."""

from __future__ import annotations

import math
import statistics
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np

from harness.benchmarks.base import Benchmark, Case
from harness.benchmarks.scored import BaselineUnits, MetricValue, Scored, Unsettled
from harness.canonical import JSON
from harness.offline.case_index import CaseIndex
from harness.offline.row_units import OUTCOMES, RowKey, RowKind, RowUnits, UnitColumns
from harness.outcomes import INCOMPLETE, UNUSABLE, USABLE, UnitOutcome
from harness.scoring.intervals import BCA, Interval
from harness.scoring.resampling import Resampling
from harness.served_models import ServedCounts

Metrics: TypeAlias = Mapping[str, MetricValue]
Keep: TypeAlias = Callable[[RowKey, RowUnits], None]
"""Gets the units that a row's `as_answered` numbers are made of."""

NO_GRADES: Final[Mapping[str, JSON]] = MappingProxyType({})
NOTHING_UNSETTLED: Final[Mapping[str, Unsettled]] = MappingProxyType({})
_NOT_THERE: Final = MetricValue(None, 0, "nobody graded it")
"""Of a repeat without a grade, where another one has some: its metric is left out."""
_NO_INTERVAL: Final = Interval(None, None, BCA, "none is made of this number")
_GUESSES: Final = Interval(None, None, BCA, "none is made of a baseline that is computed as a whole")


class Scorer:
    """A benchmark's metrics under fixed conventions, over the cases of a run.

    `keep` gets the units of each row that has some.
    """

    def __init__(
        self,
        benchmark: Benchmark,
        conventions: Mapping[str, str],
        cases: CaseIndex,
        together: Mapping[str, tuple[str, ...]],
        keep: Keep = lambda key, units: None,
    ) -> None:
        self.benchmark = benchmark
        self.conventions = conventions
        self.cases = cases
        self.together = together
        """Condition -> itself, and union -> its conditions."""
        self.keep = keep
        self._resampling = Resampling()
        self._groups: dict[str, int] = {}
        self.clusters = np.arange(len(cases), dtype=np.int64)
        """One number a case, by its place: equal for cases of one group; of those that were decoded."""

    def columns(self, condition: str) -> UnitColumns:
        """Return room for the units of one row."""
        return UnitColumns(len(self.benchmark.table(condition).numbers))

    def numbers(
        self,
        case: Case,
        condition: str,
        outcome: UnitOutcome,
        prediction: JSON,
        grades: Mapping[str, JSON] = NO_GRADES,
        unsettled: Mapping[str, Unsettled] = NOTHING_UNSETTLED,
    ) -> tuple[float, ...]:
        """Return all that the metrics need of one unit; `prediction` None unless the outcome is usable."""
        unit = Scored(case, condition, outcome, prediction, grades, unsettled)
        return tuple(self.benchmark.unit_numbers(unit))

    def metrics(self, units: RowUnits, condition: str, repeats: Sequence[int]) -> Metrics:
        """Return every metric of units; those without a prediction count as the worst value.

        Each repeat is scored by itself; several give their mean and SD. n is then the smallest of theirs
        (cases, not answers). Intervals are over cases, or groups of cases, with all their repeats.
        """
        table = units.table(self.clusters, self.together.get(condition, (condition,)))
        found = over_repeats(
            [
                self.benchmark.metrics(one, condition, self.conventions)
                for one in (
                    [table]
                    if len(repeats) <= 1
                    else [table.where(table.repeats == repeat) for repeat in repeats]
                )
            ]
        )
        intervals = self.benchmark.intervals(table, condition, self.conventions, self._resampling)
        return {
            path: replace(metric, interval=intervals.get(path, _NO_INTERVAL))
            for path, metric in found.items()
        }

    def case(self, place: int) -> Case:
        """Return the case at a place; one that is scored is decoded by this, which notes its group."""
        case = self.cases.case(place)
        if case.group is not None:
            self.clusters[place] = self._groups.setdefault(case.group, len(self.cases) + len(self._groups))
        return case


@dataclass(frozen=True, slots=True)
class Row:
    """The scores of one model, rater or baseline in one condition.

    `n_cases` are scored in it, `n_units` are all that the run wants of it. `to_complete` units are
    nobody's answer yet. `coverage` is the share of its applicable units that have a prediction.
    """

    name: str
    kind: RowKind
    condition: str
    n_cases: int
    n_units: int
    outcomes: Mapping[str, int]
    to_complete: int
    coverage: float | None
    as_answered: Metrics
    valid_only: Metrics
    without_reformatter: Metrics | None = None
    """None where no answer was restated."""
    not_applicable: tuple[str, ...] = ()
    left_out: tuple[int, ...] = ()
    """The same as `RowUnits.questions`: in a union, which of its conditions they were in."""
    not_rated: tuple[str, ...] = ()
    served: ServedCounts = field(default_factory=dict)
    """Who answered, of a model's row."""

    @property
    def incomplete(self) -> bool:
        """True if units are still nobody's answer: such a row is not ranked."""
        return self.to_complete > 0

    @property
    def unrestated(self) -> Metrics:
        """The numbers without the reformatter, also where it restated nothing."""
        return self.as_answered if self.without_reformatter is None else self.without_reformatter


def rows_across(rows: Sequence[Row], condition: str, benchmark: Benchmark) -> list[Row]:
    """Return the rows of a condition's models with the numbers that all of their rows are needed for."""
    complete = [row for row in rows if not row.incomplete and row.n_cases]
    answered = benchmark.across(condition, {row.name: row.as_answered for row in complete})
    valid = benchmark.across(condition, {row.name: row.valid_only for row in complete})
    bare = benchmark.across(condition, {row.name: row.unrestated for row in complete})
    return [
        replace(
            row,
            as_answered={**row.as_answered, **answered.get(row.name, {})},
            valid_only={**row.valid_only, **valid.get(row.name, {})},
            without_reformatter=None
            if row.without_reformatter is None
            else {**row.without_reformatter, **bare.get(row.name, {})},
        )
        for row in rows
    ]


def model_row(
    name: str, condition: str, units: RowUnits, *, scorer: Scorer, served: ServedCounts
) -> Row:
    """Return a model's row; cases that are left out (no model could be sent them) enter no number.

    Cases that are not applicable to this model are left out of its numbers too, and listed.
    """
    asked = units.where(~units.left_out)
    not_applicable = asked.ended({UnitOutcome.NOT_APPLICABLE})
    inside = asked.where(~np.isin(asked.questions(), asked.questions()[not_applicable]))
    answered = inside.where(inside.ended(USABLE | UNUSABLE))
    usable = answered.where(answered.ended(USABLE))
    repeats = np.unique(units.repeats).tolist()
    as_answered = scorer.metrics(answered, condition, repeats)
    scorer.keep(RowKey("model", name, condition), answered)
    return Row(
        name=name,
        kind="model",
        condition=condition,
        n_cases=len(np.unique(answered.places)),
        n_units=len(units),
        outcomes=count_outcomes(units),
        to_complete=int(np.count_nonzero(inside.ended(INCOMPLETE))),
        coverage=len(usable) / len(inside) if len(inside) else None,
        as_answered=as_answered,
        valid_only=as_answered
        if len(usable) == len(answered)
        else scorer.metrics(usable, condition, repeats),
        without_reformatter=scorer.metrics(answered.unrestated(), condition, repeats)
        if answered.restated.any()
        else None,
        not_applicable=tuple(map(scorer.cases.id, np.unique(asked.places[not_applicable]).tolist())),
        left_out=tuple(np.unique(asked.questions()[not_applicable]).tolist()),
        served=served,
    )


def rater_row(
    name: str, condition: str, ratings: Mapping[str, JSON], *, scorer: Scorer, wanted: Sequence[int]
) -> Row:
    """Return a human rater's row over the wanted cases that they rated; the others are listed."""
    columns, not_rated = scorer.columns(condition), []
    for place in wanted:
        case = scorer.case(place)
        if case.id in ratings:
            numbers = scorer.numbers(case, condition, UnitOutcome.VALID, ratings[case.id])
            columns.add(place, 1, UnitOutcome.VALID, numbers)
        else:
            not_rated.append(case.id)
    units = columns.units()
    metrics = scorer.metrics(units, condition, [1])
    scorer.keep(RowKey("rater", name, condition), units)
    return Row(
        name=name,
        kind="rater",
        condition=condition,
        n_cases=len(units),
        n_units=len(units),
        outcomes=count_outcomes(units),
        to_complete=0,
        coverage=len(units) / len(wanted) if wanted else None,
        as_answered=metrics,
        valid_only=metrics,
        not_rated=tuple(sorted(not_rated)),
    )


def baseline_rows(
    condition: str, *, scorer: Scorer, wanted: Mapping[str, Sequence[int]]
) -> Iterator[Row]:
    """Yield a row for each of the benchmark's baselines, by name.

    `wanted` are the places of the cases that count, by condition.
    """
    members = scorer.together[condition]
    constants = _Constants(condition, scorer)
    cases = {
        name: constants.passing(member, name, wanted[name]) for member, name in enumerate(members)
    }
    drawn = scorer.benchmark.baselines(cases, scorer.conventions)
    for left in cases.values():
        deque(left, maxlen=0)  # what the benchmark did not look at
    found: dict[str, Metrics] = {}
    answered = dict(constants.columns)
    for name, row in drawn.items():
        answered.pop(name, None)
        if isinstance(row, BaselineUnits):
            answered[name] = _columns(row, condition, scorer)
        else:
            found[name] = {path: replace(metric, interval=_GUESSES) for path, metric in row.items()}
    for name, columns in answered.items():
        units = columns.units()
        found[name] = scorer.metrics(units, condition, [1])
        scorer.keep(RowKey("baseline", name, condition), units)
    places = sorted({place for member in members for place in wanted[member]})
    for name, metrics in sorted(found.items()):
        yield Row(
            name=name,
            kind="baseline",
            condition=condition,
            n_cases=len(places),
            n_units=sum(len(wanted[member]) for member in members),
            outcomes={},
            to_complete=0,
            coverage=1.0 if places else None,
            as_answered=metrics,
            valid_only=metrics,
        )


def _columns(row: BaselineUnits, condition: str, scorer: Scorer) -> UnitColumns:
    columns = scorer.columns(condition)
    for id, numbers in zip(row.ids, row.numbers.tolist(), strict=True):
        columns.add(scorer.cases.place(id), 1, UnitOutcome.VALID, numbers)
    return columns


class _Constants:
    """Units of baselines that answer every case alike, noted while the cases go by: each is decoded once."""

    def __init__(self, condition: str, scorer: Scorer) -> None:
        self._condition = condition
        self._scorer = scorer
        self.columns: dict[str, UnitColumns] = {}

    def passing(self, member: int, name: str, places: Sequence[int]) -> Iterator[Case]:
        """Yield the cases of a condition, which is the `member`-th of those that are scored together."""
        scorer = self._scorer
        answers = scorer.benchmark.constant_answers(map(scorer.case, places), name)
        for baseline in answers:
            self.columns.setdefault(baseline, scorer.columns(self._condition))
        for place in places:
            case = scorer.case(place)
            for baseline, answer in answers.items():
                numbers = scorer.numbers(case, name, UnitOutcome.VALID, answer)
                self.columns[baseline].add(place, 1, UnitOutcome.VALID, numbers, member=member)
            yield case


def count_outcomes(units: RowUnits) -> Mapping[str, int]:
    """Return outcome -> number of units, by name."""
    codes, counts = np.unique(units.outcomes, return_counts=True)
    return dict(
        sorted((str(OUTCOMES[code]), n) for code, n in zip(codes.tolist(), counts.tolist(), strict=True))
    )


def over_repeats(repeats: Sequence[Metrics]) -> Metrics:
    """Return the metrics of repeats as their mean and SD; those of a single one as they are."""
    if len(repeats) == 1:
        return repeats[0]
    paths = dict.fromkeys(path for metrics in repeats for path in metrics)
    return {path: _mean([metrics.get(path, _NOT_THERE) for metrics in repeats]) for path in paths}


def _mean(repeats: Sequence[MetricValue]) -> MetricValue:
    known = [metric for metric in repeats if metric.value is not None]
    values = [metric.value for metric in known if metric.value is not None]
    reasons = [metric.reason for metric in repeats if metric.value is None]
    reason = None
    if reasons:
        reason = f"{len(reasons)} of {len(repeats)} repeats have no value: {reasons[0]}"
    return MetricValue(
        value=math.fsum(values) / len(values) if values else None,
        n=min(metric.n for metric in known or repeats),
        reason=reason,
        sd=statistics.stdev(values) if len(values) > 1 else None,
    )
