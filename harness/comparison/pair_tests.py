"""Two contenders by one metric: the difference, its interval, the p of the right test, how large it is.

2,000 resamples count no p below .001, and a correction for 528 pairs wants one of .0001: counted alone, no
difference of many models could ever be told from noise. So where no resample lies beyond 0, p is that of
Student's t of the difference over the SD of its resamples (times sqrt(c / (c - 1)), with c - 1 degrees of
freedom for c clusters: for a mean over cases, the paired t test), at most .001 and at least 2 / 2**c.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from harness.comparison.measuring import Measured
from harness.comparison.result import Effect, Test
from harness.scoring.bootstrap import PairedDifference, percentile_differences
from harness.scoring.intervals import CONSTANT
from harness.scoring.paired_tests import mcnemar_exact, wilcoxon_signed_rank
from harness.scoring.resampling import Values

FEW_DIFFER = 10
"""Below so many cases in which two differ, a reader is told that little could have been found."""
_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class PairTest:
    """One test of the family before correction: `p` None with a `reason` where there is none.

    `direction` is the sign of what was tested, which a rank test does not share with the difference of
    means in every case.
    """

    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    direction: int
    differ: int
    effect: Effect | None
    reason: str | None
    notes: tuple[str, ...]


def choose_test(
    path: str, sides: Sequence[Measured], *, independent: bool, wilcoxon: frozenset[str]
) -> tuple[Test, str]:
    """Return the test for a metric, the same for all pairs, and why it is that one.

    Those without a value of it, who are not compared, have no say.
    """
    if not independent:
        return "bootstrap", "cases come in groups or have several units, which are drawn together"
    known = [side for side in sides if side.values[path].reason is None]
    if not known:
        return "bootstrap", "nobody has a value"
    if not all(path in side.by_unit for side in known):
        return "bootstrap", "no case has a value of its own, of which it is the mean"
    if all(np.isin(side.by_unit[path], (0.0, 1.0)).all() for side in known):
        return "mcnemar", "each case counts as 1 or 0, independent of the others"
    if path in wilcoxon:
        return "wilcoxon", "the paper's test of this score"
    return "bootstrap", "the mean of values that each case has by itself"


def pair_tests(
    first: Measured, second: Measured, cases: NDArray[np.int64], tests: Mapping[str, Test]
) -> dict[str, PairTest]:
    """Return path -> the test of first against second. `cases` (units) says which units are of one case."""
    drawn = percentile_differences(first.replicates, second.replicates)
    differ = int(np.count_nonzero(first.answers != second.answers))
    found = {}
    for path, test in tests.items():
        reason = first.values[path].reason or second.values[path].reason
        if reason is not None:
            found[path] = PairTest(None, None, None, None, 0, differ, None, reason, ())
        else:
            draws = first.replicates.of(path) - second.replicates.of(path)
            one = replace(drawn[path], p=_p(drawn[path], draws, len(first.replicates.clusters)))
            found[path] = _drawn(one, differ)
            if path in first.by_unit and path in second.by_unit:
                found[path] = _by_case(found[path], first.by_unit[path], second.by_unit[path], cases, test)
    return found


def _drawn(drawn: PairedDifference, differ: int) -> PairTest:
    p, reason = drawn.p, drawn.reason
    if p is None and reason == CONSTANT:
        p, reason = 1.0, None  # they differ in no resample: such a pair stays in the family
    return PairTest(
        drawn.difference,
        drawn.percentile.low,
        drawn.percentile.high,
        p,
        _sign(drawn.difference),
        differ,
        None,
        reason,
        _notes(drawn),
    )


def _p(drawn: PairedDifference, draws: Values, clusters: int) -> float | None:
    """Return the p of the bootstrap, also beyond what its draws can count (see the module)."""
    known = draws[np.isfinite(draws)]
    least = 2 / (len(known) + 1)
    if drawn.p is None or drawn.difference is None or drawn.p > least * (1 + _SAME):
        return drawn.p
    from scipy.special import stdtr  # a quarter of a second, which only scoring should take

    spread = float(known.std(ddof=1)) * np.sqrt(clusters / (clusters - 1))
    distance = abs(drawn.difference)
    beyond = 2 * float(stdtr(clusters - 1, -distance / spread)) if spread > _SAME * distance else 0.0
    return min(least, max(beyond, 2.0 ** (1 - clusters)))


def _by_case(
    found: PairTest, first: Values, second: Values, cases: NDArray[np.int64], test: Test
) -> PairTest:
    """Return the same with the effect over cases, and with the p of the test that cases are compared by."""
    one, other = _case_means(first, cases), _case_means(second, cases)
    ranked = wilcoxon_signed_rank(one, other)
    effect = Effect(d_z=_d_z(one - other), rank_biserial=ranked.effect)
    p, direction = found.p, found.direction
    if test == "mcnemar":
        a_only, b_only = int((one > other).sum()), int((one < other).sum())
        counts = mcnemar_exact(a_only, b_only)
        effect = replace(effect, a_only=a_only, b_only=b_only, odds_ratio=counts.odds_ratio)
        p, direction = counts.p, _sign(a_only - b_only)
    elif test == "wilcoxon":
        p, direction = (1.0 if ranked.p is None and ranked.zeros else ranked.p), _sign(ranked.effect)
    reason = found.reason if p is None else None
    return replace(found, p=p, direction=direction, differ=ranked.n, effect=effect, reason=reason)


def _notes(drawn: PairedDifference) -> tuple[str, ...]:
    interval = drawn.percentile
    why = f"no interval: {interval.reason}" if interval.low is None and interval.reason else interval.note
    return () if why is None else (why,)


def _case_means(values: Values, cases: NDArray[np.int64]) -> Values:
    """Return the mean of each case's units, by the number of the case."""
    return np.bincount(cases, weights=values) / np.bincount(cases)


def _d_z(differences: Values) -> float | None:
    if len(differences) < 2:
        return None
    spread = float(differences.std(ddof=1))
    largest = max(1.0, float(np.abs(differences).max()))
    return None if spread <= _SAME * largest else float(differences.mean()) / spread


def _sign(value: float | None) -> int:
    return 0 if value is None or abs(value) <= _SAME else 1 if value > 0 else -1
