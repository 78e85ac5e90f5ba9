"""Contenders compared: one set of cases, one resampling each, one family of tests, named first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from harness.benchmarks.base import Benchmark
from harness.benchmarks.scored import ScoreTable
from harness.comparison.common_cases import CommonCases, Reading, common_cases
from harness.comparison.contenders import Contender
from harness.comparison.family import Adjusted, Pair, adjusted_p, pairs_of, shown_against
from harness.comparison.measuring import Measured, Measuring
from harness.comparison.pair_tests import PairTest, choose_test, pair_tests
from harness.comparison.ranking import merits, ranked
from harness.comparison.result import (
    Better,
    Cases,
    Comparison,
    Correction,
    Difference,
    Family,
    MetricResult,
    Test,
    Verdict,
)
from harness.comparison.warnings import pair_notes, value_notes, warnings_of
from harness.errors import ConfigError
from harness.nearest import nearest_or_known
from harness.phrases import listed, spoken
from harness.scoring.many_tests import RATE
from harness.scoring.resampling import Resampling

_DECIMALS: Final = 3
"""Of values and differences at least: a difference is smaller than what it is made of."""


def compare(
    benchmark: Benchmark,
    contenders: Sequence[Contender],
    *,
    condition: str,
    conventions: Mapping[str, str],
    metrics: Sequence[str] | None = None,
    baseline: str | None = None,
    correction: Correction = "holm",
    reading: Reading = "as_answered",
    resampling: Resampling | None = None,
    not_compared: Sequence[str] = (),
) -> Comparison:
    """Compare contenders of one condition or union, by metric paths (None: the metric that ranks).

    `benchmark` is the prepared one, `conventions` has all of its conventions. With a `baseline` (a label) the
    family is every other one against it, else all pairs, also where only those with the best value are
    shown. `not_compared` are told of as they are. Raises ConfigError for fewer than two contenders, labels
    that are not unique, nothing in common, and metrics that are not compared, or of which nobody has a value.
    """
    _check(contenders, baseline)
    contenders = sorted(contenders, key=lambda one: one.label)
    table = benchmark.table(condition)
    paths = _paths(metrics, benchmark, condition)
    graded_only = _graded(contenders, benchmark, condition, conventions, paths)
    common = common_cases(contenders, reading, graded_only)
    if not common.ids:
        raise ConfigError(_nothing(common, contenders))
    drawing, better = resampling or Resampling(), _better(table)
    measuring = Measuring(benchmark, condition, conventions, paths, drawing)
    sides = _measured(contenders, common, measuring, paths)
    order = merits(contenders, sides, paths, better)
    against = shown_against(contenders, baseline, order, paths, better)
    tests = {
        path: choose_test(path, sides, independent=common.independent, wilcoxon=table.wilcoxon)
        for path in paths
    }
    tested = _Tested(contenders, common, sides, tests, pairs_of(order, None if baseline is None else against))
    family = Family(
        metrics=tuple(paths),
        pairs=len(tested.pairs),
        correction=correction,
        level=RATE,
        against=None if against is None else contenders[against].label,
        chosen_by_looking=baseline is None and against is not None,
    )
    differences = tested.differences(correction, against)
    return Comparison(
        benchmark=benchmark.name,
        condition=condition,
        reading=reading,
        conventions=conventions,
        contenders=tuple(contenders[place] for place in order),
        family=family,
        cases=_cases(common, contenders),
        metrics=tuple(_results(tested, table, differences, better, reading)),
        resampling=drawing.described(),
        warnings=warnings_of(contenders, common, reading),
        not_compared=tuple(not_compared),
    )


def _better(table: ScoreTable) -> dict[str, Better]:
    return {column.path: column.better for column in (*table.columns, *table.graded_only)}


def _graded(
    contenders: Sequence[Contender],
    benchmark: Benchmark,
    condition: str,
    conventions: Mapping[str, str],
    paths: Sequence[str],
) -> int | None:
    """Return the place of the number that says which units are graded, for metrics of graded ones alone.

    None for other metrics. Raises ConfigError for both kinds together, and where somebody's graded answers
    come to nothing.
    """
    table = benchmark.table(condition)
    partly = {column.path for column in table.graded_only} & {*paths}
    if not partly or table.graded is None:
        return None
    if others := [path for path in paths if path not in partly]:
        raise ConfigError(
            f"{others[0]!r} is of all answers and {min(partly)!r} of the graded ones alone: they are not "
            "about the same cases; compare them one after the other"
        )
    for one in contenders:
        metrics = benchmark.metrics(one.units, condition, conventions)
        for path in sorted(partly):
            if metrics[path].value is None:
                raise ConfigError(f"{one.label}: no value of {path!r}: {metrics[path].reason}")
    return table.numbers.index(table.graded)


@dataclass(frozen=True, slots=True)
class _Tested:
    """All pairs of the family, by all metrics."""

    contenders: Sequence[Contender]
    common: CommonCases
    sides: Sequence[Measured]
    tests: Mapping[str, tuple[Test, str]]
    pairs: Sequence[Pair]

    def differences(self, correction: Correction, against: int | None) -> list[Difference]:
        chosen = {path: test for path, (test, _) in self.tests.items()}
        found = {
            (a, b): pair_tests(self.sides[a], self.sides[b], self.common.cases, chosen) for a, b in self.pairs
        }
        adjusted = adjusted_p(found, list(chosen), correction)
        return [
            self._difference(pair, path, found[pair][path], adjusted[pair, path], against)
            for path in chosen
            for pair in self.pairs
        ]

    def _difference(
        self, pair: Pair, path: str, found: PairTest, adjusted: Adjusted, against: int | None
    ) -> Difference:
        a, b = pair
        return Difference(
            a=self.contenders[a].label,
            b=self.contenders[b].label,
            path=path,
            difference=found.difference,
            low=found.low,
            high=found.high,
            p=found.p,
            adjusted=adjusted.p,
            verdict=_verdict(found, is_rejected=adjusted.is_rejected),
            differ=found.differ,
            effect=found.effect,
            notes=pair_notes(found),
            shown=against is None or against in pair,
        )


def _results(
    tested: _Tested,
    table: ScoreTable,
    differences: Sequence[Difference],
    better: Mapping[str, Better],
    reading: Reading,
) -> Iterator[MetricResult]:
    columns = {column.path: column for column in (*table.columns, *table.graded_only)}
    for path, (test, why) in tested.tests.items():
        column = columns.get(path)
        yield MetricResult(
            path=path,
            head="" if column is None else spoken(column),
            decimals=_DECIMALS if column is None else max(column.decimals, _DECIMALS),
            better=better.get(path),
            test=test,
            why=why,
            values=ranked(tested.contenders, tested.sides, path, better.get(path)),
            differences=tuple(one for one in differences if one.path == path),
            notes=value_notes(tested.contenders, tested.sides, path, reading),
        )


def _check(contenders: Sequence[Contender], baseline: str | None) -> None:
    labels = [one.label for one in contenders]
    if len(labels) < 2:
        one = repr(labels[0]) if labels else "nobody"
        raise ConfigError(f"a comparison takes two at least, and there is {one}; name another")
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise ConfigError(f"two contenders are called {twice!r}; give them different labels")
    if baseline is not None and baseline not in labels:
        known = nearest_or_known(baseline, labels)
        raise ConfigError(f"the baseline {baseline!r} is none of those compared{known}")


def _measured(
    contenders: Sequence[Contender], common: CommonCases, measuring: Measuring, paths: Sequence[str]
) -> list[Measured]:
    """Measure all. Raises ConfigError for a metric of which nobody has a value, with a reason."""
    sides = [measuring.measure(one) for one in common.tables()]
    for path in paths:
        reasons = [side.values[path].reason for side in sides]
        if None in reasons:
            continue
        same = len(set(reasons)) == 1
        who = "" if same else f"{contenders[0].label}: "
        others = "" if same else f"; nor has {listed(one.label for one in contenders[1:])}"
        raise ConfigError(
            f"nobody that is compared has a value of {path!r}: {who}{reasons[0]}{others}; or choose another "
            "metric, of those with a value in `harness score --json`, by `harness compare --metric`"
        )
    return sides


def _paths(metrics: Sequence[str] | None, benchmark: Benchmark, condition: str) -> list[str]:
    if metrics:
        return list(dict.fromkeys(metrics))
    table = benchmark.table(condition)
    if table.main_metric is None:
        known = ", ".join(column.path for column in table.columns) or "none"
        of = f"condition {condition!r} of {benchmark.name}"
        raise ConfigError(f"{of} has no metric that ranks; name one by --metric: {known}")
    return [table.main_metric]


def _verdict(found: PairTest, *, is_rejected: bool) -> Verdict:
    if found.p is None or found.difference is None:
        return "not compared"
    if not is_rejected:
        return "within noise"
    sign = int(np.sign(found.difference))
    if sign != found.direction or not sign:
        return "unclear"
    return "A higher" if sign > 0 else "A lower"


def _cases(common: CommonCases, contenders: Sequence[Contender]) -> Cases:
    labels = [one.label for one in contenders]
    n = len(common.ids)
    more = [
        (labels[a], labels[b], int(common.shared[a, b]))
        for a, b in combinations(range(len(labels)), 2)
        if common.shared[a, b] > n
    ]
    without = dict(zip(labels, common.without, strict=True)) if len(labels) > 2 else {}
    return Cases(
        n, common.wanted, common.units, common.clusters, common.repeats, common.left_out,
        {label: cases for label, cases in without.items() if cases > n}, more,
    )  # fmt: skip


def _nothing(common: CommonCases, contenders: Sequence[Contender]) -> str:
    told = [f"{len(one.cases)} cases: {one.why} ({', '.join(one.whose)})" for one in common.left_out[:3]]
    who = ", ".join(one.label for one in contenders[:4])
    return f"no case is common to all {len(contenders)} ({who}): {'; '.join(told) or 'none was asked'}"
