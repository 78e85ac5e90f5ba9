"""Wilcoxon, McNemar, corrections for many tests and kappa, against R, scipy, statsmodels and scikit-learn."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from r_results import r_results
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.multitest import multipletests

from harness.scoring.statistics import (
    benjamini_hochberg,
    cohen_kappa,
    holm,
    mcnemar_exact,
    wilcoxon_signed_rank,
)

Floats = NDArray[np.float64]


def graded(seed: int, units: int) -> tuple[Floats, Floats]:
    """Two models' scores on 0 to 3, counted in fifths, which are exact: a weight in fifths times a grade."""
    random = np.random.default_rng(seed)
    first, second = (random.integers(1, 6, units) * random.integers(0, 4, units) for _ in range(2))
    return first.astype(float), second.astype(float)


def floats(fifths: Floats) -> Floats:
    """The same as a weight .2, .4 ... times a grade gives them: 0.6 * 3 is no 1.8."""
    grade = np.array([next(grade for grade in (3, 2, 1) if one % grade == 0) for one in fifths])
    return fifths / grade / 5 * grade


def continuous(seed: int, units: int) -> tuple[Floats, Floats]:
    random = np.random.default_rng(seed)
    first = random.normal(0, 1, units)
    return first, first + random.normal(0.1, 0.5, units)


WILCOXON: Mapping[str, tuple[Floats, Floats]] = {
    "fifths360": graded(1, 360),
    "fifths5000": graded(2, 5000),
    "fifths12": graded(3, 12),
    "smooth9": continuous(4, 9),
    "smooth49": continuous(5, 49),
    "smooth50": continuous(6, 50),
    "smooth5000": continuous(7, 5000),
    "one": (np.array([2.0]), np.array([1.0])),
    "two": (np.array([2.0, 5.0]), np.array([1.0, 7.0])),
    "tied": (np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 1.0, 5.0, 4.5])),
    "zero": (np.array([1.0, 2.0, 3.0, 4.0, 9.0]), np.array([1.0, 1.5, 1.0, 4.7, 5.0])),
    "all_one_way": (np.arange(2.0, 12.0) * 1.3, np.arange(1.0, 11.0)),
    "even": (np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 1.0, 4.0, 3.0])),
}
MCNEMAR = [(5, 12), (12, 5), (0, 6), (1, 1), (7, 7), (300, 412), (0, 1), (20, 90), (2000, 2100)]
P_VALUES: Mapping[str, list[float]] = {
    "plain": [0.01, 0.02, 0.03, 0.04, 0.5],
    "ties": [0.04, 0.01, 0.04, 0.01, 0.04, 1.0, 0.0],
    "one": [0.03],
    "many": np.random.default_rng(1).beta(0.3, 1, 5000).tolist(),
}

R_SCRIPT = """
for (name in sub("_x$", "", ls(pattern = "_x$"))) {
  test <- suppressWarnings(wilcox.test(get(paste0(name, "_x")), get(paste0(name, "_y")), paired = TRUE))
  give(paste0("wilcoxon_", name), c(test$statistic, test$p.value))
}
for (i in seq_along(b)) give(paste("mcnemar", b[i], c_[i], sep = "_"), binom.test(b[i], b[i] + c_[i])$p.value)
for (name in ls(pattern = "^p_")) {
  give(paste0("BH_", name), p.adjust(get(name), "BH"))
  give(paste0("holm_", name), p.adjust(get(name), "holm"))
}
gaps <- c(p_plain[1], NA, p_plain[2:3], NA, p_plain[4:5])
give("BH_gaps", p.adjust(gaps, "BH")[!is.na(gaps)])
give("holm_gaps", p.adjust(gaps, "holm")[!is.na(gaps)])
"""


@pytest.fixture(scope="module")
def from_r(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[float]]:
    data: dict[str, list[float]] = {}
    for name, (first, second) in WILCOXON.items():
        data |= {f"{name}_x": first.tolist(), f"{name}_y": second.tolist()}
    data |= {"b": [one for one, _ in MCNEMAR], "c_": [other for _, other in MCNEMAR]}
    data |= {f"p_{name}": values for name, values in P_VALUES.items()}
    return r_results(tmp_path_factory.mktemp("r"), R_SCRIPT, data)


@pytest.mark.parametrize("name", WILCOXON)
def test_wilcoxon_is_that_of_r(from_r: Mapping[str, list[float]], name: str) -> None:
    found = wilcoxon_signed_rank(*WILCOXON[name])
    v, p = from_r[f"wilcoxon_{name}"]
    assert found.v == v
    assert found.p == pytest.approx(p, rel=1e-9)


@pytest.mark.parametrize("name", WILCOXON)
def test_wilcoxon_is_scipys_with_rs_conventions(name: str) -> None:
    first, second = WILCOXON[name]
    found = wilcoxon_signed_rank(first, second)
    method = {"exact": "exact", "normal": "asymptotic"}[found.method or ""]
    theirs = scipy.stats.wilcoxon(first - second, zero_method="wilcox", correction=True, method=method)
    assert found.p == pytest.approx(theirs.pvalue, rel=1e-9)
    total = found.n * (found.n + 1) / 2
    assert found.v is not None and min(found.v, total - found.v) == theirs.statistic


def test_wilcoxon_is_exact_below_fifty_without_zeros_and_ties_only() -> None:
    methods = {name: wilcoxon_signed_rank(*pair).method for name, pair in WILCOXON.items()}
    exact = {"smooth9", "smooth49", "one", "two", "all_one_way"}
    assert {name for name, method in methods.items() if method == "exact"} == exact


@pytest.mark.parametrize("units", [12, 360, 5000])
def test_float_noise_breaks_no_ties_and_makes_no_difference_of_none(units: int) -> None:
    first, second = graded(units, units)
    clean = wilcoxon_signed_rank(first, second)
    noisy = floats(first), floats(second)
    assert np.any(noisy[0] - noisy[1] != np.round((noisy[0] - noisy[1]) * 5) / 5)
    assert wilcoxon_signed_rank(*noisy) == clean


def test_wilcoxon_counts_what_it_used_and_says_how_large_the_effect_is() -> None:
    found = wilcoxon_signed_rank([3.0, 1.0, 2.0, 2.0, 5.0], [1.0, 2.0, 2.0, 2.0, 1.0])
    # Differences 2, -1, 0, 0, 4: ranks 2, 1, 3; W+ 5, W- 1.
    assert (found.v, found.n, found.zeros, found.method) == (5.0, 3, 2, "normal")
    assert found.effect == pytest.approx(4 / 6)
    assert wilcoxon_signed_rank([1.0, 2.0], [2.0, 4.0]).effect == -1


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15)), min_size=1, max_size=80))
def test_wilcoxon_turns_round_with_its_models(pairs: list[tuple[int, int]]) -> None:
    first, second = [float(one) for one, _ in pairs], [float(other) for _, other in pairs]
    one, other = wilcoxon_signed_rank(first, second), wilcoxon_signed_rank(second, first)
    if one.reason:
        assert one == other and first == second
        return
    assert one.p == pytest.approx(other.p, rel=1e-12)
    assert one.v is not None and other.v is not None and one.v + other.v == one.n * (one.n + 1) / 2
    assert one.effect is not None and other.effect is not None
    assert one.effect == pytest.approx(-other.effect, abs=1e-12)


def test_the_exact_distribution_is_that_of_all_signs() -> None:
    differences = np.array([1.1, -2.3, 3.2, 4.7, -0.4, 6.0, 7.5])
    ranks = scipy.stats.rankdata(np.abs(differences))
    observed = ranks[differences > 0].sum()
    sums = [ranks[np.array(signs)].sum() for signs in itertools.product([False, True], repeat=7)]
    tail = min(np.mean([one <= observed for one in sums]), np.mean([one >= observed for one in sums]))
    assert wilcoxon_signed_rank(differences, np.zeros(7)).p == pytest.approx(2 * tail, abs=1e-15)


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ([], [], "no units"),
        ([1.0, 2.0], [1.0, 2.0], "no unit differs"),
        ([0.1 + 0.2, 0.6 * 3], [0.3, 1.8], "no unit differs"),
        ([0.0, 0.0], [0.0, 0.0], "no unit differs"),
    ],
)
def test_wilcoxon_of_no_differences_has_no_p_and_says_why(
    first: list[float], second: list[float], reason: str
) -> None:
    found = wilcoxon_signed_rank(first, second)
    assert (found.v, found.p, found.effect, found.method, found.reason) == (None, None, None, None, reason)
    assert (found.n, found.zeros) == (0, len(first))


def test_wilcoxon_of_unpaired_or_undefined_scores_is_refused() -> None:
    with pytest.raises(ValueError, match="one length"):
        wilcoxon_signed_rank([1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="not finite"):
        wilcoxon_signed_rank([1.0, math.nan], [1.0, 2.0])


@pytest.mark.parametrize(("b", "c"), MCNEMAR)
def test_mcnemar_is_rs_binomial_test_and_statsmodels(
    from_r: Mapping[str, list[float]], b: int, c: int
) -> None:
    found = mcnemar_exact(b, c)
    assert found.p == pytest.approx(from_r[f"mcnemar_{b}_{c}"][0], rel=1e-9)
    assert found.p == pytest.approx(mcnemar([[9, b], [c, 9]], exact=True).pvalue, rel=1e-9)
    assert found.p == pytest.approx(scipy.stats.binomtest(min(b, c), b + c, 0.5).pvalue, rel=1e-9)


def test_mcnemar_of_equal_answers_is_one_and_has_no_odds() -> None:
    found = mcnemar_exact(0, 0)
    assert (found.p, found.odds_ratio) == (1.0, None)
    assert found.reason == "both are right on the same units, so that the odds ratio is 0/0"
    assert mcnemar_exact(7, 7).p == 1


def test_mcnemar_gives_the_odds_where_there_are_any() -> None:
    assert mcnemar_exact(6, 3).odds_ratio == 2
    assert mcnemar_exact(0, 3).odds_ratio == 0
    only = mcnemar_exact(3, 0)
    assert only.odds_ratio is None and only.reason is not None and "no denominator" in only.reason
    assert only.p == 0.25
    with pytest.raises(ValueError, match="at least 0"):
        mcnemar_exact(-1, 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", P_VALUES)
def test_corrections_are_those_of_r_and_statsmodels(from_r: Mapping[str, list[float]], name: str) -> None:
    p_values = P_VALUES[name]
    for found, ours, theirs in (
        (benjamini_hochberg(p_values), "BH", "fdr_bh"),
        (holm(p_values), "holm", "holm"),
    ):
        assert found.adjusted == pytest.approx(tuple(from_r[f"{ours}_p_{name}"]), abs=1e-12)
        rejected, adjusted, *_ = multipletests(p_values, 0.05, theirs)
        assert found.adjusted == pytest.approx(tuple(adjusted), abs=1e-12)
        assert list(found.rejected) == rejected.tolist()
        assert found.tests == len(p_values)
    assert benjamini_hochberg(p_values).adjusted == pytest.approx(
        tuple(scipy.stats.false_discovery_control(p_values)), abs=1e-12
    )


def test_missing_p_values_stay_missing_and_out_of_the_number_of_tests(
    from_r: Mapping[str, list[float]],
) -> None:
    plain = P_VALUES["plain"]
    gaps = [plain[0], None, plain[1], plain[2], None, plain[3], plain[4]]
    for found, name in ((benjamini_hochberg(gaps), "BH"), (holm(gaps), "holm")):
        known = [p for p in found.adjusted if p is not None]
        assert known == pytest.approx(from_r[f"{name}_gaps"], abs=1e-12)
        assert [p is None for p in found.adjusted] == [p is None for p in gaps]
        assert [one is None for one in found.rejected] == [p is None for p in gaps]
        assert found.tests == 5


@pytest.mark.parametrize("correct", [benjamini_hochberg, holm])
def test_no_p_values_are_no_tests(correct: object) -> None:
    assert callable(correct)
    assert (correct([]).adjusted, correct([]).tests) == ((), 0)
    assert (correct([None]).adjusted, correct([None]).rejected, correct([None]).tests) == (
        (None,),
        (None,),
        0,
    )
    for wrong in ([1.2], [-0.1], [math.nan]):
        with pytest.raises(ValueError, match="between 0 and 1"):
            correct(wrong)


def test_a_p_value_exactly_at_its_bound_is_rejected() -> None:
    # The third of five at 3/5 of .05, which is adjusted to .05000000000000001.
    found = benjamini_hochberg([0.05 * 3 / 5] * 3 + [1.0, 0.9])
    assert found.adjusted[0] == pytest.approx(0.05, abs=1e-15)
    assert found.rejected == (True, True, True, False, False)
    assert holm([0.05 / 3, 0.9, 0.8]).rejected == (True, False, False)


def raters(seed: int, items: int, labels: int) -> tuple[list[int], list[int]]:
    random = np.random.default_rng(seed)
    first = random.integers(0, labels, items)
    second = np.where(random.random(items) < 0.7, first, random.integers(0, labels, items))
    return first.tolist(), second.tolist()


@pytest.mark.parametrize(("seed", "items", "labels"), [(1, 20, 2), (2, 360, 4), (3, 5000, 22), (4, 100, 2)])
def test_kappa_is_that_of_scikit_learn_and_its_error_that_of_statsmodels(
    seed: int, items: int, labels: int
) -> None:
    first, second = raters(seed, items, labels)
    found = cohen_kappa(first, second, range(labels))
    assert found.kappa == pytest.approx(cohen_kappa_score(first, second, labels=range(labels)), abs=1e-12)
    table = np.zeros((labels, labels))
    np.add.at(table, (first, second), 1)
    theirs = cohens_kappa(table)
    assert found.kappa == pytest.approx(theirs.kappa, abs=1e-12)
    assert found.standard_error == pytest.approx(theirs.std_kappa, rel=1e-9)
    assert (found.interval.low, found.interval.high) == pytest.approx(
        (theirs.kappa_low, theirs.kappa_upp), abs=1e-9
    )
    assert found.interval.method == "fleiss-cohen-everitt"
    assert found.agreement == pytest.approx(np.mean(np.array(first) == np.array(second)), abs=1e-15)
    assert found.n == items


def test_labels_that_nobody_used_change_nothing() -> None:
    few, more = cohen_kappa("aabb", "abbb", "ab"), cohen_kappa("aabb", "abbb", ["c", "b", "a", "", "d"])
    assert few.kappa == more.kappa == 0.5
    assert few.standard_error == pytest.approx(more.standard_error, rel=1e-12)


def test_kappa_of_one_label_is_null_with_its_raw_agreement() -> None:
    found = cohen_kappa(["no"] * 20, ["no"] * 20, ["no", "yes"])
    assert (found.kappa, found.agreement, found.n) == (None, 1.0, 20)
    assert found.reason == "both raters used one and the same label only, so that kappa is 0/0"
    assert found.interval.low is None and found.interval.reason == found.reason


def test_kappa_of_nothing_is_null() -> None:
    found = cohen_kappa([], [], ["no", "yes"])
    assert (found.kappa, found.agreement, found.n, found.reason) == (None, None, 0, "no items")


def test_full_agreement_has_kappa_one_and_no_interval() -> None:
    found = cohen_kappa("aabb" * 5, "aabb" * 5, "ab")
    assert found.kappa == 1
    assert found.interval.low is None
    assert found.interval.reason == "the large-sample error is 0: too few kinds of disagreement"


def test_the_interval_of_kappa_ends_at_one() -> None:
    found = cohen_kappa("aaaaabbbbb", "aaaaabbbba", "ab")
    assert found.kappa == pytest.approx(0.8)
    assert found.interval.high == 1


def test_judgements_that_do_not_match_or_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="same items"):
        cohen_kappa("ab", "a", "ab")
    with pytest.raises(ValueError, match="'c' is not among the labels"):
        cohen_kappa("ab", "ac", "ab")
    with pytest.raises(ValueError, match="twice"):
        cohen_kappa("ab", "ab", "aba")
