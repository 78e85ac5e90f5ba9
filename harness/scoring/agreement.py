"""Agreement of two raters beyond chance."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.scoring.intervals import LEVEL, Interval, check_level, rounded, z_of

LARGE_SAMPLE: Final = "fleiss-cohen-everitt"


@dataclass(frozen=True, slots=True)
class Kappa:
    """Cohen's kappa of `n` items; `agreement` is the raw share on which both say the same.

    `kappa` is None with a `reason` without items, and where both use one label only (0/0); the raw share
    stays. `standard_error` is the one behind the interval.
    """

    kappa: float | None
    agreement: float | None
    n: int
    interval: Interval
    standard_error: float | None = None
    reason: str | None = None


def cohen_kappa(
    first: Sequence[Hashable], second: Sequence[Hashable], labels: Sequence[Hashable], level: float = LEVEL
) -> Kappa:
    """Return (p - e) / (1 - e), with p the raw agreement and e that of chance (Cohen 1960, EPM 20:37-46).

    e is the sum over labels of the product of both raters' shares. `labels` are all that can be said, in any
    order; those that nobody used change nothing. The interval is kappa +- z times the large-sample error of
    Fleiss, Cohen and Everitt (1969, Psychological Bulletin 72:323-327, equation 13), cut at -1 and 1; where
    that error is 0 there is none. Raises ValueError for lengths that differ, for a label twice, and for an
    item whose label is not among them: a missing judgement must be left out of both.
    """
    check_level(level)
    table = _table(first, second, labels)
    n = int(table.sum())
    if n == 0:
        return _none(None, 0, "no items", level)
    agreed = int(np.trace(table))
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    by_chance = int(rows @ columns)  # times n * n: whole numbers, so that 0/0 is seen
    if by_chance == n * n:
        return _none(
            agreed / n, n, "both raters used one and the same label only, so that kappa is 0/0", level
        )
    kappa = (agreed * n - by_chance) / (n * n - by_chance)
    error = _large_sample_error(table / n, kappa, n)
    if error is None:
        reason = "the large-sample error is 0: too few kinds of disagreement"
        return Kappa(kappa, agreed / n, n, Interval(None, None, LARGE_SAMPLE, reason, level=level))
    half = z_of((1 + level) / 2) * error
    low, high = max(-1.0, kappa - half), min(1.0, kappa + half)
    interval = Interval(rounded(low), rounded(high), LARGE_SAMPLE, level=level)
    return Kappa(kappa, agreed / n, n, interval, error)


def _none(agreement: float | None, n: int, reason: str, level: float) -> Kappa:
    return Kappa(None, agreement, n, Interval(None, None, LARGE_SAMPLE, reason, level=level), reason=reason)


def _table(
    first: Sequence[Hashable], second: Sequence[Hashable], labels: Sequence[Hashable]
) -> NDArray[np.int64]:
    """Return how many items have each pair of labels, the first rater's in rows."""
    if len(first) != len(second):
        raise ValueError(f"two raters judge the same items, not {len(first)} and {len(second)}")
    place = {label: index for index, label in enumerate(labels)}
    if len(place) != len(labels):
        raise ValueError("a label is listed twice")
    unknown = [label for label in (*first, *second) if label not in place]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not among the labels {list(labels)!r}")
    pairs = [place[one] * len(labels) + place[other] for one, other in zip(first, second, strict=True)]
    counts = np.bincount(np.array(pairs, dtype=np.int64), minlength=len(labels) ** 2)
    return counts.astype(np.int64).reshape(len(labels), len(labels))


def _large_sample_error(shares: NDArray[np.float64], kappa: float, n: int) -> float | None:
    """Return the error of kappa from the shares of all pairs of labels among n items; None if it is 0."""
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    by_chance = float(rows @ columns)
    agreed = np.diag(shares)
    among_agreed = float((agreed * (1 - (rows + columns) * (1 - kappa)) ** 2).sum())
    # The weight of cell (i, j) is (share of j in rows + share of i in columns) squared.
    weights = (rows[np.newaxis, :] + columns[:, np.newaxis]) ** 2
    among_others = (1 - kappa) ** 2 * float((shares * weights).sum() - (agreed * np.diag(weights)).sum())
    rest = (kappa - by_chance * (1 - kappa)) ** 2
    spread = among_agreed + among_others - rest
    # A difference of numbers of about 1: what is below this is rounding.
    return math.sqrt(spread / n) / (1 - by_chance) if spread > 1e-13 else None
