"""Intervals of kappa where raters hardly ever differ, of which resamples and large samples know too little.

Raters who never differ have a kappa of 1 in every resample, and an interval from 1 to 1 would say that they
never will. With one or two differences the resamples know no other kind of them. What is certain is the
share of items on which raters differ: its exact interval (Clopper and Pearson 1934, Biometrika 26:404-413).
Kappa follows from it with the agreement of chance as it was observed, as in Cohen's own error (1960,
Educational and Psychological Measurement 20:37-46): 1 - share / share by chance. Of a weighted kappa the
differences weigh what the observed ones do, or what those of chance do, whichever reaches farther.

Below `FEW` differences an interval reaches at least as far as this one. What that comes to was simulated
(tests/scoring/test_kappa_coverage.py).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.scoring.intervals import Interval, rounded
from harness.scoring.proportions import clopper_pearson

FEW: Final = 10
"""Below so many differences (clusters that have one) an interval of kappa is held against the exact one."""

EXACT: Final = "exact-differences"

WIDENED: Final = f"as far as the exact interval of how often raters differ, as they do fewer than {FEW} times"


def few_differences(
    interval: Interval,
    table: NDArray[np.int64],
    weights: NDArray[np.float64],
    clusters: int,
    differing: int,
) -> Interval:
    """Return an interval of kappa that knows how few differences it rests on.

    `table` (labels, labels) counts items; `weights` (labels, labels) are those of differences, 0 on the
    diagonal. Of `clusters`, which are drawn as one, so many are `differing` in an item. As it is: where
    there are `FEW` or more, and where kappa is 0/0. In the place of one that is missing stands the exact one.
    """
    if differing >= FEW or not clusters:
        return interval
    exact = _exact(table, weights, clusters, differing, interval.level)
    if exact is None:
        return interval
    if interval.low is None or interval.high is None:
        return exact
    assert exact.low is not None and exact.high is not None
    low, high = min(interval.low, exact.low), max(interval.high, exact.high)
    if (low, high) == (interval.low, interval.high):
        return interval
    note = WIDENED if interval.note is None else f"{interval.note}; {WIDENED}"
    return replace(interval, low=low, high=high, note=note)


def _exact(
    table: NDArray[np.int64], weights: NDArray[np.float64], clusters: int, differing: int, level: float
) -> Interval | None:
    """Return the interval from the share of clusters that differ; None where chance never differs."""
    n = int(table.sum())
    chance = np.outer(table.sum(axis=1), table.sum(axis=0)) / n**2
    apart = 1 - np.eye(len(table))
    by_chance, weight_by_chance = float((chance * apart).sum()), float((chance * weights).sum())
    if weight_by_chance <= 0:
        return None
    items = float((table * apart).sum())
    usual = weight_by_chance / by_chance
    observed = float((table * weights).sum()) / items if items else usual
    share = clopper_pearson(differing, clusters, level)
    assert share.low is not None and share.high is not None
    # Of a cluster that differs, so many of its items do; of one that never did, perhaps all.
    within = items / n / (differing / clusters) if differing else 1.0
    low = 1 - share.high * within * max(observed, usual) / weight_by_chance
    high = 1 - share.low * within * min(observed, usual) / weight_by_chance
    return Interval(rounded(max(-1.0, low)), rounded(min(1.0, high)), EXACT, level=level)
