"""Confidence intervals by the studentized bootstrap, for means over classes of which some are rare.

Such a mean is lower on few cases than on many: a class that no case has counts 0, and one that few have is
more often missed altogether. BCa and percentile intervals then lie too low, since a resample has fewer rare
classes still; and where a class was right in no case, they take it for certain. What a resample is off by, in
units of its own standard error, is much the same for the sample itself (the bootstrap-t: Efron 1982, "The
Jackknife, the Bootstrap and Other Resampling Plans", 10.10; Hall 1988, Annals of Statistics 16:927-953). With
t* = (resample - value) / its error, the interval is from value - error * t*(high) to value - error * t*(low),
where t*() are the quantiles of `intervals.quantile`.

The standard error need not be right, only roughly in proportion: a factor that all resamples share, as from
groups of cases, cancels.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from harness.scoring.intervals import LEVEL, Interval, check_level, quantile, rounded
from harness.scoring.replicates import Replicates
from harness.scoring.resampling import Values

STUDENTIZED: Final = "bootstrap-t"


def studentized_interval(
    replicates: Replicates,
    path: str,
    error_path: str,
    bounds: tuple[float, float] = (0.0, 1.0),
    level: float = LEVEL,
) -> Interval | None:
    """Return the interval of one value, whose standard error is another value of the same replicates.

    Its ends are cut off at `bounds`. A resample without a value, or without an error above 0, is left out and
    counted in the note. None where the value or its error is undefined or 0/0, where half of the resamples
    are left out, or where all are the same: then BCa is what there is. Raises KeyError for an unknown path.
    """
    check_level(level)
    point, error = (float(replicates.point[replicates.paths.index(one)]) for one in (path, error_path))
    if not (np.isfinite(point) and np.isfinite(error) and error > 0) or len(replicates.clusters) < 2:
        return None
    pivots = _pivots(point, replicates.of(path), replicates.of(error_path))
    resamples = replicates.resampling.resamples
    if 2 * len(pivots) <= resamples or np.ptp(pivots) == 0:
        return None
    tail = (1 - level) / 2
    low, high = (point - error * quantile(pivots, share) for share in (1 - tail, tail))
    missing, notes = resamples - len(pivots), []
    if missing:
        notes.append(f"undefined in {missing} of {resamples} resamples, left out")
    if not (len(pivots) + 1) * tail > 1:
        notes.append("an extreme resample is an endpoint")
    low, high = (rounded(min(max(end, bounds[0]), bounds[1])) for end in (low, high))
    return Interval(low, high, STUDENTIZED, None, "; ".join(notes) or None, level)


def f1_variance(tp: Values, wrong: Values) -> Values:
    """Return about the variance of F1 = 2 tp / (2 tp + wrong), both counts being Poisson's; 0 of 0/0."""
    below = 2 * tp + wrong
    return np.asarray(4 * tp * wrong * (tp + wrong) / np.where(below == 0, 1, below) ** 4)


def share_variance(part: Values, rest: Values) -> Values:
    """Return about the variance of part / (part + rest), likewise."""
    below = part + rest
    return np.asarray(part * rest / np.where(below == 0, 1, below) ** 3)


def _pivots(point: float, resampled: Values, errors: Values) -> Values:
    """Return what defined resamples are off by, in their own errors, in order."""
    known = np.isfinite(resampled) & np.isfinite(errors) & (errors > 0)
    return np.sort((resampled[known] - point) / errors[known])
