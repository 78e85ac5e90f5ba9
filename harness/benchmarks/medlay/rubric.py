"""What the scores keep of one answer of the verifier: its five scores, and where it contradicts itself.

Source: the paper, section G.2. Scores are 0, 1 or 2; the total is their sum; PASS is a total of 10, REVISE
7 to 9, FAIL below. Nothing that the verifier says is corrected: its five scores count as they stand, and
what else it says is held against them and counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, cast

from harness.canonical import JSON

CRITERIA: Final[Mapping[str, str]] = MappingProxyType(
    {
        "modality": "modality_consistency",
        "anatomy": "anatomical_accuracy",
        "finding": "finding_completeness",
        "factual": "factual_correctness",
        "readability": "lay_readability",
    }
)
"""Attribute -> its criterion, by the keys of the verifier's answer."""

VERDICTS: Final = ("PASS", "REVISE", "FAIL")
MOST: Final = 2
"""The highest score of a criterion."""

FLAGS: Final = (
    *(f"verdict.{verdict.lower()}" for verdict in VERDICTS),
    "expert_error",
    "contradiction.total",
    "contradiction.verdict",
    "contradiction.revision",
    "contradiction.expert_error",
)
"""Each 0 or 1: the verdict as it was said; does the expert's text have an error; is the total another than
the sum; is the verdict another than the sum calls for; is there a revision with PASS, or none without; is
there a reason without an error of the expert, or none with one."""


def verdict_of(total: int) -> str:
    """Return the verdict that a total calls for."""
    return "PASS" if total == MOST * len(CRITERIA) else "REVISE" if total >= 7 else "FAIL"


def attribute_scores(prediction: Mapping[str, JSON]) -> dict[str, float]:
    """Return attribute -> score from 0 to 1, half of what the verifier gave."""
    scores = cast("Mapping[str, int]", prediction["scores"])
    return {attribute: scores[criterion] / MOST for attribute, criterion in CRITERIA.items()}


def flags(prediction: Mapping[str, JSON]) -> Sequence[float]:
    """Return `FLAGS` of an answer that fits the schema."""
    scores = cast("Mapping[str, int]", prediction["scores"])
    total, said = sum(scores.values()), prediction["verdict"]
    revised = bool(str(prediction["revised_lay_caption"]).strip())
    error = bool(prediction["expert_error"])
    explained = bool(str(prediction["expert_error_reason"]).strip())
    return tuple(
        map(
            float,
            (
                *(said == verdict for verdict in VERDICTS),
                error,
                prediction["total_score"] != total,
                said != verdict_of(total),
                revised == (said == "PASS"),
                explained != error,
            ),
        )
    )
