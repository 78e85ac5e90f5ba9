"""Measures of multi-label prediction over a fixed list of labels.

Truth is (units, labels); predictions are (..., units, labels), where leading axes hold independent
draws; `answered` is (units). An unanswered unit counts by its worst value: all its true labels are
missed, it is never an exact match, and its case F1 is 0; it adds no label that nobody needed, so
over-referral leaves it out. A measure that is not defined is NaN here; callers turn that into null.

With tp, fp and fn summed over units for a label:
F1 = 2 tp / (2 tp + fp + fn), recall = tp / (tp + fn). Where the denominator is 0, `zero_division` says:
"0": 0; "1": the share of units that were answered, which is 1 unless units failed, so that a failure
never passes for rightly naming nothing; "skip-empty": left out of the mean, as is every label without a
positive in the truth, even if it was predicted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Flags: TypeAlias = NDArray[np.bool_]
Counts: TypeAlias = NDArray[np.int64]
Values: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts over the units of one label space; shapes are (..., labels) and (...)."""

    tp: Counts
    fp: Counts
    fn: Counts
    exact: Counts
    """Units whose whole set is right."""
    case_f1: Values
    """Mean over units; NaN without units."""
    over_units: Counts
    """Answered units with at least one label too many."""
    under_units: Counts
    """Units with at least one label missed."""
    units: int
    answered: int


def tally(truth: Flags, predicted: Flags, answered: Flags, *, case_f1_empty: float = 1.0) -> Tally:
    """Count agreement over units.

    Case F1 is 2 |truth and predicted| / (|truth| + |predicted|) of one unit; `case_f1_empty` where both
    are empty and the unit was answered.
    """
    given = predicted & answered[:, None]
    hits, extra, missed = given & truth, given & ~truth, truth & ~given
    exact = answered & ~extra.any(axis=-1) & ~missed.any(axis=-1)
    return Tally(
        tp=hits.sum(axis=-2, dtype=np.int64),
        fp=extra.sum(axis=-2, dtype=np.int64),
        fn=missed.sum(axis=-2, dtype=np.int64),
        exact=exact.sum(axis=-1, dtype=np.int64),
        case_f1=exact_mean(_case_f1(truth, given, answered, case_f1_empty)),
        over_units=extra.any(axis=-1).sum(axis=-1, dtype=np.int64),
        under_units=missed.any(axis=-1).sum(axis=-1, dtype=np.int64),
        units=len(answered),
        answered=int(answered.sum()),
    )


def any_of(flags: Flags, groups: Sequence[Sequence[int]]) -> Flags:
    """Return coarser labels: each is true where any label at its positions is."""
    return np.stack([flags[..., list(group)].any(axis=-1) for group in groups], axis=-1)


def label_f1(counts: Tally, zero_division: str) -> Values:
    """Return the F1 of each label, shape (..., labels)."""
    return _by_label(2 * counts.tp, 2 * counts.tp + counts.fp + counts.fn, counts, zero_division)


def macro_f1(counts: Tally, zero_division: str) -> Values:
    """Return the mean over labels of their F1."""
    return exact_mean(label_f1(counts, zero_division))


def macro_recall(counts: Tally, zero_division: str) -> Values:
    """Return the mean over labels of their recall."""
    return exact_mean(_by_label(counts.tp, counts.tp + counts.fn, counts, zero_division))


def micro_f1(counts: Tally, zero_division: str) -> Values:
    """Return the F1 of all labels' counts taken together; NaN under "skip-empty" where all are 0."""
    tp, wrong = counts.tp.sum(axis=-1), (counts.fp + counts.fn).sum(axis=-1)
    undefined = math.nan if zero_division == "skip-empty" else _undefined(counts, zero_division)
    return ratio(2 * tp, 2 * tp + wrong, undefined)


def exact_match(counts: Tally) -> Values:
    """Return the share of units whose whole set of labels is right."""
    return ratio(counts.exact, np.asarray(counts.units))


def ratio(numerator: Counts, denominator: Counts, undefined: float = math.nan) -> Values:
    """Return a quotient, and `undefined` where the denominator is 0."""
    empty = denominator == 0
    return np.where(empty, undefined, numerator / np.where(empty, 1, denominator))


def exact_mean(values: Values) -> Values:
    """Return the mean over the last axis of what is not NaN; NaN where nothing is.

    Sums are correctly rounded, so the order of units and the machine do not show in the last digit.
    """
    rows = values.reshape(math.prod(values.shape[:-1]), values.shape[-1]).tolist()
    means = [_mean([value for value in row if value == value]) for row in rows]
    return np.asarray(means, dtype=np.float64).reshape(values.shape[:-1])


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


def _case_f1(truth: Flags, given: Flags, answered: Flags, empty: float) -> Values:
    shared = (given & truth).sum(axis=-1, dtype=np.int64)
    size = truth.sum(axis=-1, dtype=np.int64) + given.sum(axis=-1, dtype=np.int64)
    return np.where(answered, ratio(2 * shared, size, empty), 0.0)


def _by_label(numerator: Counts, denominator: Counts, counts: Tally, zero_division: str) -> Values:
    values = ratio(numerator, denominator, _undefined(counts, zero_division))
    if zero_division == "skip-empty" or counts.units == 0:
        return np.where(counts.tp + counts.fn == 0, math.nan, values)
    return values


def _undefined(counts: Tally, zero_division: str) -> float:
    if counts.units == 0:
        return math.nan
    return counts.answered / counts.units if zero_division == "1" else 0.0
