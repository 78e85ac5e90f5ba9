"""What a report shows of PanDent beside its tables."""

from __future__ import annotations

from typing import Final

from harness.benchmarks.details import Against, Breakdown, Change, Detail, Measured
from harness.benchmarks.pandent.findings import FINDINGS

UNION: Final[tuple[Detail, ...]] = (
    Breakdown(
        "findings",
        "Exact match by finding",
        {finding.label: f"exact_match.{finding.id}" for finding in FINDINGS},
        groups="finding",
        values="exact match",
        figure="heat",
    ),
    Against(
        "positives",
        "Cases with the finding against cases without it",
        Measured("negatives.exact_match", "exact match where there is nothing to find"),
        Measured("positives.exact_match", "exact match where the finding is there"),
    ),
)
"""Of the questions together."""

NORMALISE: Final[tuple[Detail, ...]] = tuple(
    Change(
        f"normalised-{path.replace('_', '-')}",
        f"{name} of raw and of normalised reports",
        Measured(f"raw.{path}", "raw"),
        Measured(f"normalised.{path}", "normalised"),
    )
    for path, name in (("average", "Mean of six metrics"), ("rouge_l", "ROUGE-L"), ("bleu_4", "BLEU-4"))
)
"""Of the step `normalise`."""
