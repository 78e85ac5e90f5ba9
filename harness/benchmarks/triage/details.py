"""What a report shows of triage beside its table: figures 6 to 9 of the paper, by our metric paths."""

from __future__ import annotations

from typing import Final

from harness.benchmarks.details import Against, Breakdown, Detail, Flow, Matrix, Measured
from harness.benchmarks.triage.taxonomy import DOMAINS

_GROUPS: Final = ("1", "2", "3", "4", "5+")
"""Those of `scores.DOMAIN_GROUPS`."""
_COUNTS: Final = ("0", *_GROUPS)
"""Those of `domain_counts.BINS`."""

CONDITION: Final[tuple[Detail, ...]] = (
    Breakdown(
        "domains",
        "F1 by domain",
        {domain: f"domain.{domain}.f1" for domain in DOMAINS},
        groups="domain",
        values="F1",
        figure="heat",
    ),
    Breakdown(
        "complexity",
        "Score by complexity of the case",
        {group: f"by_domains.{group}.case_f1" for group in _GROUPS},
        groups="domains that the case needs",
        values="case F1",
        figure="lines",
    ),
    Breakdown(
        "domain-counts",
        "Domains named by domains needed",
        {count: f"domain_count.true.{count}.predicted_mean" for count in _COUNTS},
        groups="domains needed",
        values="domains named, mean",
        figure="diagonal",
        better=None,
        best=None,
    ),
    Matrix(
        "domain-count-matrix",
        "How many domains are named where so many are needed",
        {
            needed: {named: f"domain_count.true.{needed}.predicted.{named}" for named in _COUNTS}
            for needed in _COUNTS
        },
        rows="domains needed",
        columns="domains named",
    ),
    Against(
        "referrals",
        "Over-referral against omission",
        Measured("over_referral.mean_count", "labels added per case", "lower", 0),
        Measured("under_referral.mean_count", "labels missed per case", "lower", 0),
    ),
)
"""Of every condition."""

_LEVELS: Final = {"0": 0.0, "up to 0.5": 1e-9, "above 0.5": 0.5 + 1e-9, "1": 1.0}

ABLATION: Final[tuple[Detail, ...]] = tuple(
    Flow(
        f"{alone}-to-both",
        f"Case F1 from {alone} alone to both",
        (alone, "both"),
        path="case_f1",
        levels=_LEVELS,
    )
    for alone in ("complaint", "opg")
)
"""Of the modality ablation."""
