"""Confidence intervals of the metrics of RadM-Bench: those of the paper's statistics section.

- Means (`score`): BCa of 2,000 resamples of cases, or groups of cases, with all their repeats
  (`harness.scoring.intervals`). Each group of cases (a subset, a subspecialty, rare diseases) is resampled by
  itself, as the paper's are: its size is fixed.
- Shares (`top1`, `tier.*.share`, `graded.share`): Clopper-Pearson where every unit is a cluster of its own;
  else the exact interval does not hold, and BCa stands in for it, with a note.
- `rare_premium`: BCa over all cases of the subset together, rare and common drawn in one, so that a group of
  cases that has both stays whole; the numbers of each vary from resample to resample. The paper gives none.

A number without a value for want of grades has no interval, in no repeat.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from harness.benchmarks.radm.cases import SUBSETS
from harness.benchmarks.radm.ranking import FIFTHS
from harness.benchmarks.radm.scores import GRADED_ONLY, Answers, groups
from harness.benchmarks.scored import UnitTable
from harness.scoring.bootstrap import sum_intervals
from harness.scoring.intervals import BCA, Interval
from harness.scoring.proportions import clopper_pearson
from harness.scoring.replicates import Statistic, Units
from harness.scoring.resampling import Resampling, Values

NOT_INDEPENDENT: Final = "by BCa, not Clopper-Pearson: units share cases or groups of cases"


def intervals(units: UnitTable, resampling: Resampling) -> dict[str, Interval]:
    """Return metric path -> interval of all units of a row, for every path of `radm.scores`."""
    found: dict[str, Interval] = {}
    for prefix, inside, is_large in groups(units.numbers):
        if inside.any():
            part = units.where(inside)
            found |= {prefix + path: one for path, one in _group(part, resampling, is_large=is_large)}
    for code, subset in enumerate(SUBSETS):
        part = units.where(Answers(units.numbers).of("subset") == code)
        if len(part):
            found[f"{subset}.rare_premium"] = _premium(part, resampling)
    return found


def _group(units: UnitTable, resampling: Resampling, *, is_large: bool) -> Iterator[tuple[str, Interval]]:
    answers = Answers(units.numbers)
    shares = answers.counted() | (answers.tiers() if is_large else {})
    if absent := _without_grades(answers):
        yield from ((path, absent) for path in ("score", *shares))
    else:
        yield "score", mean_interval(units, answers.of("fifths") / FIFTHS, resampling)
        yield from share_intervals(units, shares, resampling).items()
    if is_large:
        usable = units.where(answers.of("answered") == 1)
        graded = Answers(usable.numbers).of("graded") == 1
        if len(usable):
            yield from share_intervals(usable, {"graded.share": graded}, resampling).items()
        if answers.not_a_sample() is None:
            yield from _graded_only(usable.where(graded), resampling)


def _graded_only(units: UnitTable, resampling: Resampling) -> Iterator[tuple[str, Interval]]:
    """Yield those of graded answers alone, as those of all answers are made."""
    answers = Answers(units.numbers)
    yield f"{GRADED_ONLY}score", mean_interval(units, answers.of("fifths") / FIFTHS, resampling)
    found = share_intervals(units, answers.counted(), resampling)
    yield from ((GRADED_ONLY + path, interval) for path, interval in found.items())


def sums(units: UnitTable) -> tuple[Units, Statistic]:
    """Return what each unit adds to the sums of a row and of its subsets, and the paths made of them.

    These are the score and all shares of answers. Where an answer has no grade, NaN as in `radm.scores`; of
    the graded answers alone, means over these.
    """
    answers = Answers(units.numbers)
    score = answers.of("fifths") / FIFTHS
    columns = {"score": score, **answers.counted(), **answers.tiers()}
    summands, means = _with_graded_only(*_means(columns), answers, {"score": score, **answers.counted()})
    width, subset = summands.shape[1], answers.of("subset")
    inside = {"": subset >= 0, **{f"{name}.": subset == code for code, name in enumerate(SUBSETS)}}
    unknown = {prefix for prefix, which in inside.items() if (which & answers.ungraded).any()}

    def statistic(drawn: Values) -> Mapping[str, Values]:
        found = {}
        for place, prefix in enumerate(inside):
            for path, values in means(drawn[..., place * width : (place + 1) * width]).items():
                is_unknown = prefix in unknown and not path.startswith(GRADED_ONLY)
                found[prefix + path] = np.full_like(values, np.nan) if is_unknown else values
        return found

    parts = [summands * which[:, None] for which in inside.values()]
    return Units(np.concatenate(parts, axis=1), units.clusters, units.repeats), statistic


def _with_graded_only(
    summands: Values, means: Statistic, answers: Answers, columns: Mapping[str, NDArray[Any]]
) -> tuple[Values, Statistic]:
    """Return summands and means with those of the graded answers alone, a group of columns of its own."""
    graded = answers.of("graded")
    own, of_graded = _means({GRADED_ONLY + path: graded * values for path, values in columns.items()})
    own[:, -1] = graded
    width = summands.shape[1]
    return (
        np.concatenate([summands, own], axis=1),
        lambda sums: {**means(sums[..., :width]), **of_graded(sums[..., width:])},
    )


def _means(columns: Mapping[str, NDArray[Any]]) -> tuple[Values, Statistic]:
    """Return the summands of columns of (units) values by path, and their means over units."""
    paths = tuple(columns)
    summands = np.column_stack([*columns.values(), np.ones(len(columns[paths[0]]))]).astype(np.float64)
    return summands, lambda sums: {
        path: sums[..., place] / sums[..., -1] for place, path in enumerate(paths)
    }


def mean_interval(units: UnitTable, values: Values, resampling: Resampling) -> Interval:
    """Return that of the mean of (units) values over all repeats."""
    summands, means = _means({"mean": values})
    return sum_intervals(summands, units.clusters, units.repeats, means, resampling)["mean"]


def share_intervals(
    units: UnitTable, counted: Mapping[str, NDArray[np.bool_]], resampling: Resampling
) -> dict[str, Interval]:
    """Return path -> that of the share of units that are counted, of at least one unit."""
    if len(np.unique(units.clusters)) == len(units):
        return {path: clopper_pearson(int(which.sum()), len(units)) for path, which in counted.items()}
    summands, means = _means(counted)
    found = sum_intervals(summands, units.clusters, units.repeats, means, resampling)
    return {path: _noted(interval) for path, interval in found.items()}


def _noted(interval: Interval) -> Interval:
    if interval.low is None:
        return interval
    note = NOT_INDEPENDENT if interval.note is None else f"{NOT_INDEPENDENT}; {interval.note}"
    return replace(interval, note=note)


def _premium(units: UnitTable, resampling: Resampling) -> Interval:
    answers = Answers(units.numbers)
    if absent := _without_grades(answers):
        return absent
    rare, worth = answers.of("rare"), answers.of("fifths") / FIFTHS
    columns = np.stack([rare * worth, rare, (1 - rare) * worth, 1 - rare], axis=1)
    return sum_intervals(
        columns,
        units.clusters,
        units.repeats,
        lambda sums: {"premium": sums[..., 0] / sums[..., 1] - sums[..., 2] / sums[..., 3]},
        resampling,
    )["premium"]


def _without_grades(answers: Answers) -> Interval | None:
    reason = answers.without_grades()
    return None if reason is None else Interval(None, None, BCA, reason)
