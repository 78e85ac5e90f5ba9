"""All of `harness.scoring.statistics` on other shapes than its own tests', by R, scipy and statsmodels.

Tolerances: p values and statistics 1e-9 against R, scipy and scikit-learn; Clopper-Pearson 1e-9.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from r_results import r_results
from scipy.stats import binomtest, wilcoxon
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import proportions_ztest

from harness.scoring.statistics import (
    benjamini_hochberg,
    clopper_pearson,
    cohen_kappa,
    holm,
    mcnemar_exact,
    rank_stability,
    two_proportion_z,
    wilcoxon_signed_rank,
)

WEIGHTED = [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0, 1.2, 1.6, 1.7999999999999998, 2.0, 2.4, 3.0]
"""Scores of three tiers by five weights, as floats make them."""


def _pairs() -> dict[str, tuple[list[float], list[float]]]:
    """Return pairs of scores around R's border of 50, with ties, zeros, both and neither."""
    found: dict[str, tuple[list[float], list[float]]] = {}
    for n in (1, 2, 3, 5, 6, 9, 48, 49, 50, 51, 52, 60, 200, 720):
        dice = random.Random(n)
        found[f"plain{n}"] = [dice.random() for _ in range(n)], [dice.random() for _ in range(n)]
        tied = [dice.choice((1.0, 2.0, 3.0)) * dice.choice((-1, 1)) for _ in range(n)]
        found[f"tied{n}"] = tied, [0.0] * n
        zeros = [dice.random() if k % 5 else 0.5 for k in range(n)]
        found[f"zeros{n}"] = zeros, [dice.random() if k % 5 else 0.5 for k in range(n)]
        found[f"scores{n}"] = dice.choices(WEIGHTED, k=n), dice.choices(WEIGHTED, k=n)
        found[f"onesided{n}"] = [float(k + 1) for k in range(n)], [0.0] * n
    # 60 pairs of which 49 (50) differ: R counts what is left after the zeros, and then takes the normal form.
    for left in (49, 50):
        dice = random.Random(left)
        first = [dice.random() for _ in range(left)] + [1.0] * (60 - left)
        found[f"left{left}"] = first, [dice.random() for _ in range(left)] + [1.0] * (60 - left)
    return found


def test_wilcoxon_is_rs_at_every_border(tmp_path: Path) -> None:
    pairs = _pairs()
    data = {}
    for name, (first, second) in pairs.items():
        # R is given differences in whole numbers of 1e-9, so that floats break no ties there either.
        data[name] = [float(round((a - b) * 1e9)) for a, b in zip(first, second, strict=True)]
    script = "\n".join(
        f"d <- {name}; if (any(d != 0)) {{ w <- suppressWarnings(wilcox.test(d)); "
        f'give("{name}", c(w$statistic, w$p.value)) }}'
        for name in data
    )
    told = r_results(tmp_path, script, data)
    assert len(told) > 60
    for name, (first, second) in pairs.items():
        found = wilcoxon_signed_rank(first, second)
        if name not in told:
            assert (found.v, found.p) == (None, None) and found.reason, name
            continue
        assert found.v == pytest.approx(told[name][0], abs=1e-9), name
        # R's p of one undecided pair is NaN where nothing varies.
        assert found.p == pytest.approx(told[name][1], rel=1e-9, abs=1e-12, nan_ok=True), (name, found)


def test_wilcoxon_is_scipys_without_ties() -> None:
    for n in (3, 10, 49, 50, 51, 400):
        dice = random.Random(n)
        first, second = ([dice.random() for _ in range(n)] for _ in range(2))
        how = {"method": "exact"} if n < 50 else {"method": "asymptotic", "correction": True}
        told = wilcoxon(np.subtract(first, second), **how)
        assert wilcoxon_signed_rank(first, second).p == pytest.approx(told.pvalue, rel=1e-9), n


FAMILIES: dict[str, list[float | None]] = {
    "one": [0.03],
    "ties": [0.01, 0.01, 0.02, 0.02, 0.02, 0.5],
    "ends": [0.0, 1.0, 0.0, 1.0, 0.05],
    "missing": [None, 0.04, None, 0.01, 0.03, None],
    "many": [random.Random(3).random() ** 4 for _ in range(1000)],
    "ones": [1.0] * 7,
    "tiny": [1e-300, 1e-200, 0.049999999999999996, 0.05],
}


def test_corrections_are_rs(tmp_path: Path) -> None:
    data = {name: [p for p in family if p is not None] for name, family in FAMILIES.items()}
    lines = [f'give("{how}_{name}", p.adjust({name}, "{how}"))' for name in data for how in ("BH", "holm")]
    told = r_results(tmp_path, "\n".join(lines), data)
    for name, family in FAMILIES.items():
        for how, correct in (("BH", benjamini_hochberg), ("holm", holm)):
            found = correct(family)
            there = [p for p in found.adjusted if p is not None]
            assert there == pytest.approx(told[f"{how}_{name}"], rel=1e-12, abs=1e-15), (name, how)
            assert [p is None for p in family] == [p is None for p in found.adjusted]
            assert [r for r in found.rejected if r is not None] == [p <= 0.05 for p in there]


def test_a_family_of_missing_values_alone_stays_missing() -> None:
    for correct in (benjamini_hochberg, holm):
        for family in ([], [None, None]):
            found = correct(family)
            assert found.adjusted == (None,) * len(family) and found.tests == 0


def test_mcnemar_of_large_and_no_counts() -> None:
    for first, second in ((0, 1), (5, 5), (1, 0), (10, 30), (4000, 4210), (0, 2000), (100_000, 100_500)):
        told = mcnemar([[0, first], [second, 0]], exact=True).pvalue
        assert mcnemar_exact(first, second).p == pytest.approx(min(1.0, told), rel=1e-9), (first, second)
    assert mcnemar_exact(0, 0).p == 1.0


def test_two_shares_at_their_ends() -> None:
    for a, m, b, n in (
        (0, 20, 5, 20),
        (20, 20, 5, 20),
        (164, 360, 31, 360),
        (1, 1, 0, 1),
        (50_000, 100_000, 50_300, 100_000),
    ):
        z, p = proportions_ztest([a, b], [m, n])
        found = two_proportion_z(a, m, b, n)
        assert (found.z, found.p) == (pytest.approx(z, rel=1e-9), pytest.approx(p, rel=1e-9)), (a, m, b, n)
    for a, m, b, n in ((0, 20, 0, 20), (20, 20, 20, 20), (0, 0, 5, 20), (0, 0, 0, 0)):
        found = two_proportion_z(a, m, b, n)
        assert (found.z, found.p) == (None, None) and found.reason


def test_exact_intervals_at_every_count() -> None:
    for n in (1, 2, 7, 360, 100_000):
        for k in sorted({0, 1, n // 3, n - 1, n} & set(range(n + 1))):
            for level in (0.9, 0.95, 0.999):
                told = binomtest(k, n).proportion_ci(level, "exact")
                found = clopper_pearson(k, n, level)
                assert (found.low, found.high) == pytest.approx((told.low, told.high), abs=1.1e-9), (k, n)


@pytest.mark.parametrize("labels", [2, 3, 5, 9])
def test_kappa_with_labels_that_one_rater_never_uses(labels: int) -> None:
    dice = random.Random(labels)
    first = dice.choices(range(labels), k=500)
    second = [one if dice.random() < 0.6 else dice.randrange(max(1, labels - 1)) for one in first]
    second = [min(one, labels - 2) for one in second]
    told = cohen_kappa_score(first, second, labels=list(range(labels)))
    if labels == 2:
        # One rater says 0 alone: kappa is 0, which is defined.
        assert told == pytest.approx(0.0, abs=1e-12)
    found = cohen_kappa(first, second, [*range(labels), "unused"])
    assert found.kappa == pytest.approx(told, abs=1e-12)
    assert found.agreement == sum(a == b for a, b in zip(first, second, strict=True)) / 500


def test_kappas_error_is_that_of_its_resamples() -> None:
    """Fleiss, Cohen and Everitt's error against the spread of 4,000 bootstrap kappas, within 5 %."""
    dice = np.random.default_rng(4)
    first = dice.integers(0, 3, 400)
    second = np.where(dice.random(400) < 0.6, first, dice.integers(0, 3, 400))
    drawn = dice.integers(0, 400, (4000, 400))
    table = (
        np.stack([first[drawn] * 3 + second[drawn] == k for k in range(9)], axis=-1)
        .mean(axis=1)
        .reshape(-1, 3, 3)
    )
    raw = np.einsum("kii->k", table)
    luck = (table.sum(axis=2) * table.sum(axis=1)).sum(axis=1)
    spread = ((raw - luck) / (1 - luck)).std()
    found = cohen_kappa(first.tolist(), second.tolist(), [0, 1, 2])
    assert found.standard_error == pytest.approx(spread, rel=0.05)


def test_ranks_of_tied_models_are_counted_one_by_one() -> None:
    dice = np.random.default_rng(6)
    values = {name: dice.integers(0, 4, 501) / 3 for name in "abcde"}
    values["b"] = values["a"] + 1e-16
    values["e"] = np.where(dice.random(501) < 0.1, np.nan, values["e"])
    used = [k for k in range(501) if not np.isnan(values["e"][k])]
    found = rank_stability(values)
    for name, own in values.items():
        ranks = [1 + sum(other[k] > own[k] + 1e-9 for other in values.values()) for k in used]
        counts = Counter(ranks)
        assert found[name].shares == pytest.approx(
            [counts[rank] / len(used) for rank in range(1, 6)], abs=1e-12
        )
        assert found[name].first == pytest.approx(counts[1] / len(used), abs=1e-12)
        assert found[name].used == len(used)
