"""The metric paths of the triage benchmark.

- `fine.*` over the 22 labels, `coarse.*` over the 8 domains: `macro_f1`, `micro_f1`, `macro_recall`,
  `exact_match`. A domain is positive where any of its labels is (paper, appendix F.1).
- `domain.<Domain>.f1`: F1 of that one coarse label over all units (the paper's class-wise F1, appendix G.2).
- `case_f1`: mean over units of the F1 between the sets of fine labels.
- `over_referral.*`: fine labels added, over the answered units: `mean_count` a unit, `case_share` of units
  with any, `label_share` of the labels that were predicted.
- `under_referral.*`: fine labels missed, over all units: the same, but `label_share` is of the true labels.
- `by_domains.<1|2|3|4|5+>.*`: `case_f1`, `fine.exact_match`, `fine.micro_f1`, `over_referral.mean_count` and
  `under_referral.mean_count` by the number of domains that the case truly needs; cases that need none
  are in no such group.
- `domain_count.*`: the number of domains named beside the number needed; see `triage.domain_counts`.

n counts units. The paper prints no formulas, and none for labels that never occur: see `conventions`,
whose meaning `harness.scoring.multilabel` gives, and which hold for the groups as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.benchmarks.scored import MetricValue, UnitNumbers
from harness.benchmarks.triage import domain_counts
from harness.benchmarks.triage.taxonomy import DOMAIN_COLUMNS, DOMAINS, LABELS
from harness.scoring.label_codes import Codes, Flags, any_of
from harness.scoring.multilabel import (
    Tally,
    Values,
    exact_match,
    label_f1,
    macro_f1,
    macro_recall,
    micro_f1,
    ratio,
    tally,
)

DOMAIN_GROUPS: Final = (("1", 1, 1), ("2", 2, 2), ("3", 3, 3), ("4", 4, 4), ("5+", 5, len(DOMAINS)))
"""Groups of cases by the number of domains that they need: name, from, to."""

_NO_POSITIVES = "no label is positive in the reference"
_NO_UNITS = "no units to score"
_NO_ANSWERS = "no unit was answered"
_NONE_PREDICTED = "no label was predicted"


@dataclass(frozen=True, slots=True)
class Measure:
    """One metric, for each draw where there are several; NaN where undefined, for the reason `why`."""

    values: Values
    n: int
    why: str


def score(units: UnitNumbers, conventions: Mapping[str, str]) -> dict[str, MetricValue]:
    """Return every metric path of one row of units, all of them however few the units are."""
    answered, truth, given = units.T
    found = measures(truth.astype(np.uint32), given.astype(np.uint32), answered == 1, conventions)
    return {path: metric_value(measure) for path, measure in found.items()}


def measures(
    truth: Codes, predicted: Codes, answered: Flags, conventions: Mapping[str, str]
) -> dict[str, Measure]:
    """Return path -> measure; truth (units) and predictions (..., units) are codes over `LABELS`.

    Leading axes of `predicted` are draws.
    """
    zero, empty = conventions["zero_division"], float(conventions["case_f1_empty"])
    fine = tally(truth, predicted, answered, len(LABELS), case_f1_empty=empty)
    coarse_truth, named = any_of(truth, DOMAIN_COLUMNS), any_of(predicted, DOMAIN_COLUMNS)
    coarse = tally(coarse_truth, named, answered, len(DOMAINS))
    found = {
        **dict(_space("fine", fine, zero)),
        **dict(_space("coarse", coarse, zero)),
        **dict(_domains(coarse, zero)),
        "case_f1": Measure(fine.case_f1, fine.units, _NO_UNITS),
        **dict(_referrals(fine)),
    }
    needed = np.bitwise_count(coarse_truth)
    for name, low, high in DOMAIN_GROUPS:
        inside = (needed >= low) & (needed <= high)
        units = truth[inside], predicted[..., inside], answered[inside]
        group = tally(*units, len(LABELS), by_label=False, case_f1_empty=empty)
        found.update(_group(f"by_domains.{name}", group, zero))
    found.update(_domain_counts(needed, np.bitwise_count(named), answered))
    return found


def metric_value(measure: Measure) -> MetricValue:
    """Return a measure without draws as a number, or null with its reason."""
    value = float(measure.values)
    if math.isnan(value):
        return MetricValue(None, measure.n, measure.why)
    return MetricValue(value, measure.n)


def _space(name: str, counts: Tally, zero: str) -> Iterator[tuple[str, Measure]]:
    why = _NO_POSITIVES if counts.units else _NO_UNITS
    yield f"{name}.macro_f1", Measure(macro_f1(counts, zero), counts.units, why)
    yield f"{name}.micro_f1", Measure(micro_f1(counts, zero), counts.units, why)
    yield f"{name}.macro_recall", Measure(macro_recall(counts, zero), counts.units, why)
    yield f"{name}.exact_match", Measure(exact_match(counts), counts.units, why)


def _domains(coarse: Tally, zero: str) -> Iterator[tuple[str, Measure]]:
    values = label_f1(coarse, zero)
    for position, domain in enumerate(DOMAINS):
        why = "the domain is not positive in the reference" if coarse.units else _NO_UNITS
        yield f"domain.{domain}.f1", Measure(values[..., position], coarse.units, why)


def _referrals(counts: Tally) -> Iterator[tuple[str, Measure]]:
    extra, missed, shared = (one.sum(axis=-1) for one in (counts.fp, counts.fn, counts.tp))
    units, answered = np.asarray(counts.units), np.asarray(counts.answered)
    why_over = _NONE_PREDICTED if counts.answered else _NO_ANSWERS
    why_under = _NO_POSITIVES if counts.units else _NO_UNITS
    for name, values, n, why in (
        ("over_referral.mean_count", ratio(extra, answered), counts.answered, why_over),
        ("over_referral.case_share", ratio(counts.over_units, answered), counts.answered, why_over),
        ("over_referral.label_share", ratio(extra, extra + shared), counts.answered, why_over),
        ("under_referral.mean_count", ratio(missed, units), counts.units, why_under),
        ("under_referral.case_share", ratio(counts.under_units, units), counts.units, why_under),
        ("under_referral.label_share", ratio(missed, missed + shared), counts.units, why_under),
    ):
        yield name, Measure(values, n, why)


def _domain_counts(
    needed: NDArray[np.uint8], named: NDArray[np.uint8], answered: Flags
) -> Iterator[tuple[str, Measure]]:
    counts = domain_counts.counted(needed, named, answered)
    for path, values, n in domain_counts.measured(counts):
        why = "no such case was answered" if path.startswith("true.") else _NO_ANSWERS
        yield f"domain_count.{path}", Measure(values, n, why)


def _group(name: str, counts: Tally, zero: str) -> Iterator[tuple[str, Measure]]:
    empty = "no such case was scored"
    referrals = dict(_referrals(counts))
    yield f"{name}.case_f1", Measure(counts.case_f1, counts.units, empty)
    yield f"{name}.fine.exact_match", Measure(exact_match(counts), counts.units, empty)
    yield f"{name}.fine.micro_f1", Measure(micro_f1(counts, zero), counts.units, empty)
    for path in ("over_referral.mean_count", "under_referral.mean_count"):
        found = referrals[path]
        yield f"{name}.{path}", Measure(found.values, found.n, found.why if counts.units else empty)
