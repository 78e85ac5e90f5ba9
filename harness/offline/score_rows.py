"""One row of the scores: what became of a model's units, and every metric in its two readings."""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from harness.benchmarks.base import Benchmark, MetricValue, Scored
from harness.canonical import JSON
from harness.offline.case_index import CaseIndex
from harness.offline.row_units import OUTCOMES, RowUnits, UnitColumns
from harness.outcomes import INCOMPLETE, UNUSABLE, USABLE, UnitOutcome
from harness.served_models import ServedCounts

RowKind: TypeAlias = Literal["model", "rater", "baseline"]
Metrics: TypeAlias = Mapping[str, MetricValue]


@dataclass(frozen=True, slots=True)
class Scorer:
    """A benchmark's metrics under fixed conventions, over the cases of a run."""

    benchmark: Benchmark
    conventions: Mapping[str, str]
    cases: CaseIndex

    def columns(self) -> UnitColumns:
        """Return room for the units of one row."""
        return UnitColumns(len(self.benchmark.numbers))

    def numbers(self, place: int, outcome: UnitOutcome, prediction: JSON) -> tuple[float, ...]:
        """Return all that the metrics need of one unit; `prediction` None unless the outcome is usable."""
        return tuple(self.benchmark.unit_numbers(Scored(self.cases.case(place), outcome, prediction)))

    def metrics(self, units: RowUnits) -> Metrics:
        """Return every metric of units; those without a prediction count as the worst value."""
        return self.benchmark.metrics(units.numbers, self.conventions)


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
    not_applicable: tuple[str, ...] = ()
    not_rated: tuple[str, ...] = ()
    served: ServedCounts = field(default_factory=dict)
    """Who answered, of a model's row."""

    @property
    def incomplete(self) -> bool:
        """True if units are still nobody's answer: such a row is not ranked."""
        return self.to_complete > 0


def model_row(
    name: str,
    condition: str,
    units: RowUnits,
    *,
    scorer: Scorer,
    left_out: Collection[int],
    served: ServedCounts,
) -> Row:
    """Return a model's row; cases `left_out` (no model could be sent them) enter no number.

    Cases that are not applicable to this model are left out of its numbers too, and listed.
    """
    asked = units.where(~units.at(left_out))
    not_applicable = np.unique(asked.places[asked.ended({UnitOutcome.NOT_APPLICABLE})]).tolist()
    inside = asked.where(~asked.at(not_applicable))
    answered = inside.where(inside.ended(USABLE | UNUSABLE))
    usable = answered.where(answered.ended(USABLE))
    repeats = np.unique(units.repeats).tolist()
    return Row(
        name=name,
        kind="model",
        condition=condition,
        n_cases=len(np.unique(answered.places)),
        n_units=len(units),
        outcomes=count_outcomes(units),
        to_complete=int(np.count_nonzero(inside.ended(INCOMPLETE))),
        coverage=len(usable) / len(inside) if len(inside) else None,
        as_answered=over_repeats(answered, repeats, scorer),
        valid_only=over_repeats(usable, repeats, scorer),
        not_applicable=tuple(map(scorer.cases.id, not_applicable)),
        served=served,
    )


def rater_row(
    name: str, condition: str, ratings: Mapping[str, JSON], *, scorer: Scorer, wanted: Sequence[int]
) -> Row:
    """Return a human rater's row over the wanted cases that they rated; the others are listed."""
    columns, not_rated = scorer.columns(), []
    for place in wanted:
        case = scorer.cases.id(place)
        if case in ratings:
            numbers = scorer.numbers(place, UnitOutcome.VALID, ratings[case])
            columns.add(place, 1, UnitOutcome.VALID, numbers)
        else:
            not_rated.append(case)
    units = columns.units()
    metrics = scorer.metrics(units)
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


def baseline_rows(condition: str, *, scorer: Scorer, wanted: Sequence[int]) -> Iterable[Row]:
    """Yield a row for each of the benchmark's baselines over the wanted cases."""
    found = scorer.benchmark.baselines(map(scorer.cases.case, wanted), scorer.conventions)
    for name, metrics in sorted(found.items()):
        yield Row(
            name=name,
            kind="baseline",
            condition=condition,
            n_cases=len(wanted),
            n_units=len(wanted),
            outcomes={},
            to_complete=0,
            coverage=1.0 if wanted else None,
            as_answered=metrics,
            valid_only=metrics,
        )


def count_outcomes(units: RowUnits) -> Mapping[str, int]:
    """Return outcome -> number of units, by name."""
    codes, counts = np.unique(units.outcomes, return_counts=True)
    return dict(
        sorted((str(OUTCOMES[code]), n) for code, n in zip(codes.tolist(), counts.tolist(), strict=True))
    )


def over_repeats(units: RowUnits, repeats: Sequence[int], scorer: Scorer) -> Metrics:
    """Return the metrics of units, each repeat scored by itself; several give their mean and SD.

    With several repeats n is the smallest of theirs (cases, not answers), and there is no interval:
    one over repeats would take them for independent cases.
    """
    if len(repeats) <= 1:
        return scorer.metrics(units)
    scored = [scorer.metrics(units.where(units.repeats == repeat)) for repeat in repeats]
    return {path: _mean([metrics[path] for metrics in scored]) for path in scored[0]}


def _mean(repeats: Sequence[MetricValue]) -> MetricValue:
    values = [metric.value for metric in repeats if metric.value is not None]
    reasons = [metric.reason for metric in repeats if metric.value is None]
    reason = None
    if reasons:
        reason = f"{len(reasons)} of {len(repeats)} repeats have no value: {reasons[0]}"
    return MetricValue(
        value=math.fsum(values) / len(values) if values else None,
        n=min(metric.n for metric in repeats),
        reason=reason,
        sd=statistics.stdev(values) if len(values) > 1 else None,
    )
