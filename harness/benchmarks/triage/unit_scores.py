"""What one triage answer scores by itself: the summands of the metrics that are means over units.

Counted on sets, since arrays of a single unit would cost some 30 times as much; a test holds it to
`triage.scores`.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.benchmarks.base import Scored
from harness.benchmarks.triage.taxonomy import DOMAIN_COLUMNS, LABELS, flags_of
from harness.canonical import JSON


def unit_scores(unit: Scored, conventions: Mapping[str, str]) -> dict[str, float | None]:
    """Return metric path -> value for one unit; None for over-referral where there is no answer.

    Averaged over a row's units they are the row's values of the same paths.
    """
    truth = frozenset(_positive(unit.case.reference["labels"]))
    if unit.prediction is None:
        missed = len(truth)
        return {
            "fine.exact_match": 0.0,
            "coarse.exact_match": 0.0,
            "case_f1": 0.0,
            "over_referral.mean_count": None,
            "under_referral.mean_count": float(missed),
        }
    given = frozenset(place for place, flag in enumerate(flags_of(unit.prediction)) if flag)
    size = len(truth) + len(given)
    empty = float(conventions["case_f1_empty"])
    return {
        "fine.exact_match": float(truth == given),
        "coarse.exact_match": float(_domains(truth) == _domains(given)),
        "case_f1": 2 * len(truth & given) / size if size else empty,
        "over_referral.mean_count": float(len(given - truth)),
        "under_referral.mean_count": float(len(truth - given)),
    }


def _positive(labels: JSON) -> list[int]:
    if not isinstance(labels, list | tuple):
        raise TypeError(f"the labels of a case are a list, not {type(labels).__name__}")
    return [LABELS.index(str(label)) for label in labels]


def _domains(places: frozenset[int]) -> list[bool]:
    return [any(place in places for place in columns) for columns in DOMAIN_COLUMNS]
