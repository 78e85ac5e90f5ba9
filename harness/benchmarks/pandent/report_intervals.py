"""Confidence intervals of the scores of clinical reports: each is a function of sums over units.

BLEU and METEOR 1.5 belong to the corpus, so a resample's are made anew from its sums; the sums of all units
give the values of `report_scores` themselves.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from harness.benchmarks.pandent.report_scores import uncomputed, values_of_sums
from harness.benchmarks.scored import UnitTable
from harness.scoring.bootstrap import intervals_of
from harness.scoring.intervals import Interval
from harness.scoring.replicates import Statistic, Units, replicate
from harness.scoring.resampling import Resampling, Values


def report_intervals(units: UnitTable, resampling: Resampling) -> dict[str, Interval]:
    """Return path -> interval of all units of a row, their repeats together.

    A path whose metric could not be computed is left out. `units.numbers` are `REPORT_NUMBERS`.
    """
    counted = units.where(units.numbers[:, 0] == 1)
    left_out = uncomputed(counted.numbers)
    found = intervals_of(replicate(*report_sums(counted), resampling))
    return {path: interval for path, interval in found.items() if path not in left_out}


def report_sums(units: UnitTable) -> tuple[Units, Statistic]:
    """Return what each unit adds to the sums of a row, and every path that is made of them.

    A unit without a reference adds nothing. A path whose metric could not be computed is NaN.
    """
    unknown = uncomputed(units.numbers)

    def statistic(sums: Values) -> Mapping[str, Values]:
        values = values_of_sums(sums)
        return {**values, **{path: np.full_like(values[path], np.nan) for path in unknown}}

    return Units(np.nan_to_num(units.numbers), units.clusters, units.repeats), statistic
