"""Tests of two models on the same units: Wilcoxon's signed ranks and McNemar's counts. Both two-tailed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from harness.scoring.intervals import normal_cdf
from harness.scoring.resampling import Values

EXACT_BELOW: Final = 50
"""R computes the exact distribution for fewer differences than these, if it can."""

SAME_DIFFERENCE: Final = 1e-9
"""Differences no further apart are one, and none so small is any: relative to the largest score."""


@dataclass(frozen=True, slots=True)
class SignedRankTest:
    """Wilcoxon's test of paired scores.

    `v` is the sum of the ranks of positive differences (first less second), R's V. `n` differences were
    ranked after `zeros` were dropped. `p` is two-tailed. `effect` is the matched-pairs rank-biserial
    correlation, (W+ - W-) / (W+ + W-), from -1 to 1 and positive where the first is higher (Kerby 2014,
    Comprehensive Psychology 3:1). All None with a `reason` where nothing differs.
    """

    v: float | None
    p: float | None
    effect: float | None
    n: int
    zeros: int
    method: Literal["exact", "normal"] | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class McNemarTest:
    """McNemar's exact test: `first_only` and `second_only` units were right in one of the two only.

    `odds_ratio` is first_only / second_only, None with a `reason` where the latter is 0.
    """

    first_only: int
    second_only: int
    p: float
    odds_ratio: float | None
    reason: str | None = None


def wilcoxon_signed_rank(first: Sequence[float] | Values, second: Sequence[float] | Values) -> SignedRankTest:
    """Compare (units) scores of two models by the conventions of R's `wilcox.test(paired = TRUE)`.

    Zero differences are dropped (Wilcoxon 1945; Pratt 1959 would rank them). With fewer than 50 left and
    neither zeros nor ties the distribution is exact, else normal with the variance corrected for ties and a
    continuity correction of 1/2. Scores are decimals in floats, where |2.4 - 1.6| is not |1.8 - 1.0|: within
    1e-9 of the largest score, sizes of differences count as equal. Raises ValueError for lengths that
    differ and for scores that are not finite.
    """
    one, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if one.ndim != 1 or one.shape != other.shape:
        raise ValueError(f"paired scores have one length, not the shapes {one.shape} and {other.shape}")
    if not (np.isfinite(one).all() and np.isfinite(other).all()):
        raise ValueError("a score is not finite; leave its unit out of both, or give it the worst value")
    same = SAME_DIFFERENCE * max(np.abs(one).max(initial=0.0), np.abs(other).max(initial=0.0))
    differences = one - other
    differences = differences[np.abs(differences) > same]
    n, zeros = len(differences), len(one) - len(differences)
    if n == 0:
        reason = "no units" if zeros == 0 else "no unit differs"
        return SignedRankTest(None, None, None, 0, zeros, None, reason)
    ranks, ties = _ranks(np.abs(differences), same)
    v, total = float(ranks[differences > 0].sum()), n * (n + 1) / 2
    exact = n < EXACT_BELOW and zeros == 0 and len(ties) == n
    p = _exact_p(round(v), n) if exact else _normal_p(v, n, ties)
    effect = 2 * v / total - 1
    return SignedRankTest(v, p, effect, n, zeros, "exact" if exact else "normal")


def mcnemar_exact(first_only: int, second_only: int) -> McNemarTest:
    """Compare two models' right answers on the same units by those that only one of them got right.

    The p is that of a binomial test of them at 1/2, min(1, 2 P(X <= the smaller)), as in R's `binom.test`.
    Without any the smaller is 0 of 0, whose chance is 1: p is 1, so that such a pair stays in the family
    of a correction for many tests (R's binom.test refuses 0 of 0; its packages Exact and contingencytables
    say 1 too). Raises ValueError for a negative count.
    """
    if first_only < 0 or second_only < 0:
        raise ValueError(f"counts are at least 0, not {first_only} and {second_only}")
    p = _binomial_half_p(min(first_only, second_only), first_only + second_only)
    if second_only:
        return McNemarTest(first_only, second_only, p, first_only / second_only)
    reason = "no unit is right in the second only, so that the odds ratio has no denominator"
    if not first_only:
        reason = "both are right on the same units, so that the odds ratio is 0/0"
    return McNemarTest(first_only, second_only, p, None, reason)


def _ranks(sizes: Values, same: float) -> tuple[Values, NDArray[np.int64]]:
    """Return the mean ranks of sizes from 1, and how many share each; neighbours within `same` are tied."""
    order = np.argsort(sizes, kind="stable")
    group = np.concatenate([[0], np.cumsum(np.diff(sizes[order]) > same)])
    ties = np.bincount(group)
    last = np.cumsum(ties)
    ranks = np.empty(len(sizes))
    ranks[order] = (last - (ties - 1) / 2)[group]
    return ranks, ties


def _exact_p(v: int, n: int) -> float:
    """Return the two-tailed p of a rank sum by the number of subsets of 1..n with each sum."""
    ways = np.zeros(n * (n + 1) // 2 + 1, dtype=np.int64)  # up to 2**49 in all, which fits
    ways[0] = 1
    for rank in range(1, n + 1):
        ways[rank:] += ways[:-rank].copy()
    tail = ways[: v + 1] if v <= n * (n + 1) / 4 else ways[v:]
    return min(1.0, 2 * int(tail.sum()) / float(2**n))


def _normal_p(v: float, n: int, ties: NDArray[np.int64]) -> float:
    counts = ties.astype(np.float64)
    variance = n * (n + 1) * (2 * n + 1) / 24 - float((counts**3 - counts).sum()) / 48
    distance = abs(v - n * (n + 1) / 4)
    return min(1.0, 2 * normal_cdf(-max(0.0, distance - 0.5) / math.sqrt(variance)))


def _binomial_half_p(smaller: int, n: int) -> float:
    """Return min(1, 2 P(X <= smaller)) for the heads X of n coins."""
    if n == 2 * smaller:
        return 1.0
    from scipy.special import bdtr  # a quarter of a second, which only scoring should take

    return min(1.0, 2 * float(bdtr(smaller, n, 0.5)))
