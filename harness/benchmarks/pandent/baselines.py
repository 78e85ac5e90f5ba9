"""What answers about one finding are worth that look at no image.

Truth is one code a case (`finding_values.answer_code`): 0 or 1, or a set of teeth; 0 is "none" either way.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from harness.scoring.label_codes import MOST_LABELS, Codes
from harness.scoring.resampling import Values


def prevalence_sums(truth: Codes) -> Values:
    """Return what guesses add up to, as `attribute_scores` sums it.

    Each tooth is guessed by itself, as often as it is in the truth of these cases (yes likewise). These are
    expectations in closed form: nothing is drawn, so no seed and no order of cases shows in them. They use
    the references, so this is no model that could be asked.
    """
    if not len(truth):
        return np.zeros(7)
    values, inverse, counts = np.unique(truth, return_inverse=True, return_counts=True)
    bits = _bits(values)
    shares = counts @ bits / len(truth)
    right = np.where(bits == 1, shares, 1 - shares).prod(axis=1)[inverse]
    positive = truth != 0
    true = _bits(truth).sum(axis=0)
    return np.array(
        [
            len(truth),
            math.fsum(right),
            positive.sum(),
            math.fsum(right[positive]),
            math.fsum(true * shares),
            math.fsum(shares) * len(truth),
            math.fsum(true),
        ]
    )


def most_frequent(truth: Codes) -> int:
    """Return the code that most cases have, the baseline `majority`: no constant answer is oftener right.

    Of several, the least code, so "none" before any other. Raises ValueError without cases.
    """
    values, counts = np.unique(truth, return_counts=True)
    return int(values[counts.argmax()])


def _bits(codes: Codes) -> NDArray[np.float64]:
    """Return codes as rows of 32 zeros and ones."""
    return (codes[:, None] >> np.arange(MOST_LABELS, dtype=np.uint32) & 1).astype(np.float64)
