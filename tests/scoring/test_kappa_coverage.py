"""How often intervals of kappa hold the truth: simulations of two raters and four tiers, as scores make them.

Tables are kappa parts perfect agreement and the rest chance, so that kappa is true with and without weights.
What was seen in 1,000 data sets each is in docs/metrics.md: .939 (balanced, kappa .4, 50 cases) to .996. BCa
alone held .902 and .844 (weighted) of skewed tables of 50 cases at .4, .878 (weighted) of balanced ones at
.95, and none where raters never differed.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from harness.benchmarks.rater_agreement import Item, dimension
from harness.scoring.intervals import Interval
from harness.scoring.kappa_intervals import EXACT, WIDENED, few_differences

TIERS = (0, 1, 2, 3)
KINDS = ("kappa", "weighted_kappa")
BALANCED = np.full(4, 0.25)
SKEWED = np.array([0.9, 0.05, 0.03, 0.02])
EXACT_WEIGHTS = 1 - np.eye(4)


def drawn(shares: NDArray[np.float64], kappa: float, cases: int, seed: int) -> list[Item]:
    """Return so many cases, each a tier by two raters."""
    table = kappa * np.diag(shares) + (1 - kappa) * np.outer(shares, shares)
    chosen = np.random.default_rng(seed).choice(16, cases, p=table.reshape(-1))
    return [Item(str(case), *divmod(pair, 4)) for case, pair in enumerate(chosen.tolist())]


def coverage(shares: NDArray[np.float64], kappa: float, cases: int, sets: int) -> dict[str, float]:
    """Return how often each interval holds kappa, where there is a kappa."""
    held = {kind: [] for kind in KINDS}  # type: dict[str, list[bool]]
    for seed in range(sets):
        found = dimension(drawn(shares, kappa, cases, seed), TIERS, TIERS)
        for kind in KINDS:
            one = found[kind]
            assert isinstance(one, dict)
            if one["value"] is None:
                assert one["ci"] is None and "0/0" in str(one["reason"])
                continue
            assert isinstance(one["ci"], list), "where there is a kappa there is an interval"
            low, high = one["ci"]
            assert isinstance(low, float) and isinstance(high, float) and low < high
            held[kind].append(low <= kappa <= high)
    return {kind: float(np.mean(of_kind)) for kind, of_kind in held.items()}


@pytest.mark.slow
@pytest.mark.parametrize("cases", [50, 200])
@pytest.mark.parametrize("kappa", [0.4, 0.75, 0.95])
@pytest.mark.parametrize("shares", [BALANCED, SKEWED], ids=["balanced", "skewed"])
def test_intervals_of_kappa_hold_the_truth(shares: NDArray[np.float64], kappa: float, cases: int) -> None:
    found = coverage(shares, kappa, cases, 300)
    assert min(found.values()) >= 0.92, found


def test_raters_who_never_differ_have_a_lower_bound() -> None:
    # 1 - (1 - (.05 / 2) ** (1 / 50)) / .75, by hand: no difference in 50 cases, chance agrees in a quarter.
    items = [Item(str(case), case % 4, case % 4) for case in range(52)]
    found = dimension(items, TIERS, TIERS)
    low = 1 - (1 - 0.025 ** (1 / 52)) / 0.75
    for kind in KINDS:
        one = found[kind]
        assert isinstance(one, dict) and one["value"] == 1 and one["ci_method"] == EXACT
        assert one["ci"] == pytest.approx([low, 1.0], abs=1e-9)
    # Five answers of a patient are no five witnesses.
    grouped = [Item(str(case // 5), item.first, item.second) for case, item in enumerate(items)]
    one = dimension(grouped, TIERS, TIERS)["kappa"]
    assert isinstance(one, dict)
    assert one["ci"] == pytest.approx([1 - (1 - 0.025 ** (1 / 11)) / 0.75, 1.0], abs=1e-9)


def test_one_label_has_no_kappa_and_no_interval() -> None:
    found = dimension([Item(str(case), 0, 0) for case in range(50)], TIERS, TIERS)
    for kind in KINDS:
        one = found[kind]
        assert isinstance(one, dict) and one["value"] is None and one["ci"] is None
        assert "0/0" in str(one["reason"])


def test_few_differences_widen_an_interval_and_many_leave_it_alone() -> None:
    table = np.diag([20, 10, 10, 8])
    table[0, 1] = 2
    narrow = Interval(0.93, 0.99, "bca")
    found = few_differences(narrow, table, EXACT_WEIGHTS, 50, 2)
    # By scipy.stats.binomtest(2, 50).proportion_ci(method="exact"), and 1 - chance of .7372.
    by_chance = 1 - (22 * 20 + 10 * 12 + 100 + 64) / 2500
    assert (found.low, found.high) == pytest.approx(
        (1 - 0.13713760 / by_chance, 1 - 0.00488147 / by_chance), abs=1e-7
    )
    assert found.note == WIDENED and found.method == "bca"
    assert few_differences(narrow, table, EXACT_WEIGHTS, 50, 10) is narrow
    wide = Interval(0.1, 1.0, "bca")
    assert few_differences(wide, table, EXACT_WEIGHTS, 50, 2) is wide
