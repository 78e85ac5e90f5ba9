"""What five ranked diagnoses are worth, from the tier of each (RadM-Bench, "Diagnostic Quality Grading").

A tier says how complete a diagnosis is: 0, it does not name the disease (the paper implies this one); 1,
basic recognition of it; 2, partial: with its location or its cause; 3, comprehensive: with both. The score of
an answer is the largest product of a diagnosis's tier and the weight of its rank, 1.0, 0.8, 0.6, 0.4, 0.2. In
floats 0.6 * 3 is 1.7999999999999998 and ties with nothing; so all is counted in fifths, as whole numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from harness.canonical import JSON

RANKS: Final = 5
TIERS: Final = (0, 1, 2, 3)
WEIGHTS: Final = (5, 4, 3, 2, 1)
"""Of ranks 1 to 5, in fifths."""
FIFTHS: Final = 5
"""So many fifths are a score of 1: an answer is worth 0 to 15 of them, a score of 0 to 3."""
MOST: Final = 3.0
"""The best score that an answer can have."""
TOP: Final = (1, 3, 5)
"""The k of top-k accuracy."""
QUESTION_NAMES: Final = tuple(f"tier_{rank}" for rank in range(1, RANKS + 1))
"""What is graded of an answer: the tier of each of its diagnoses."""


def fifths(tiers: Sequence[int]) -> int:
    """Return the score of five tiers (rank 1 first) in fifths: one of 0-6, 8, 9, 10, 12, 15.

    Raises ValueError for another number of tiers.
    """
    return max(weight * tier for weight, tier in zip(WEIGHTS, tiers, strict=True))


def first_hit(tiers: Sequence[int]) -> int:
    """Return the rank (from 1) of the first diagnosis with a tier of at least 1; 0 if none has one.

    Top-k accuracy counts answers with 1 <= first hit <= k.
    """
    return next((rank for rank, tier in enumerate(tiers, 1) if tier >= 1), 0)


def tiers_of(grades: Mapping[str, JSON]) -> tuple[int, ...] | None:
    """Return the five tiers of an answer's grades, rank 1 first; None unless all five are there.

    Raises ValueError for a grade that is no tier.
    """
    if any(name not in grades for name in QUESTION_NAMES):
        return None
    return tuple(tier_of(name, grades[name]) for name in QUESTION_NAMES)


def tier_of(name: str, value: JSON) -> int:
    """Return the tier that a grade of a question is. Raises ValueError for one that is no tier."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value not in TIERS:
        raise ValueError(f"a grade of {name} is 0, 1, 2 or 3, not {value!r}")
    return int(value)
