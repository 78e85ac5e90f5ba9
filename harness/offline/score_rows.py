"""One row of the scores: what became of a model's units, and every metric in its two readings."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from harness.benchmarks.base import Benchmark, Case, MetricValue, Scored
from harness.canonical import JSON
from harness.outcomes import INCOMPLETE, UNUSABLE, USABLE, UnitOutcome

RowKind: TypeAlias = Literal["model", "rater", "baseline"]
Metrics: TypeAlias = Mapping[str, MetricValue]


@dataclass(frozen=True, slots=True)
class RowUnit:
    """One unit of a row; `prediction` None unless the outcome is usable."""

    case_id: str
    repeat: int
    outcome: UnitOutcome
    prediction: JSON


@dataclass(frozen=True, slots=True)
class Scorer:
    """A benchmark's metrics under fixed conventions, over the cases of a run."""

    benchmark: Benchmark
    conventions: Mapping[str, str]
    cases: Mapping[str, Case]

    def metrics(self, units: Iterable[RowUnit]) -> Metrics:
        """Return every metric of units; those without a prediction count as the worst value."""
        scored = [Scored(self.cases[unit.case_id], unit.outcome, unit.prediction) for unit in units]
        return self.benchmark.metrics(scored, self.conventions)


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

    @property
    def incomplete(self) -> bool:
        """True if units are still nobody's answer: such a row is not ranked."""
        return self.to_complete > 0


def model_row(
    name: str, condition: str, units: Sequence[RowUnit], *, scorer: Scorer, left_out: Collection[str]
) -> Row:
    """Return a model's row; cases `left_out` (no model could be sent them) enter no number.

    Cases that are not applicable to this model are left out of its numbers too, and listed.
    """
    not_applicable = {
        unit.case_id
        for unit in units
        if unit.outcome is UnitOutcome.NOT_APPLICABLE and unit.case_id not in left_out
    }
    inside = [u for u in units if u.case_id not in left_out and u.case_id not in not_applicable]
    answered = [unit for unit in inside if unit.outcome in USABLE or unit.outcome in UNUSABLE]
    usable = [unit for unit in answered if unit.outcome in USABLE]
    repeats = sorted({unit.repeat for unit in units})
    return Row(
        name=name,
        kind="model",
        condition=condition,
        n_cases=len({unit.case_id for unit in answered}),
        n_units=len(units),
        outcomes=count_outcomes(units),
        to_complete=sum(unit.outcome in INCOMPLETE for unit in inside),
        coverage=len(usable) / len(inside) if inside else None,
        as_answered=over_repeats(answered, repeats, scorer),
        valid_only=over_repeats(usable, repeats, scorer),
        not_applicable=tuple(sorted(not_applicable)),
    )


def rater_row(
    name: str, condition: str, ratings: Mapping[str, JSON], *, scorer: Scorer, wanted: Sequence[str]
) -> Row:
    """Return a human rater's row over the wanted cases that they rated; the others are listed."""
    units = [RowUnit(case, 1, UnitOutcome.VALID, ratings[case]) for case in wanted if case in ratings]
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
        not_rated=tuple(sorted(set(wanted) - set(ratings))),
    )


def baseline_rows(condition: str, *, scorer: Scorer, wanted: Sequence[str]) -> Iterable[Row]:
    """Yield a row for each of the benchmark's baselines over the wanted cases."""
    cases = [scorer.cases[case] for case in wanted]
    for name, metrics in sorted(scorer.benchmark.baselines(cases, scorer.conventions).items()):
        yield Row(
            name=name,
            kind="baseline",
            condition=condition,
            n_cases=len(cases),
            n_units=len(cases),
            outcomes={},
            to_complete=0,
            coverage=1.0 if cases else None,
            as_answered=metrics,
            valid_only=metrics,
        )


def count_outcomes(units: Iterable[RowUnit]) -> Mapping[str, int]:
    """Return outcome -> number of units, by name."""
    counts = Counter(str(unit.outcome) for unit in units)
    return {outcome: counts[outcome] for outcome in sorted(counts)}


def over_repeats(units: Sequence[RowUnit], repeats: Sequence[int], scorer: Scorer) -> Metrics:
    """Return the metrics of units, each repeat scored by itself; several give their mean and SD.

    With several repeats n is the smallest of theirs (cases, not answers), and there is no interval:
    one over repeats would take them for independent cases.
    """
    if len(repeats) <= 1:
        return scorer.metrics(units)
    by_repeat: dict[int, list[RowUnit]] = {repeat: [] for repeat in repeats}
    for unit in units:
        by_repeat[unit.repeat].append(unit)
    scored = [scorer.metrics(by_repeat[repeat]) for repeat in repeats]
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
