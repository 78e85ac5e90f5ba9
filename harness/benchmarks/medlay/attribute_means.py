"""The metric paths of the steps `evaluate` and `verify`, by the model whose lay texts they are about.

`<evaluator>.<attribute>` and `<evaluator>.overall`, the mean of the five: means over answers, times 100. The
verifier's flags (`rubric.FLAGS`) are shares of answers. An answer that nobody could score is in no number.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.benchmarks.medlay.attributes import ATTRIBUTES, SCALE
from harness.benchmarks.scored import MetricValue, UnitTable
from harness.scoring.bootstrap import sum_intervals
from harness.scoring.intervals import Interval
from harness.scoring.multilabel import ratio
from harness.scoring.proportions import clopper_pearson
from harness.scoring.resampling import Resampling, Values


def names(flags: Sequence[str] = ()) -> tuple[str, ...]:
    """Return what is kept of a unit: whether it was scored, its attributes from 0 to 1, its flags."""
    return ("scored", *ATTRIBUTES, *flags)


def metrics(units: UnitTable, evaluator: str, flags: Sequence[str] = ()) -> dict[str, MetricValue]:
    """Return every metric path of one repeat's units."""
    sums = units.numbers.sum(axis=0)
    n = int(sums[0])
    return {
        path: MetricValue(float(value), n) if n else MetricValue(None, 0, "no answer was scored")
        for path, value in _values(sums, evaluator, flags).items()
    }


def intervals(
    units: UnitTable, evaluator: str, flags: Sequence[str], resampling: Resampling
) -> dict[str, Interval]:
    """Return path -> interval over cases, or groups of cases, with all their answers and repeats.

    Shares of answers are exact where each is a cluster of its own.
    """
    scored = units.where(units.numbers[:, 0] == 1)
    found = dict(
        sum_intervals(
            scored.numbers,
            scored.clusters,
            scored.repeats,
            lambda sums: _values(sums, evaluator, flags),
            resampling,
        )
    )
    if len(np.unique(scored.clusters)) == len(scored):
        counts = scored.numbers.sum(axis=0)[1 + len(ATTRIBUTES) :]
        for flag, count in zip(flags, counts.tolist(), strict=True):
            found[share_of(flag)] = clopper_pearson(int(count), len(scored))
    return found


def unit_scores(
    numbers: Sequence[float], evaluator: str, flags: Sequence[str] = ()
) -> dict[str, float | None]:
    """Return what one unit scores; None where nobody scored it."""
    if not numbers[0]:
        return dict.fromkeys(_values(np.array(numbers), evaluator, flags))
    return {path: float(value) for path, value in _values(np.array(numbers), evaluator, flags).items()}


def share_of(flag: str) -> str:
    """Return the path of a flag: the share of scored answers that have it."""
    return f"{flag}.share"


def _values(sums: Values, evaluator: str, flags: Sequence[str]) -> dict[str, Values]:
    """Return path -> values (...) of sums (..., `names`); NaN without a scored answer."""
    scored, columns = sums[..., 0], np.moveaxis(sums[..., 1:], -1, 0)
    attributes = columns[: len(ATTRIBUTES)]
    found = {f"{evaluator}.overall": SCALE * ratio(attributes.sum(axis=0), len(ATTRIBUTES) * scored)}
    for attribute, column in zip(ATTRIBUTES, attributes, strict=True):
        found[f"{evaluator}.{attribute}"] = SCALE * ratio(column, scored)
    for flag, column in zip(flags, columns[len(ATTRIBUTES) :], strict=True):
        found[share_of(flag)] = ratio(column, scored)
    return found
