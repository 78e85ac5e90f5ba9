"""Statistics of scores: intervals, tests, agreement.

One place to import them from, for people's own analyses. Pure functions over arrays and counts; nothing here
knows of models, cases or stores. Degenerate data gives None with a reason, never NaN and no exception;
ValueError is for misuse only, such as lengths that differ.
"""

from __future__ import annotations

from harness.scoring.agreement import Kappa, cohen_kappa
from harness.scoring.bootstrap import (
    PairedDifference,
    intervals_of,
    mean_interval,
    paired_bootstrap,
    paired_differences,
    sum_intervals,
)
from harness.scoring.intervals import (
    LEVEL,
    VERSION,
    Interval,
    bca_interval,
    bca_intervals,
    percentile_intervals,
)
from harness.scoring.many_tests import Adjusted, benjamini_hochberg, holm
from harness.scoring.paired_tests import McNemarTest, SignedRankTest, mcnemar_exact, wilcoxon_signed_rank
from harness.scoring.proportions import ProportionTest, clopper_pearson, two_proportion_z
from harness.scoring.rank_stability import RankStability, rank_stability
from harness.scoring.replicates import Replicates, Statistic, Units, replicate
from harness.scoring.resampling import RESAMPLES, SEED, Resampling
from harness.scoring.studentized import studentized_interval

__all__ = [
    "LEVEL",
    "RESAMPLES",
    "SEED",
    "VERSION",
    "Adjusted",
    "Interval",
    "Kappa",
    "McNemarTest",
    "PairedDifference",
    "ProportionTest",
    "RankStability",
    "Replicates",
    "Resampling",
    "SignedRankTest",
    "Statistic",
    "Units",
    "bca_interval",
    "bca_intervals",
    "benjamini_hochberg",
    "clopper_pearson",
    "cohen_kappa",
    "holm",
    "intervals_of",
    "mcnemar_exact",
    "mean_interval",
    "paired_bootstrap",
    "paired_differences",
    "percentile_intervals",
    "rank_stability",
    "replicate",
    "studentized_interval",
    "sum_intervals",
    "two_proportion_z",
    "wilcoxon_signed_rank",
]
