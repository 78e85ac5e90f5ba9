"""The metric paths of the step `grade`, by graded model: what the grader's tiers come to, of graded answers.

`score`, `top1`, `top3`, `top5` and `tier.0.share` ... `tier.3.share` mean what they mean in `radm.scores`,
over the answers that the grader gave tiers. All others (unusable ones, which it is not shown, too) are in no
number and in neither reading, so that these are not the scores of the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.benchmarks.radm.ranking import FIFTHS, TIERS, TOP
from harness.benchmarks.radm.score_intervals import mean_interval, share_intervals
from harness.benchmarks.scored import MetricValue, UnitNumbers, UnitTable
from harness.scoring.intervals import Interval
from harness.scoring.resampling import Resampling

_GRADED, _FIFTHS, _FIRST, _BEST = range(4)
_NONE: Final = "no answer was graded"


def score(numbers: UnitNumbers) -> dict[str, MetricValue]:
    """Return every metric path of one repeat's units, (units, `grade.NUMBERS`)."""
    graded = numbers[numbers[:, _GRADED] == 1]
    n = len(graded)
    total = int(graded[:, _FIFTHS].sum())
    counts = {path: int(which.sum()) for path, which in _counted(graded).items()}
    if not n:
        return {path: MetricValue(None, 0, _NONE) for path in ("score", *counts)}
    shares = {path: MetricValue(count / n, n) for path, count in counts.items()}
    return {"score": MetricValue(total / (FIFTHS * n), n), **shares}


def intervals(units: UnitTable, resampling: Resampling) -> dict[str, Interval]:
    """Return path -> interval over cases, or groups of cases, with all their answers and repeats."""
    graded = units.where(units.numbers[:, _GRADED] == 1)
    if not len(graded):
        return {}
    found = share_intervals(graded, _counted(graded.numbers), resampling)
    return {"score": mean_interval(graded, graded.numbers[:, _FIFTHS] / FIFTHS, resampling), **found}


def unit_scores(numbers: Sequence[float]) -> Mapping[str, float | None]:
    """Return metric path -> value of one unit; None without tiers."""
    graded, worth, first, best = numbers
    values = {
        "score": worth / FIFTHS,
        **{f"top{k}": float(0 < first <= k) for k in TOP},
        **{f"tier.{tier}.share": float(best == tier) for tier in TIERS},
    }
    return {path: value if graded else None for path, value in values.items()}


def _counted(graded: UnitNumbers) -> dict[str, NDArray[np.bool_]]:
    first, best = graded[:, _FIRST], graded[:, _BEST]
    return {
        **{f"top{k}": (first > 0) & (first <= k) for k in TOP},
        **{f"tier.{tier}.share": best == tier for tier in TIERS},
    }
