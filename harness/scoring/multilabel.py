"""Measures of multi-label prediction over a fixed list of labels.

Sets of labels are codes (see `label_codes`). Truth is (units); predictions are (..., units), where
leading axes hold independent draws; `answered` is (units). An unanswered unit counts by its worst value:
all its true labels are missed, it is never an exact match, and its case F1 is 0; it adds no label that
nobody needed, so over-referral leaves it out. A measure that is not defined is NaN here; callers make
that null.

With tp, fp and fn summed over units for a label:
F1 = 2 tp / (2 tp + fp + fn), recall = tp / (tp + fn). Where the denominator is 0, `zero_division` says:
"0": 0; "1": the share of units that were answered, which is 1 unless units failed, so that a failure
never passes for rightly naming nothing; "skip-empty": left out of the mean, as is every label without a
positive in the truth, even if it was predicted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import mul
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from harness.scoring.label_codes import Codes, Counts, Flags, histograms, label_counts

Values: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts over the units of one label space; shapes are (..., labels) and (...).

    In a tally that was made without labels, the last axis holds one number: the sum over all labels.
    """

    tp: Counts
    fp: Counts
    fn: Counts
    exact: Counts
    """Units whose whole set is right."""
    case_f1: Values
    """Mean over units; NaN without units, and where it was not asked for."""
    over_units: Counts
    """Answered units with at least one label too many."""
    under_units: Counts
    """Units with at least one label missed."""
    units: int
    answered: int


def tally(
    truth: Codes,
    predicted: Codes,
    answered: Flags,
    labels: int,
    *,
    by_label: bool = True,
    case_f1_empty: float | None = None,
) -> Tally:
    """Count agreement over units in a space of so many labels.

    Case F1 is 2 |truth and predicted| / (|truth| + |predicted|) of one unit; `case_f1_empty` where both
    are empty and the unit was answered. None: it is not wanted.
    """
    given = np.where(answered, predicted, np.uint32(0))
    hits = given & truth
    count = partial(label_counts, labels=labels) if by_label else _all_labels
    tp = count(hits)
    nan = np.full(given.shape[:-1], math.nan)
    return Tally(
        tp=tp,
        fp=count(given) - tp,
        fn=count(truth) - tp,
        exact=_count(answered & (given == truth)),
        case_f1=nan
        if case_f1_empty is None
        else _mean_case_f1(truth, given, answered, labels, case_f1_empty),
        over_units=_count(given != hits),
        under_units=_count(truth != hits),
        units=len(answered),
        answered=int(answered.sum()),
    )


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


def ratio(numerator: Counts | Values, denominator: Counts | Values, undefined: float = math.nan) -> Values:
    """Return a quotient, and `undefined` where the denominator is 0; shapes are broadcast."""
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


def _mean_case_f1(truth: Codes, given: Codes, answered: Flags, labels: int, empty: float) -> Values:
    """Return the mean over units, the sum correctly rounded as in `exact_mean`: an unanswered unit adds 0.

    There are far fewer values than units, so each is counted, and added as often as it occurs.
    """
    units, shape = len(answered), given.shape[:-1]
    if units == 0:
        return np.full(shape, math.nan)
    sizes = 2 * labels + 1
    unanswered = (labels + 1) * sizes
    shared = np.bitwise_count(given & truth).astype(np.int64)
    size = np.bitwise_count(given).astype(np.int64) + np.bitwise_count(truth)
    kinds = np.where(answered, shared * sizes + size, unanswered).reshape(-1, units)
    counts = histograms(kinds, unanswered + 1)[:, :unanswered]
    occurring = np.flatnonzero(counts.any(axis=0))
    values = ratio(2 * (occurring // sizes), occurring % sizes, empty).tolist()
    sums = exact_sums(values, counts[:, occurring].tolist())
    return np.asarray(sums, dtype=np.float64).reshape(shape) / units


def exact_sums(values: Sequence[float], counts: Iterable[Sequence[int]]) -> list[float]:
    """Return for each row of counts the sum of the values, each as often as its count says.

    Each sum is rounded once, like `math.fsum`'s.
    """
    ratios = [value.as_integer_ratio() for value in values]
    scale = max((below for _, below in ratios), default=1)
    scaled = [above * (scale // below) for above, below in ratios]
    return [sum(map(mul, scaled, row)) / scale for row in counts]


def _all_labels(codes: Codes) -> Counts:
    return np.asarray(np.bitwise_count(codes).sum(axis=-1, dtype=np.int64))[..., None]


def _count(flags: Flags) -> Counts:
    return np.asarray(flags.sum(axis=-1, dtype=np.int64))


def _by_label(numerator: Counts, denominator: Counts, counts: Tally, zero_division: str) -> Values:
    values = ratio(numerator, denominator, _undefined(counts, zero_division))
    if zero_division == "skip-empty" or counts.units == 0:
        return np.where(counts.tp + counts.fn == 0, math.nan, values)
    return values


def _undefined(counts: Tally, zero_division: str) -> float:
    if counts.units == 0:
        return math.nan
    return counts.answered / counts.units if zero_division == "1" else 0.0
