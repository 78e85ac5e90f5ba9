"""What the scores keep of one verdict of the triage judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

from harness.canonical import JSON

DIMENSIONS: Final = (
    "D1_Neglect", "D2_Omission", "D3_Misinterpretation", "D4_Protocol_Confusion", "D5_Hallucination",
)  # fmt: skip
"""The paper's five failures, by the keys of its judge's answer."""

NUMBERS: Final = ("judged", *DIMENSIONS, "unexplained", "explained_absence")
"""Each 0 or 1: is there a verdict, its five scores, does any 1 lack a reason, does any 0 have one."""

_NO_REASON: Final = frozenset({"", "n/a", "na", "none", "not applicable"})


def verdict_numbers(prediction: JSON) -> tuple[int, ...]:
    """Return `NUMBERS` of a verdict that fits the schema; all 0 for None, which is none."""
    if prediction is None:
        return (0,) * len(NUMBERS)
    verdict = cast("Mapping[str, Mapping[str, JSON]]", prediction)
    found = [(int(verdict[name]["score"] == 1), _has_reason(verdict[name]["reason"])) for name in DIMENSIONS]
    return (
        1,
        *(score for score, _ in found),
        int(any(score and not reason for score, reason in found)),
        int(any(reason and not score for score, reason in found)),
    )


def verdict_scores(numbers: Sequence[float]) -> Mapping[str, float | None]:
    """Return metric path -> value of one verdict; None without one.

    Averaged over a row's units they are the row's values of the same paths.
    """
    judged, *scores = numbers[: 1 + len(DIMENSIONS)]
    unexplained, absence = numbers[1 + len(DIMENSIONS) :]
    values = {
        **{f"failure.{name}.case_share": score for name, score in zip(DIMENSIONS, scores, strict=True)},
        "failure.any.case_share": float(any(scores)),
        "failure.mean_count": float(sum(scores)),
        "contradiction.unexplained": unexplained,
        "contradiction.explained_absence": absence,
    }
    return {path: value if judged else None for path, value in values.items()}


def _has_reason(reason: JSON) -> bool:
    return str(reason).strip().rstrip(".").casefold() not in _NO_REASON
