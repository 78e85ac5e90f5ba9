"""What answers about one finding are worth that look at no image.

Truth is one code a case (`finding_values.answer_code`): 0 or 1, or a set of teeth; 0 is "none" either way.
The numbers are expectations in closed form: nothing is drawn, so no seed and no order of cases shows in them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.scoring.label_codes import MOST_LABELS, Codes


@dataclass(frozen=True, slots=True)
class Measures:
    """What the answers of one baseline to all cases are worth; NaN where nothing was to be counted.

    `precision` and `recall` are of teeth, summed over cases (of "yes" for a finding that is yes or no):
    expected right ones, of the expected named ones and of the true ones.
    """

    exact: float
    """Share of cases whose whole answer is right."""
    positives: int
    """Cases that have the finding."""
    exact_of_positives: float
    """The same share among these alone."""
    precision: float
    recall: float


def constant(truth: Codes, code: int) -> Measures:
    """Return what it is worth to answer one code in every case; 0 is the baseline `nothing`."""
    return _measures(truth, (truth == code).astype(np.float64), _bits(np.array([code], dtype=np.uint32))[0])


def prevalence(truth: Codes) -> Measures:
    """Return what guesses are worth: each tooth by itself, as often as it is in the truth of these cases.

    It uses the references, so it is no model that could be asked.
    """
    if not len(truth):
        return constant(truth, 0)
    values, inverse, counts = np.unique(truth, return_inverse=True, return_counts=True)
    bits = _bits(values)
    shares = counts @ bits / len(truth)
    right = np.where(bits == 1, shares, 1 - shares).prod(axis=1)
    return _measures(truth, right[inverse], shares)


def most_frequent(truth: Codes) -> int:
    """Return the code that most cases have, the baseline `majority`: no constant answer is oftener right.

    Of several, the least code, so "none" before any other. Raises ValueError without cases.
    """
    values, counts = np.unique(truth, return_counts=True)
    return int(values[counts.argmax()])


def mean_exact(measures: Sequence[Measures]) -> float:
    """Return the mean over findings of their exact match, the paper's average; NaN without findings."""
    return math.fsum(one.exact for one in measures) / len(measures) if measures else math.nan


def _measures(truth: Codes, right: NDArray[np.float64], named: NDArray[np.float64]) -> Measures:
    """Combine the chance that each case is right, and that each of 32 bits is named in a case."""
    positive = truth != 0
    true = _bits(truth).sum(axis=0)
    shared, given = math.fsum(true * named), math.fsum(named) * len(truth)
    return Measures(
        exact=_ratio(math.fsum(right), len(truth)),
        positives=int(positive.sum()),
        exact_of_positives=_ratio(math.fsum(right[positive]), int(positive.sum())),
        precision=_ratio(shared, given),
        recall=_ratio(shared, math.fsum(true)),
    )


def _bits(codes: Codes) -> NDArray[np.float64]:
    """Return codes as rows of 32 zeros and ones."""
    return (codes[:, None] >> np.arange(MOST_LABELS, dtype=np.uint32) & 1).astype(np.float64)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan
