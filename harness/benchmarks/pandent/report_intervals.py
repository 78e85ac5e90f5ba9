"""Confidence intervals of the scores of clinical reports: each is a function of sums over units.

BLEU and METEOR 1.5 belong to the corpus, so a resample's are made anew from its sums; the sums of all units
give the values of `report_scores` themselves.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from harness.benchmarks.pandent.report_scores import uncomputed, values_of_sums
from harness.benchmarks.scored import UnitTable
from harness.scoring.bootstrap import sum_intervals
from harness.scoring.intervals import Interval
from harness.scoring.resampling import Resampling, Values


def report_intervals(units: UnitTable, resampling: Resampling) -> dict[str, Interval]:
    """Return path -> interval of all units of a row, their repeats together.

    A path whose metric could not be computed is left out. `units.numbers` are `REPORT_NUMBERS`.
    """
    counted = units.where(units.numbers[:, 0] == 1)
    left_out = uncomputed(counted.numbers)

    def statistic(sums: Values) -> Mapping[str, Values]:
        return {path: values for path, values in values_of_sums(sums).items() if path not in left_out}

    return dict(
        sum_intervals(
            np.nan_to_num(counted.numbers), counted.clusters, counted.repeats, statistic, resampling
        )
    )
