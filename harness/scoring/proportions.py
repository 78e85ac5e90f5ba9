"""Shares: the exact interval of one, and the difference between two independent ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from harness.scoring.intervals import LEVEL, Interval, check_level, normal_cdf, rounded, z_of

CLOPPER_PEARSON: Final = "clopper-pearson"
NEWCOMBE: Final = "newcombe"


@dataclass(frozen=True, slots=True)
class ProportionTest:
    """Two independent shares compared: `difference` is the first less the second.

    `z` and the two-tailed `p` are those of the pooled test; None with a `reason` if they are undefined.
    """

    difference: float | None
    interval: Interval
    z: float | None
    p: float | None
    reason: str | None = None


def clopper_pearson(successes: int, units: int, level: float = LEVEL) -> Interval:
    """Return the exact interval of a share (Clopper and Pearson 1934, Biometrika 26:404-413).

    Its ends are quantiles of beta distributions; 0 for no success, 1 for nothing else. None with a reason
    without units. Raises ValueError unless 0 <= successes <= units.
    """
    _check(successes, units)
    check_level(level)
    if units == 0:
        return Interval(None, None, CLOPPER_PEARSON, "no units", level=level)
    from scipy.special import betaincinv  # a quarter of a second, which only scoring should take

    tail, failures = (1 - level) / 2, units - successes
    low = float(betaincinv(successes, failures + 1, tail)) if successes else 0.0
    high = float(betaincinv(successes + 1, failures, 1 - tail)) if failures else 1.0
    return Interval(rounded(low), rounded(high), CLOPPER_PEARSON, level=level)


def two_proportion_z(
    first: int, first_units: int, second: int, second_units: int, level: float = LEVEL
) -> ProportionTest:
    """Compare two independent shares by the pooled z test, without a continuity correction.

    It is R's `prop.test(correct = FALSE)`, whose X-squared is z**2; shares of the same units are paired and
    belong to `mcnemar_exact`. Where all units of both agree, z is 0/0: null with a reason. The interval of
    the difference is Newcombe's hybrid of two Wilson intervals without correction (1998, Statistics in
    Medicine 17:873-890, method 10); R prints Wald's. Raises ValueError for counts beyond their units.
    """
    _check(first, first_units)
    _check(second, second_units)
    check_level(level)
    if not first_units or not second_units:
        reason = "no units in one of the two"
        return ProportionTest(None, Interval(None, None, NEWCOMBE, reason, level=level), None, None, reason)
    one, other = first / first_units, second / second_units
    difference = (first * second_units - second * first_units) / (first_units * second_units)
    interval = _newcombe(one, first_units, other, second_units, difference, level)
    pooled = (first + second) / (first_units + second_units)
    if first + second in (0, first_units + second_units):
        all_of_them = "no unit" if first + second == 0 else "every unit"
        reason = f"{all_of_them} of both is a success, so that z is 0/0"
        return ProportionTest(difference, interval, None, None, reason)
    z = difference / math.sqrt(pooled * (1 - pooled) * (1 / first_units + 1 / second_units))
    return ProportionTest(difference, interval, z, min(1.0, 2 * normal_cdf(-abs(z))))


def _newcombe(
    one: float, units: int, other: float, other_units: int, difference: float, level: float
) -> Interval:
    low, high = _wilson(one, units, level)
    other_low, other_high = _wilson(other, other_units, level)
    below = math.hypot(one - low, other_high - other)
    above = math.hypot(high - one, other - other_low)
    return Interval(rounded(difference - below), rounded(difference + above), NEWCOMBE, level=level)


def _wilson(share: float, units: int, level: float) -> tuple[float, float]:
    """Return the ends of Wilson's score interval (1927), without correction."""
    z = z_of((1 + level) / 2)
    centre = share + z * z / (2 * units)
    half = z * math.sqrt(share * (1 - share) / units + z * z / (4 * units * units))
    scale = 1 + z * z / units
    return (centre - half) / scale, (centre + half) / scale


def _check(successes: int, units: int) -> None:
    if not 0 <= successes <= units:
        raise ValueError(f"{successes} successes do not fit into {units} units")
