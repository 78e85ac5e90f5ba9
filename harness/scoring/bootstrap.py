"""Intervals of what a benchmark measures, and the difference between two models, by one shared resampling.

The p of a difference d is two-tailed and inverts the percentile interval. With d* the resampled differences,
it is 2 min(#{d* <= 0} + 1, #{d* >= 0} + 1) / (resamples + 1), where the 1 counts what was observed as a draw
(Davison and Hinkley 1997, 4.11); at most 1, and at least 2 / 2**clusters, the least that so many signs
can show. p <= .05 goes with a percentile interval of 95 % that leaves out 0.

Both intervals of a difference are returned, and p decides. At 100 to 360 cases a null difference of means,
shares or macro-F1 has p <= .05 in at most 6.5 % of data sets, while its BCa interval leaves out 0 in up to
20 % of them where a measure is coarse or its labels are rare (tests/scoring/test_statistics_coverage.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.scoring.intervals import CONSTANT, LEVEL, Interval, bca_intervals, percentile_intervals
from harness.scoring.replicates import Replicates, Statistic, Units, replicate, tolerance
from harness.scoring.resampling import Resampling, Values


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """A value of the first model less that of the second on the same clusters.

    `interval` is BCa, `percentile` the one that agrees with the two-tailed `p` (see the module). None with a
    `reason` where there is none: one of them is undefined, or they differ in no resample.
    """

    difference: float | None
    interval: Interval
    percentile: Interval
    p: float | None
    reason: str | None = None


def sum_intervals(
    summands: ArrayLike,
    clusters: Sequence[object] | NDArray[Any],
    repeats: Sequence[object] | NDArray[Any] | None,
    statistic: Statistic,
    resampling: Resampling,
    level: float = LEVEL,
    kind: NDArray[np.int64] | None = None,
) -> Mapping[str, Interval]:
    """Return path -> BCa interval of everything that `statistic` makes of sums.

    `summands` (units, k; or kinds, with the `kind` of each unit: see `replicates.Units`) are added up;
    `clusters` (units) are resampled with all their `repeats` (units; None is one repeat). Conventions are
    those of `replicates` and `intervals`. Raises ValueError for lengths that differ and for summands that are
    not finite.

    `statistic` gets sums of the shape (..., k), a row of k sums for each resample and repeat, and returns
    path -> values of the shape (...). Here k is 2: teeth found, and teeth that are there.

    >>> recall = lambda sums: {"recall": sums[..., 0] / sums[..., 1]}
    >>> sorted(sum_intervals([[1, 2], [2, 2], [0, 1]], ["c1", "c2", "c3"], None, recall, Resampling()))
    ['recall']
    """
    return intervals_of(replicate(Units.of(summands, clusters, repeats, kind), statistic, resampling), level)


def intervals_of(replicates: Replicates, level: float = LEVEL) -> Mapping[str, Interval]:
    """Return path -> BCa interval of values that were resampled before."""
    found = bca_intervals(
        replicates.point, replicates.resampled, replicates.jackknife, level, replicates.weights
    )
    return dict(zip(replicates.paths, found, strict=True))


def mean_interval(
    values: Sequence[float] | Values,
    clusters: Sequence[object] | NDArray[Any] | None = None,
    resampling: Resampling | None = None,
    level: float = LEVEL,
) -> Interval:
    """Return the BCa interval of the mean of (units) values, each a cluster of its own unless said otherwise.

    The mean is over units, so that a cluster weighs by how many it holds. Raises ValueError for a value that
    is not finite.
    """
    column = np.asarray(values, dtype=np.float64).reshape(-1)
    summands = np.stack([column, np.ones_like(column)], axis=-1)
    whose = np.arange(len(column)) if clusters is None else clusters
    return sum_intervals(summands, whose, None, _mean, resampling or Resampling(), level)["mean"]


def paired_bootstrap(
    first: Units, second: Units, statistic: Statistic, resampling: Resampling, level: float = LEVEL
) -> Mapping[str, PairedDifference]:
    """Return path -> difference between two models, each cluster drawn for both at once.

    Raises ValueError where they are not about the same clusters: take the common ones of both before, and
    never fill in a value. `statistic` gets sums (..., k) and returns path -> values (...), as for
    `sum_intervals`; here the sums are those of a score and of 1, so that their ratio is a mean.

    >>> mean = lambda sums: {"mean": sums[..., 0] / sums[..., 1]}
    >>> one, two = Units.of([[0.5, 1], [1, 1]], ["c1", "c2"]), Units.of([[0, 1], [1, 1]], ["c1", "c2"])
    >>> paired_bootstrap(one, two, mean, Resampling())["mean"].difference
    0.25
    """
    return paired_differences(
        replicate(first, statistic, resampling), replicate(second, statistic, resampling), level
    )


def paired_differences(
    first: Replicates, second: Replicates, level: float = LEVEL
) -> Mapping[str, PairedDifference]:
    """Return the same of values that were resampled before, so that many pairs cost one resampling a model.

    Raises ValueError for other clusters, other draws or other paths.
    """
    _check_paired(first, second)
    point = first.point - second.point
    resampled, jackknife = first.resampled - second.resampled, first.without_each - second.without_each
    bca = bca_intervals(point, resampled, jackknife, level)
    percentile = percentile_intervals(point, resampled, len(jackknife), level)
    same = tolerance(point[np.newaxis], resampled).tolist()
    return {
        path: _difference(
            float(point[place]),
            (bca[place], percentile[place]),
            resampled[:, place],
            same[place],
            len(jackknife),
        )
        for place, path in enumerate(first.paths)
    }


def percentile_differences(
    first: Replicates, second: Replicates, level: float = LEVEL
) -> Mapping[str, PairedDifference]:
    """Return the same without BCa, which takes most of the time: `interval` is the percentile one too.

    The jackknife of `replicate` is not needed for it. Raises ValueError as above.
    """
    _check_paired(first, second)
    point, resampled = first.point - second.point, first.resampled - second.resampled
    clusters = len(first.clusters)
    percentile = percentile_intervals(point, resampled, clusters, level)
    same = tolerance(point[np.newaxis], resampled).tolist()
    return {
        path: _difference(
            float(point[place]), (percentile[place],) * 2, resampled[:, place], same[place], clusters
        )
        for place, path in enumerate(first.paths)
    }


def _check_paired(first: Replicates, second: Replicates) -> None:
    if not np.array_equal(first.clusters, second.clusters):
        only = len(np.setxor1d(first.clusters, second.clusters))
        sizes = f"{len(first.clusters)} and {len(second.clusters)}"
        raise ValueError(
            f"a pair is compared on the same clusters: of {sizes}, {only} are in one only; "
            "leave out those that are not in both"
        )
    if first.resampling != second.resampling:
        raise ValueError(f"a pair has the same draws, not {first.resampling} and {second.resampling}")
    if first.paths != second.paths:
        raise ValueError(f"a pair has the same values, not {first.paths} and {second.paths}")


def _difference(
    value: float, intervals: tuple[Interval, Interval], draws: Values, same: float, clusters: int
) -> PairedDifference:
    if not np.isfinite(value):
        return PairedDifference(None, *intervals, None, "one of the two values is undefined")
    reason = intervals[1].reason
    if reason and not (reason == CONSTANT and abs(value) > same):
        return PairedDifference(value, *intervals, None, reason)
    known = draws[np.isfinite(draws)]
    tail = min(int((known <= same).sum()), int((known >= -same).sum()))
    p = min(1.0, max(2 * (tail + 1) / (len(known) + 1), 2.0 ** (1 - clusters)))
    return PairedDifference(value, *intervals, p)


def _mean(sums: Values) -> Mapping[str, Values]:
    return {"mean": sums[..., 0] / sums[..., 1]}
