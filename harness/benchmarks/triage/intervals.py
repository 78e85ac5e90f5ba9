"""Confidence intervals of the triage metrics: each is a function of sums over units.

Means, F1 and shares of labels are resampled by case, or by group of cases (see `harness.scoring.intervals`);
means over labels are studentized (see `harness.scoring.studentized`); shares of units are exact where every
unit is a case of its own (see `harness.scoring.proportions`).
The sums give the values of `triage.scores` again, to rounding: a test holds them to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.benchmarks.scored import UnitNumbers, UnitTable
from harness.benchmarks.triage import domain_counts
from harness.benchmarks.triage.scores import DOMAIN_GROUPS
from harness.benchmarks.triage.taxonomy import DOMAIN_COLUMNS, DOMAINS, LABELS
from harness.scoring.bootstrap import intervals_of
from harness.scoring.intervals import Interval
from harness.scoring.label_codes import Codes, any_of
from harness.scoring.multilabel import ratio
from harness.scoring.proportions import clopper_pearson
from harness.scoring.replicates import Statistic, Units, replicate
from harness.scoring.resampling import Resampling, Values
from harness.scoring.studentized import f1_variance, share_variance, studentized_interval

_UNIT_SUMS: Final = (
    "units", "answered", "fine_exact", "coarse_exact", "case_f1", "over_cases", "under_cases",
    "tp", "fp", "fn",
)  # fmt: skip
"""Sums over units that are no counts of single labels, in the order of their columns."""
RARE: Final = 5
"""Below so many positive units a label is lost in many resamples.

With 22 labels down to 1 case in 100, the interval of their macro-F1 held the truth in .86 to .92 of
simulations with 100 cases, in .94 to .95 with 246 and in .93 to .95 with 360 (BCa's: in .42 to .73, .86 to
.92 and .91 to .94); that of their macro-recall in .87 to .90, .92 to .94 and .93.
"""
_MACRO: Final = ("fine.macro_f1", "fine.macro_recall", "coarse.macro_f1", "coarse.macro_recall")
"""Means over labels of which some may be rare: their intervals are studentized."""
_ERROR: Final = " standard error"
_PLACES: Final = (3 * len(LABELS), 3 * (len(LABELS) + len(DOMAINS)))
"""Where the sums of coarse labels and of units begin."""
_OVER_ALL: Final = _PLACES[-1] + len(_UNIT_SUMS)
"""So many sums are over all units; those of groups follow."""


def intervals(
    units: UnitTable, conventions: Mapping[str, str], resampling: Resampling
) -> dict[str, Interval]:
    """Return metric path -> interval of all units of a row, for every path of `triage.scores` but the rows
    of the confusion matrix of domain counts."""
    summed, statistic = all_sums(units, conventions)
    zero = conventions["zero_division"]
    replicates = replicate(
        summed, lambda drawn: {**statistic(drawn), **dict(_errors(drawn, zero))}, resampling
    )
    found = {path: one for path, one in intervals_of(replicates).items() if not path.endswith(_ERROR)}
    for path in _MACRO:
        found[path] = studentized_interval(replicates, path, path + _ERROR) or found[path]
    totals = summed.total()
    if len(np.unique(units.clusters)) == len(units):
        found.update(_shares(totals))
    return {**found, **dict(_warned(found, totals))}


def _warned(found: Mapping[str, Interval], totals: Values) -> Iterator[tuple[str, Interval]]:
    """Yield the intervals of means over labels, with a warning where some have very few positive units."""
    fine, coarse, _ = np.split(totals, _PLACES)
    for space, counts in (("fine", fine), ("coarse", coarse)):
        tp, _, fn = np.split(counts, 3)
        rare = np.count_nonzero((tp + fn > 0) & (tp + fn < RARE))
        if not rare:
            continue
        warning = f"{rare} of {len(tp)} labels have fewer than {RARE} positive units: it may be too narrow"
        for path in (f"{space}.macro_f1", f"{space}.macro_recall"):
            interval = found[path]
            if interval.low is not None:
                note = warning if interval.note is None else f"{interval.note}; {warning}"
                yield path, replace(interval, note=note)


def sums(units: UnitTable, conventions: Mapping[str, str]) -> tuple[Units, Statistic]:
    """Return what each unit adds to the sums of all units, and every path that is made of these.

    Not those by the number of domains: a third of the time, where many models are compared.
    """
    zero = conventions["zero_division"]
    return _summed(units, conventions, _over_all), lambda drawn: dict(_values(drawn, zero))


def all_sums(units: UnitTable, conventions: Mapping[str, str]) -> tuple[Units, Statistic]:
    """Return the same for every path that has an interval."""
    zero = conventions["zero_division"]

    def statistic(drawn: Values) -> Mapping[str, Values]:
        return {**dict(_values(drawn[..., :_OVER_ALL], zero)), **dict(_grouped(drawn[..., _OVER_ALL:], zero))}

    def columns(kinds: _Kinds) -> Values:
        return np.concatenate([_over_all(kinds), _by_group(kinds)], axis=1)

    return _summed(units, conventions, columns), statistic


@dataclass(frozen=True, slots=True)
class _Kinds:
    """Units that differ: sets as codes, (units) each, and `_UNIT_SUMS` (units, sums)."""

    truth: Codes
    given: Codes
    coarse_truth: Codes
    coarse_given: Codes
    said: NDArray[np.bool_]
    unit_sums: Values


def _summed(
    units: UnitTable, conventions: Mapping[str, str], columns: Callable[[_Kinds], Values]
) -> Units:
    """Return what each unit adds. Many units are alike, and the sums of one have many columns."""
    answered, truth, given = units.numbers.T
    codes = (answered * 2 ** len(LABELS) + truth) * 2 ** len(LABELS) + given  # whole numbers below 2**53
    _, first, kind = np.unique(codes, return_index=True, return_inverse=True)
    kinds = _kinds(units.numbers[first], float(conventions["case_f1_empty"]))
    return Units(columns(kinds), units.clusters, units.repeats, kind)


def _kinds(numbers: UnitNumbers, case_f1_empty: float) -> _Kinds:
    answered, truth, given = numbers.T
    said = answered == 1
    truth_codes, given_codes = truth.astype(np.uint32), given.astype(np.uint32)
    coarse_truth, coarse_given = (any_of(codes, DOMAIN_COLUMNS) for codes in (truth_codes, given_codes))
    unit_sums = _unit_sums(truth_codes, given_codes, said, case_f1_empty)
    unit_sums[:, _UNIT_SUMS.index("coarse_exact")] = said & (coarse_truth == coarse_given)
    return _Kinds(truth_codes, given_codes, coarse_truth, coarse_given, said, unit_sums)


def _over_all(kinds: _Kinds) -> Values:
    """Return fine and coarse tp, fp and fn by label and `_UNIT_SUMS`, shape (units, sums)."""
    fine = _label_sums(kinds.truth, kinds.given, len(LABELS))
    coarse = _label_sums(kinds.coarse_truth, kinds.coarse_given, len(DOMAINS))
    return np.concatenate([*fine, *coarse, kinds.unit_sums], axis=1)


def _by_group(kinds: _Kinds) -> Values:
    """Return `_UNIT_SUMS` in each group by the number of domains needed, and the sums of `domain_counts`."""
    needed = np.bitwise_count(kinds.coarse_truth)
    groups = [
        kinds.unit_sums * ((needed >= low) & (needed <= high))[:, None] for _, low, high in DOMAIN_GROUPS
    ]
    counts = domain_counts.unit_sums(needed, np.bitwise_count(kinds.coarse_given), kinds.said)
    return np.concatenate([*groups, counts], axis=1)


def _label_sums(truth: Codes, given: Codes, labels: int) -> Iterator[Values]:
    """Yield tp, fp and fn, each (units, labels)."""
    for codes in (truth & given, given & ~truth, truth & ~given):
        yield (codes[:, None] >> np.arange(labels, dtype=np.uint32) & 1).astype(np.float64)


def _unit_sums(truth: Codes, given: Codes, said: Values, case_f1_empty: float) -> Values:
    sets = truth & given, given & ~truth, truth & ~given
    shared, added, missed = (np.bitwise_count(codes).astype(np.float64) for codes in sets)
    size = 2 * shared + added + missed
    case_f1 = np.where(size > 0, 2 * shared / np.where(size > 0, size, 1), case_f1_empty) * said
    exact = said & (truth == given)
    columns = (
        np.ones(len(truth)), said, exact, exact, case_f1, added > 0, missed > 0, shared, added, missed
    )
    return np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=1)


def _values(sums: Values, zero: str) -> Iterator[tuple[str, Values]]:
    """Yield path and values (...) of sums over all units (..., sums); NaN where undefined."""
    fine, coarse, unit_sums = np.split(sums, _PLACES, axis=-1)
    units = _named(unit_sums)
    undefined = _undefined(units, zero)
    for space, labels, exact in (("fine", fine, "fine_exact"), ("coarse", coarse, "coarse_exact")):
        tp, fp, fn = np.split(labels, 3, axis=-1)
        yield f"{space}.macro_f1", _macro(2 * tp, 2 * tp + fp + fn, tp + fn, undefined, zero)
        yield f"{space}.macro_recall", _macro(tp, tp + fn, tp + fn, undefined, zero)
        totals = tp.sum(axis=-1), fp.sum(axis=-1), fn.sum(axis=-1)
        yield f"{space}.micro_f1", _micro_f1(*totals, undefined, zero)
        yield f"{space}.exact_match", ratio(units[exact], units["units"])
        if space == "coarse":
            values = _by_label(2 * tp, 2 * tp + fp + fn, tp + fn, undefined, zero)
            yield from ((f"domain.{name}.f1", values[..., place]) for place, name in enumerate(DOMAINS))
    yield "case_f1", ratio(units["case_f1"], units["units"])
    yield from _referrals(units)


def _grouped(sums: Values, zero: str) -> Iterator[tuple[str, Values]]:
    """Yield the same of sums in groups (..., sums)."""
    groups, counts = _split_groups(sums)
    for name, group in groups.items():
        yield from ((f"by_domains.{name}.{path}", values) for path, values in _group(_named(group), zero))
    yield from ((f"domain_count.{path}", value) for path, value in domain_counts.values(counts).items())


def _split_groups(sums: Values) -> tuple[Mapping[str, Values], Values]:
    """Return the sums of `_by_group` apart: `_UNIT_SUMS` by the name of the group, those of domain counts."""
    width = len(_UNIT_SUMS)
    groups = {
        name: sums[..., place * width : (place + 1) * width]
        for place, (name, _, _) in enumerate(DOMAIN_GROUPS)
    }
    return groups, sums[..., len(DOMAIN_GROUPS) * width :]


def _group(units: Mapping[str, Values], zero: str) -> Iterator[tuple[str, Values]]:
    yield "case_f1", ratio(units["case_f1"], units["units"])
    yield "fine.exact_match", ratio(units["fine_exact"], units["units"])
    yield "fine.micro_f1", _micro_f1(units["tp"], units["fp"], units["fn"], _undefined(units, zero), zero)
    referrals = dict(_referrals(units))
    for path in ("over_referral.mean_count", "under_referral.mean_count"):
        yield path, referrals[path]


def _referrals(units: Mapping[str, Values]) -> Iterator[tuple[str, Values]]:
    yield "over_referral.mean_count", ratio(units["fp"], units["answered"])
    yield "over_referral.case_share", ratio(units["over_cases"], units["answered"])
    yield "over_referral.label_share", ratio(units["fp"], units["fp"] + units["tp"])
    yield "under_referral.mean_count", ratio(units["fn"], units["units"])
    yield "under_referral.case_share", ratio(units["under_cases"], units["units"])
    yield "under_referral.label_share", ratio(units["fn"], units["fn"] + units["tp"])


def _shares(totals: Values) -> Iterator[tuple[str, Interval]]:
    """Yield the exact intervals of shares of units."""
    units = _named(totals[_PLACES[-1] : _OVER_ALL])
    for path, part, whole in (
        ("fine.exact_match", "fine_exact", "units"),
        ("coarse.exact_match", "coarse_exact", "units"),
        ("over_referral.case_share", "over_cases", "answered"),
        ("under_referral.case_share", "under_cases", "units"),
    ):
        yield path, clopper_pearson(int(units[part]), int(units[whole]))
    groups, counts = _split_groups(totals[_OVER_ALL:])
    for name, group in groups.items():
        of = _named(group)
        yield f"by_domains.{name}.fine.exact_match", clopper_pearson(int(of["fine_exact"]), int(of["units"]))
    yield from ((f"domain_count.{path}", found) for path, found in domain_counts.share_intervals(counts))


def _named(unit_sums: Values) -> Mapping[str, Values]:
    return {name: unit_sums[..., place] for place, name in enumerate(_UNIT_SUMS)}


def _undefined(units: Mapping[str, Values], zero: str) -> Values:
    """Return the value of 0/0 by the convention (see `harness.scoring.multilabel`)."""
    return ratio(units["answered"] if zero == "1" else 0 * units["units"], units["units"])


def _macro(above: Values, below: Values, positives: Values, undefined: Values, zero: str) -> Values:
    values = _by_label(above, below, positives, undefined, zero)
    known = np.isfinite(values)
    return ratio(np.where(known, values, 0).sum(axis=-1), known.sum(axis=-1))


def _errors(sums: Values, zero: str) -> Iterator[tuple[str, Values]]:
    """Yield the paths of `_MACRO` with `_ERROR`, and standard errors as if labels were independent."""
    labels = np.split(sums[..., : _PLACES[-1]], _PLACES[:1], axis=-1)
    for space, counts in zip(("fine", "coarse"), labels, strict=True):
        tp, fp, fn = np.split(counts, 3, axis=-1)
        known = tp + fn > 0 if zero == "skip-empty" else np.ones(tp.shape, dtype=np.bool_)
        of = {"macro_f1": f1_variance(tp, fp + fn), "macro_recall": share_variance(tp, fn)}
        for measure, variances in of.items():
            total = np.where(known, variances, 0).sum(axis=-1)
            yield f"{space}.{measure}{_ERROR}", ratio(np.sqrt(total), known.sum(axis=-1))


def _by_label(above: Values, below: Values, positives: Values, undefined: Values, zero: str) -> Values:
    values = np.where(below == 0, undefined[..., None], above / np.where(below == 0, 1, below))
    return np.where(positives == 0, np.nan, values) if zero == "skip-empty" else values


def _micro_f1(tp: Values, fp: Values, fn: Values, undefined: Values, zero: str) -> Values:
    below = 2 * tp + fp + fn
    nothing = np.nan if zero == "skip-empty" else undefined
    return np.where(below == 0, nothing, 2 * tp / np.where(below == 0, 1, below))
