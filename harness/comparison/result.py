"""What a comparison comes to, as data and as JSON: no clock and no path in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final, Literal, TypeAlias

from harness.canonical import JSON
from harness.comparison.common_cases import LeftOut, Reading
from harness.comparison.contenders import Contender
from harness.scoring.intervals import LEVEL

Correction: TypeAlias = Literal["holm", "bh", "none"]
Test: TypeAlias = Literal["mcnemar", "wilcoxon", "bootstrap"]
Verdict: TypeAlias = Literal["A higher", "A lower", "within noise", "unclear", "not compared"]
Better: TypeAlias = Literal["higher", "lower"] | None

TESTS: Final[Mapping[Test, str]] = {
    "mcnemar": "exact McNemar test",
    "wilcoxon": "Wilcoxon signed rank test",
    "bootstrap": "paired bootstrap",
}
CORRECTIONS: Final[Mapping[Correction, str]] = {
    "holm": "Holm", "bh": "Benjamini-Hochberg", "none": "no correction",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Value:
    """A contender's value on the common cases, None with a `reason`; `n` as the metric counts it.

    `rank` is among complete models with a value, `first` the share of resamples in which it has rank 1 (ties
    included), `ranks` the least and largest rank in the middle 95 % of them. None where nobody is ranked.
    """

    label: str
    value: float | None
    n: int
    reason: str | None = None
    rank: int | None = None
    first: float | None = None
    ranks: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Effect:
    """How large a difference is, where a case has a value of its own; each None where it is not defined.

    `d_z`: mean over SD of the differences by case. `rank_biserial`: of matched pairs, from -1 to 1. Of cases
    with values 0 and 1: how many only A and only B has, and `odds_ratio`, their ratio.
    """

    d_z: float | None = None
    rank_biserial: float | None = None
    a_only: int | None = None
    b_only: int | None = None
    odds_ratio: float | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """The value of A less that of B on the common cases, with its percentile interval and its test.

    `p` is two-tailed, `adjusted` over the family. `differ` counts the cases in which A and B differ
    at all. `shown` is False for a test that only belongs to the family.
    """

    a: str
    b: str
    path: str
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    adjusted: float | None
    verdict: Verdict
    differ: int
    effect: Effect | None = None
    notes: tuple[str, ...] = ()
    shown: bool = True


@dataclass(frozen=True, slots=True)
class MetricResult:
    """One metric: the values in order of merit, and the differences in the order of the pairs.

    `head` is what the table of scores calls it.
    """

    path: str
    head: str
    decimals: int
    better: Better
    test: Test
    why: str
    values: tuple[Value, ...]
    differences: tuple[Difference, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Family:
    """What was tested, said before any result: `pairs` x metrics = `tests`, whatever became of them."""

    metrics: tuple[str, ...]
    pairs: int
    correction: Correction
    level: float
    against: str | None
    """Whom all others are shown against; None: each pair is shown."""
    chosen_by_looking: bool
    """True where `against` has the best value: then all pairs are the family, since any could have it."""

    @property
    def tests(self) -> int:
        """Return how many tests the correction is for."""
        return self.pairs * len(self.metrics)


@dataclass(frozen=True, slots=True)
class Cases:
    """How many cases are compared, and which are not (see `CommonCases`)."""

    common: int
    wanted: int
    units: int
    clusters: int
    repeats: int
    left_out: tuple[LeftOut, ...]
    without: Mapping[str, int]
    shared: Sequence[tuple[str, str, int]]
    """Pairs that share more cases by themselves."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Contenders compared on their common cases, by metric.

    `warnings` come before anything else. `not_compared` are models of the runs that were left out, and why.
    """

    benchmark: str
    condition: str
    reading: Reading
    conventions: Mapping[str, str]
    contenders: tuple[Contender, ...]
    family: Family
    cases: Cases
    metrics: tuple[MetricResult, ...]
    resampling: Mapping[str, str | int]
    warnings: tuple[str, ...] = ()
    not_compared: tuple[str, ...] = ()

    def to_json(self) -> dict[str, JSON]:
        """Return the comparison as it is printed by `--json`."""
        return {
            "benchmark": self.benchmark,
            "condition": self.condition,
            "reading": self.reading,
            "conventions": dict(sorted(self.conventions.items())),
            "warnings": list(self.warnings),
            "not_compared": list(self.not_compared),
            "contenders": [contender_json(one) for one in self.contenders],
            "family": {
                **asdict(self.family), "metrics": list(self.family.metrics), "tests": self.family.tests
            },
            "cases": {
                "common": self.cases.common,
                "wanted": self.cases.wanted,
                "units": self.cases.units,
                "clusters": self.cases.clusters,
                "repeats": self.cases.repeats,
                "left_out": [
                    {"why": one.why, "whose": list(one.whose), "cases": list(one.cases)}
                    for one in self.cases.left_out
                ],
                "without": dict(self.cases.without),
                "shared": [{"a": a, "b": b, "n": n} for a, b, n in self.cases.shared],
            },
            "intervals": {"level": LEVEL, "method": "percentile", **self.resampling},
            "metrics": [_metric_json(one) for one in self.metrics],
        }


def contender_json(contender: Contender) -> dict[str, JSON]:
    """Return who a contender is and what its numbers are no evidence of."""
    came = contender.provenance
    return {
        "label": contender.label,
        "run": {"name": contender.run, "digest": contender.run_digest},
        "kind": contender.kind,
        "name": contender.name,
        "incomplete": contender.incomplete,
        "to_complete": contender.to_complete,
        "synthetic": came.synthetic,
        "simulated": came.simulated,
        "imported": came.imported,
        "graded_by": came.graded_by,
        "settings": dict(sorted(came.settings.items())),
        "parameters": came.parameters,
        "notes": list(came.notes),
    }


def _metric_json(metric: MetricResult) -> dict[str, JSON]:
    return {
        "path": metric.path,
        "head": metric.head,
        "decimals": metric.decimals,
        "better": metric.better,
        "test": metric.test,
        "test_because": metric.why,
        "notes": list(metric.notes),
        "values": [_value_json(one) for one in metric.values],
        "differences": [_difference_json(one) for one in metric.differences],
    }


def _value_json(value: Value) -> dict[str, JSON]:
    return {
        "label": value.label,
        "value": value.value,
        "n": value.n,
        "reason": value.reason,
        "rank": value.rank,
        "share_at_rank_1": value.first,
        "ranks": None if value.ranks is None else list(value.ranks),
    }


def _difference_json(one: Difference) -> dict[str, JSON]:
    return {
        "a": one.a,
        "b": one.b,
        "difference": one.difference,
        "ci": None if one.low is None or one.high is None else [one.low, one.high],
        "p": one.p,
        "p_adjusted": one.adjusted,
        "verdict": one.verdict,
        "cases_that_differ": one.differ,
        "effect": None if one.effect is None else asdict(one.effect),
        "notes": list(one.notes),
        "shown": one.shown,
    }
