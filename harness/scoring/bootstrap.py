"""Intervals of what a benchmark measures, and the difference between two models, by one shared resampling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.scoring.intervals import LEVEL, Interval, bca_intervals
from harness.scoring.replicates import Replicates, Statistic, Units, replicate
from harness.scoring.resampling import Resampling, Values


def sum_intervals(
    summands: ArrayLike,
    clusters: Sequence[object] | NDArray[Any],
    repeats: Sequence[object] | NDArray[Any] | None,
    statistic: Statistic,
    resampling: Resampling,
    level: float = LEVEL,
) -> Mapping[str, Interval]:
    """Return path -> BCa interval of everything that `statistic` makes of sums.

    `summands` (units, k) are added up; `clusters` (units) are resampled with all their `repeats` (units;
    None is one repeat). Conventions are those of `replicates` and `intervals`. Raises ValueError for lengths
    that differ and for summands that are not finite.
    """
    return intervals_of(replicate(Units.of(summands, clusters, repeats), statistic, resampling), level)


def intervals_of(replicates: Replicates, level: float = LEVEL) -> Mapping[str, Interval]:
    """Return path -> BCa interval of values that were resampled before."""
    found = bca_intervals(replicates.point, replicates.resampled, replicates.jackknife, level)
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


def _mean(sums: Values) -> Mapping[str, Values]:
    return {"mean": sums[..., 0] / sums[..., 1]}
