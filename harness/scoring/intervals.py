"""Confidence intervals: BCa and percentile of a bootstrap.

BCa is Efron's (1987, JASA 82:171-185, "Better bootstrap confidence intervals"): with z(p) the normal
quantile, z0 = z(share of resamples below the value), a = sum(L**3) / (6 sum(L**2)**1.5) over the clusters'
influences L = mean of the jackknife - value without the cluster (Efron and Tibshirani 1993, 14.15), the
endpoints are the resamples' quantiles at Phi(z0 + (z0 + z(alpha)) / (1 - a (z0 + z(alpha)))).

- Ties: a resample that equals the value counts half below it, as in scipy; R's boot.ci counts it not at
  all, which on few units of a coarse measure moves the whole interval down.
- Equal means within `replicates.SAME`, so that rounding of sums makes no difference.
- Quantiles: between the order statistics k and k + 1 around (resamples + 1) * alpha, straight on the scale of
  normal quantiles (Davison and Hinkley 1997, 5.8), as in R's boot.ci.
- Resamples without a value are left out, and counted in `note`.
- Endpoints are rounded to 1e-9.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.scoring.replicates import tolerance
from harness.scoring.resampling import Values

LEVEL: Final = 0.95
DIGITS: Final = 9
VERSION: Final = 2
"""Goes up with each change by which an interval of the same data moves."""

BCA: Final = "bca"
PERCENTILE: Final = "percentile"
CONSTANT: Final = "the same in every resample"

z_of: Final[Callable[[float], float]] = NormalDist().inv_cdf
"""The normal quantile of a probability above 0 and below 1 (Wichura 1988, AS 241)."""


@dataclass(frozen=True, slots=True)
class Interval:
    """From `low` to `high`, in the unit of the value; both None with a `reason` if there is none.

    `method` is the one that was used ("bca", "percentile", "clopper-pearson", ...). `note` is what a reader
    of an interval must know: why it is by another method than asked, or how many resamples have no value.
    """

    low: float | None
    high: float | None
    method: str
    reason: str | None = None
    note: str | None = None
    level: float = LEVEL


def bca_interval(point: float, resampled: Values, jackknife: Values, level: float = LEVEL) -> Interval:
    """Return the interval of one value from its (resamples) replicates and (clusters) jackknife values."""
    columns = np.asarray(resampled)[:, np.newaxis], np.asarray(jackknife)[:, np.newaxis]
    return bca_intervals(np.array([point]), *columns, level)[0]


def bca_intervals(
    point: Values,
    resampled: Values,
    jackknife: Values,
    level: float = LEVEL,
    weights: NDArray[np.int64] | None = None,
) -> list[Interval]:
    """Return the intervals of m values (m) from (resamples, m) and (clusters, m).

    Where clusters are alike, `jackknife` may be (kinds, m), and `weights` (kinds) how many are of each kind.
    None with a reason: a value that is undefined, fewer than two clusters, the same in all resamples, all
    resamples on one side of the value, or undefined in half of them. Where only the acceleration is
    undefined or too large for the formula, the interval is the percentile one, and says so. Raises
    ValueError for shapes that do not agree and for a level outside (0, 1).
    """
    _check_shapes(point, resampled, jackknife)
    check_level(level)
    each = np.ones(len(jackknife), dtype=np.int64) if weights is None else weights
    columns = _columns(point, resampled, int(each.sum()))
    return [_bca(column, jackknife[:, place], each, level) for place, column in enumerate(columns)]


def percentile_intervals(
    point: Values, resampled: Values, clusters: int, level: float = LEVEL
) -> list[Interval]:
    """Return the percentile intervals of m values (m) from (resamples, m), drawn from so many clusters.

    None with the reasons of `bca_intervals`, which raises the same too.
    """
    _check_shapes(point, resampled, resampled)
    check_level(level)
    found = []
    for column in _columns(point, resampled, clusters):
        reason = _no_interval(column)
        absent = Interval(None, None, PERCENTILE, reason, level=level)
        found.append(absent if reason else _between(column, PERCENTILE, _tails(level), [], level))
    return found


def check_level(level: float) -> None:
    """Raise ValueError for a level that is no share between 0 and 1."""
    if not 0 < level < 1:
        raise ValueError(f"the level of an interval lies between 0 and 1, not {level!r}")


def rounded(value: float) -> float:
    """Return a value as it is printed and compared: to 1e-9, and no negative zero."""
    return round(value, DIGITS) + 0.0


def normal_cdf(z: float) -> float:
    """Return the chance of a standard normal value up to z, exact in the lower tail too."""
    return 0.5 * math.erfc(-z / math.sqrt(2))


@dataclass(frozen=True, slots=True)
class _Column:
    """One value, its sorted defined resamples, of how many, from how many clusters; what counts as equal."""

    point: float
    ordered: Values
    resamples: int
    clusters: int
    same: float


def _check_shapes(point: Values, resampled: Values, jackknife: Values) -> None:
    shapes = (point.shape, resampled.shape, jackknife.shape)
    if [len(shape) for shape in shapes] != [1, 2, 2] or not shapes[0] == shapes[1][1:] == shapes[2][1:]:
        raise ValueError(f"value, resamples and jackknife disagree on how many statistics: {shapes}")


def _columns(point: Values, resampled: Values, clusters: int) -> list[_Column]:
    ordered = np.sort(np.where(np.isfinite(resampled), resampled, np.nan), axis=0)  # NaN goes last
    known = np.isfinite(ordered).sum(axis=0).tolist()
    same = tolerance(point[np.newaxis], resampled).tolist()
    return [
        _Column(float(point[place]), ordered[: known[place], place], len(resampled), clusters, same[place])
        for place in range(len(point))
    ]


def _bca(column: _Column, jackknife: Values, weights: NDArray[np.int64], level: float) -> Interval:
    if reason := _no_interval(column):
        return Interval(None, None, BCA, reason, level=level)
    bias = z_of(share_below(column.ordered, column.point, column.same))
    influence = acceleration(jackknife, column.same, weights)
    low, high = _tails(level)
    if influence is None:
        why = "percentile, as the acceleration of BCa is undefined: the jackknife has no spread or no value"
        return _between(column, PERCENTILE, (low, high), [why], level)
    if any(influence * (bias + z_of(alpha)) >= 1 for alpha in (low, high)):
        why = "percentile, as the acceleration is too large for BCa: a few clusters decide the value"
        return _between(column, PERCENTILE, (low, high), [why], level)
    adjusted = _adjusted(low, bias, influence), _adjusted(high, bias, influence)
    return _between(column, BCA, adjusted, [], level)


def _between(
    column: _Column, method: str, alphas: tuple[float, float], notes: list[str], level: float
) -> Interval:
    size, missing = len(column.ordered), column.resamples - len(column.ordered)
    low, high = (rounded(quantile(column.ordered, alpha)) for alpha in alphas)
    if missing:
        notes.insert(0, f"undefined in {missing} of {column.resamples} resamples, left out")
    if any(not 1 < (size + 1) * alpha < size for alpha in alphas):
        notes.append("an extreme resample is an endpoint")
    return Interval(low, high, method, None, "; ".join(notes) or None, level)


def _no_interval(column: _Column) -> str | None:
    ordered, missing = column.ordered, column.resamples - len(column.ordered)
    if not math.isfinite(column.point):
        return "the value itself is undefined"
    if column.clusters < 2:
        return "one cluster: nothing to resample"
    if 2 * missing >= column.resamples:
        return f"undefined in {missing} of {column.resamples} resamples"
    if ordered[-1] - ordered[0] <= column.same:
        return CONSTANT
    below = share_below(ordered, column.point, column.same)
    if below in (0, 1):
        return f"every resample lies {'above' if below == 0 else 'below'} the value"
    return None


def _tails(level: float) -> tuple[float, float]:
    return (1 - level) / 2, (1 + level) / 2


def share_below(ordered: Values, value: float, same: float) -> float:
    """Return the share of sorted values that lie below one; those that equal it count half."""
    strictly = int(np.searchsorted(ordered, value - same, side="left"))
    up_to = int(np.searchsorted(ordered, value + same, side="right"))
    return (strictly + up_to) / (2 * len(ordered))


def acceleration(jackknife: Values, same: float, weights: NDArray[np.int64]) -> float | None:
    """Return a of BCa from (kinds) values, each of so many clusters; None if undefined or all the same."""
    if not np.isfinite(jackknife).all() or np.ptp(jackknife) <= same:
        return None
    influences = (weights * jackknife).sum() / weights.sum() - jackknife
    influences /= np.abs(influences).max()
    return float((weights * influences**3).sum() / (6 * (weights * influences**2).sum() ** 1.5))


def quantile(ordered: Values, alpha: float) -> float:
    """Return the quantile of sorted values as R's boot.ci takes it (see the module); ends beyond them."""
    size = len(ordered)
    rank = (size + 1) * alpha
    below = math.floor(rank)
    if below < 1:
        return float(ordered[0])
    if below >= size:
        return float(ordered[-1])
    low, high = float(ordered[below - 1]), float(ordered[below])
    if rank == below or low == high:
        return low
    start, end = z_of(below / (size + 1)), z_of((below + 1) / (size + 1))
    return low + (z_of(alpha) - start) / (end - start) * (high - low)


def _adjusted(alpha: float, bias: float, influence: float) -> float:
    shifted = bias + z_of(alpha)
    return normal_cdf(bias + shifted / (1 - influence * shifted))
