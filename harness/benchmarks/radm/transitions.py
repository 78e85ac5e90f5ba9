"""From one condition to the next, case by case ("Case-Level Stability and Score Distribution Analysis").

A union of two conditions, `text_to_text_images` say, pairs the answers about the same case (and repeat):

- `improved`, `unchanged`, `declined`, each with `.count` and `.share`: pairs whose score in the second
  condition is higher, the same, lower.
- `mean_difference`: mean of second less first; `relative_change`: that over the mean of the first, without
  value where this is 0; `before.score`, `after.score`: the two means.
- `unusable.share`: pairs in which at least one answer is unusable. As answered it scores 0, so that a failure
  on one side counts as a change; this says how many pairs may rest on one.
- `unpaired`: cases that are scored in one of the two only; its n is all that are scored in any.
- `RadEdu.*`, `RealClin.*`: the same of the pairs within a subset. The paper's counts are those of RealClin.

n counts pairs. Scores are compared as whole numbers of fifths. A pair with an ungraded answer has no
difference, and then no number of its group has a value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.benchmarks.radm.cases import SUBSETS
from harness.benchmarks.radm.pairs import (
    UNUSABLE,
    Pairs,
    means,
    pair_intervals,
    pairs_of,
    unusable_share,
    without_value,
)
from harness.benchmarks.radm.scores import Answers
from harness.benchmarks.scored import MetricValue, UnitTable
from harness.scoring.intervals import Interval
from harness.scoring.resampling import Resampling

NO_PAIR: Final = "no such case was scored in both conditions"
_CHANGES: Final = ("improved", "unchanged", "declined")


def transitions(units: UnitTable) -> dict[str, MetricValue]:
    """Return every metric path of one repeat's units of a union."""
    pairs = pairs_of(units)
    found: dict[str, MetricValue] = {}
    for prefix, inside in _subsets(pairs):
        for path, value in _measured(pairs.where(inside)):
            found[prefix + path] = value
    seen = len(pairs) + pairs.unpaired
    found["unpaired"] = MetricValue(float(pairs.unpaired), seen)
    return found


def transition_intervals(units: UnitTable, resampling: Resampling) -> dict[str, Interval]:
    """Return path -> interval over cases, or groups of cases, with all their repeats; none of counts.

    Shares are exact where every pair is a cluster of its own.
    """
    pairs = pairs_of(units)
    found: dict[str, Interval] = {}
    for prefix, inside in _subsets(pairs):
        if inside.any():
            part = _intervals(pairs.where(inside), resampling)
            found |= {prefix + path: interval for path, interval in part.items()}
    return found


def changed(pairs: Pairs) -> dict[str, NDArray[np.bool_]]:
    """Return which pairs improved, are unchanged, declined."""
    change = pairs.change
    return dict(zip(_CHANGES, (change > 0, change == 0, change < 0), strict=True))


def _subsets(pairs: Pairs) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    code = Answers(pairs.numbers).of("subset")
    yield "", code >= 0
    yield from ((f"{subset}.", code == place) for place, subset in enumerate(SUBSETS))


def _measured(pairs: Pairs) -> Iterator[tuple[str, MetricValue]]:
    n, reason = len(pairs), without_value(pairs, NO_PAIR)
    yield UNUSABLE, unusable_share(pairs, NO_PAIR)
    yield from means(pairs, reason).items()
    for name, which in changed(pairs).items():
        count = int(which.sum())
        values = (None, None) if reason else (float(count), count / n)
        for what, value in zip(("count", "share"), values, strict=True):
            yield f"{name}.{what}", MetricValue(value, n, reason)


def _intervals(pairs: Pairs, resampling: Resampling) -> dict[str, Interval]:
    shares = {f"{name}.share": which for name, which in changed(pairs).items()}
    return pair_intervals(pairs, shares, resampling)
