"""Statistics of scores: intervals, tests, agreement. One place to import them from.

Pure functions over arrays and counts; nothing here knows of models, cases or stores. Degenerate data gives
None with a reason, never NaN and no exception; ValueError is for misuse only, such as lengths that differ.
"""

from __future__ import annotations

from harness.scoring.bootstrap import intervals_of, mean_interval, sum_intervals
from harness.scoring.intervals import LEVEL, VERSION, Interval, bca_interval, bca_intervals
from harness.scoring.proportions import ProportionTest, clopper_pearson, two_proportion_z
from harness.scoring.replicates import Replicates, Statistic, Units, replicate
from harness.scoring.resampling import RESAMPLES, SEED, Resampling

__all__ = [
    "LEVEL",
    "RESAMPLES",
    "SEED",
    "VERSION",
    "Interval",
    "ProportionTest",
    "Replicates",
    "Resampling",
    "Statistic",
    "Units",
    "bca_interval",
    "bca_intervals",
    "clopper_pearson",
    "intervals_of",
    "mean_interval",
    "replicate",
    "sum_intervals",
    "two_proportion_z",
]
