"""The paired bootstrap and the stability of ranks, on draws worked out by hand."""

from __future__ import annotations

import doctest
import math
from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from harness.offline.score_ranking import places
from harness.scoring import bootstrap
from harness.scoring.statistics import (
    Replicates,
    Resampling,
    Units,
    intervals_of,
    paired_bootstrap,
    paired_differences,
    rank_stability,
    replicate,
    sum_intervals,
)

Floats = NDArray[np.float64]


def mean(sums: Floats) -> Mapping[str, Floats]:
    return {"mean": sums[..., 0] / sums[..., 1]}


def scored(values: Floats | list[float], clusters: object = None) -> Units:
    column = np.asarray(values, dtype=float)
    whose = np.arange(len(column)) if clusters is None else np.asarray(clusters)
    return Units.of(np.stack([column, np.ones(len(column))], axis=1), whose)


def two_models(seed: int, units: int = 120) -> tuple[Floats, Floats]:
    random = np.random.default_rng(seed)
    first = random.random(units)
    return first, np.clip(first + random.normal(0.02, 0.2, units), 0, 1)


def test_a_paired_difference_is_the_mean_of_differences_by_the_same_draws() -> None:
    first, second = two_models(1)
    drawing = Resampling()
    found = paired_bootstrap(scored(first), scored(second), mean, drawing)["mean"]
    alone = intervals_of(replicate(scored(first - second), mean, drawing))["mean"]
    assert found.difference == pytest.approx((first - second).mean(), abs=1e-12)
    assert found.interval == alone
    draws = drawing.counts(120).astype(float) @ (first - second) / 120
    tail = min(np.sum(draws <= 0), np.sum(draws >= 0))
    assert found.p == pytest.approx(2 * (tail + 1) / 2001, abs=1e-15)
    ordered = np.sort(draws)
    assert found.percentile.method == "percentile"
    assert found.percentile.low is not None
    assert ordered[49] <= found.percentile.low + 1e-9 and found.percentile.low <= ordered[50] + 1e-9


def test_the_other_way_round_the_difference_changes_its_sign_only() -> None:
    first, second = two_models(2)
    one = paired_bootstrap(scored(first), scored(second), mean, Resampling())["mean"]
    other = paired_bootstrap(scored(second), scored(first), mean, Resampling())["mean"]
    assert one.p == other.p
    assert one.difference is not None and other.difference == -one.difference
    assert one.interval.low is not None and other.interval.high is not None
    assert one.interval.low == pytest.approx(-other.interval.high, abs=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_p_and_the_percentile_interval_agree(seed: int) -> None:
    random = np.random.default_rng(seed)
    first = random.random(100)
    found = paired_bootstrap(
        scored(first), scored(first + random.normal(0.04, 0.2, 100)), mean, Resampling(seed=seed)
    )["mean"]
    assert found.p is not None and found.percentile.low is not None and found.percentile.high is not None
    assert (found.p <= 0.05) == (found.percentile.low > 0 or found.percentile.high < 0)


def test_a_resample_without_a_difference_counts_in_both_tails() -> None:
    # Right or wrong: 5 cases for the first only, 2 for the second only; many resamples draw as many of each.
    first, second = np.zeros(40), np.zeros(40)
    first[:5], second[5:7] = 1, 1
    found = paired_bootstrap(scored(first), scored(second), mean, Resampling())["mean"]
    ahead = Resampling().counts(40).astype(int) @ (first - second).astype(int)
    assert np.sum(ahead == 0) > 100
    tail = min(np.sum(ahead <= 0), np.sum(ahead >= 0))
    assert found.p == pytest.approx(2 * (tail + 1) / 2001, abs=1e-15)


def test_equal_models_differ_in_no_resample() -> None:
    first, _ = two_models(3)
    found = paired_bootstrap(scored(first), scored(first), mean, Resampling())["mean"]
    assert (found.difference, found.p, found.reason) == (0, None, "the same in every resample")


def test_equal_models_but_for_rounding_differ_in_no_resample() -> None:
    found = paired_bootstrap(
        scored([0.1 + 0.2, 0.6 * 3, 0.5] * 20), scored([0.3, 1.8, 0.5] * 20), mean, Resampling()
    )["mean"]
    assert (found.p, found.reason) == (None, "the same in every resample")


def test_a_constant_difference_has_a_p_and_no_interval() -> None:
    first, _ = two_models(4, 30)
    found = paired_bootstrap(scored(first + 1), scored(first), mean, Resampling())["mean"]
    assert found.difference == pytest.approx(1)
    assert found.interval.reason == found.percentile.reason == "the same in every resample"
    assert found.p == pytest.approx(2 / 2001)


@pytest.mark.parametrize(("clusters", "p"), [(2, 0.5), (3, 0.25), (5, 0.0625), (10, 1 / 512), (11, 2 / 2001)])
def test_few_clusters_never_give_a_smaller_p_than_their_signs_can(clusters: int, p: float) -> None:
    first = np.linspace(1, 2, clusters)
    found = paired_bootstrap(scored(first), scored(np.zeros(clusters)), mean, Resampling())["mean"]
    assert found.p == pytest.approx(p)


def test_one_cluster_has_no_p() -> None:
    found = paired_bootstrap(scored([1.0, 0.0], [1, 1]), scored([0.0, 0.0], [1, 1]), mean, Resampling())[
        "mean"
    ]
    assert (found.difference, found.p, found.reason) == (0.5, None, "one cluster: nothing to resample")


def test_an_undefined_value_has_no_difference() -> None:
    none = Units.of(np.zeros((5, 2)), np.arange(5))
    found = paired_bootstrap(scored([1.0, 0, 0, 1, 1]), none, mean, Resampling())["mean"]
    assert (found.difference, found.p) == (None, None)
    assert found.reason == "one of the two values is undefined"


def test_models_on_other_clusters_are_refused() -> None:
    with pytest.raises(ValueError, match="on the same clusters: of 3 and 3, 2 are in one only"):
        paired_bootstrap(scored([1.0, 0, 1], [1, 2, 3]), scored([1.0, 0, 1], [1, 2, 4]), mean, Resampling())
    with pytest.raises(ValueError, match="on the same clusters"):
        paired_bootstrap(scored([1.0, 0, 1]), scored([1.0, 0]), mean, Resampling())


def test_other_draws_or_values_are_refused() -> None:
    units = scored([1.0, 0, 1])
    one = replicate(units, mean, Resampling(resamples=9))
    with pytest.raises(ValueError, match="same draws"):
        paired_differences(one, replicate(units, mean, Resampling(seed=1, resamples=9)))
    with pytest.raises(ValueError, match="same values"):
        paired_differences(one, replicate(units, lambda sums: {"sum": sums[..., 0]}, Resampling(resamples=9)))


def test_models_of_unequal_repeats_are_compared_by_their_means() -> None:
    first, second = two_models(5, 40)
    thrice = Units.of(
        np.stack([np.tile(first, 3), np.ones(120)], axis=1),
        np.tile(np.arange(40), 3),
        np.repeat([1, 2, 3], 40),
    )
    one = paired_bootstrap(thrice, scored(second), mean, Resampling())["mean"]
    other = paired_bootstrap(scored(first), scored(second), mean, Resampling())["mean"]
    assert one.p == other.p
    assert one.difference == pytest.approx(other.difference, abs=1e-12)


def test_ranks_are_counted_by_hand() -> None:
    found = rank_stability(
        {
            "a": np.array([0.9, 0.8, 0.7, 0.5]),
            "b": np.array([0.8, 0.9, 0.7, 0.4]),
            "c": np.array([0.1, 0.1, 0.1, 0.6]),
        }
    )
    # Resample by resample: abc, bac, a = b before c, cab.
    assert found["a"].shares == (0.5, 0.5, 0.0)
    assert found["b"].shares == (0.5, 0.25, 0.25)
    assert found["c"].shares == (0.25, 0.0, 0.75)
    assert [found[name].first for name in "abc"] == [0.5, 0.5, 0.25]
    assert [(found[name].low, found[name].high) for name in "abc"] == [(1, 2), (1, 3), (1, 3)]


def test_ranks_are_those_of_the_ranking() -> None:
    random = np.random.default_rng(1)
    values = {f"m{index}": random.integers(0, 4, 200) / 3 for index in range(6)}
    found = rank_stability(values)
    counts = {name: [0] * 6 for name in values}
    for resample in range(200):
        for name, rank in places({name: float(one[resample]) for name, one in values.items()}).items():
            assert rank.place is not None
            counts[name][rank.place - 1] += 1
    assert {name: one.shares for name, one in found.items()} == {
        name: tuple(count / 200 for count in found_counts) for name, found_counts in counts.items()
    }


def test_the_range_of_a_rank_leaves_two_and_a_half_percent_on_each_side() -> None:
    # 25 of 1,000 at rank 1 are just a tail, and 26 no more: those are inside.
    for wins, low in ((25, 2), (26, 1)):
        best = np.where(np.arange(1000) < wins, 2.0, 0.5)
        found = rank_stability({"a": best, "b": np.ones(1000)})
        assert (found["a"].low, found["a"].high) == (low, 2)
        assert (found["b"].low, found["b"].high) == (1, 3 - low)


def test_rounding_breaks_no_tie_between_models() -> None:
    found = rank_stability({"a": np.array([0.6 * 3] * 5), "b": np.array([1.8] * 5)})
    assert found["a"].shares == found["b"].shares == (1.0, 0.0)


def test_a_resample_in_which_a_model_has_no_value_ranks_nobody() -> None:
    found = rank_stability({"a": np.array([1.0, math.nan, 3.0]), "b": np.array([2.0, 0.0, 1.0])})
    assert (found["a"].shares, found["a"].used, found["a"].resamples) == ((0.5, 0.5), 2, 3)
    nowhere = rank_stability({"a": np.array([math.nan]), "b": np.array([1.0])})["b"]
    assert (nowhere.shares, nowhere.first, nowhere.low, nowhere.used) == ((), None, None, 0)
    assert nowhere.reason == "in no resample does every model have a value"


def test_models_of_unequal_resamples_are_refused_and_none_are_none() -> None:
    with pytest.raises(ValueError, match="same resamples"):
        rank_stability({"a": np.ones(3), "b": np.ones(4)})
    assert rank_stability({}) == {}
    assert rank_stability({"a": np.ones(3)})["a"].shares == (1.0,)


def test_the_shared_draws_keep_the_pairing_of_models() -> None:
    # The second model is the first with one case less right: behind it in every resample that draws the
    # case, level in the others, and never ahead, which independent draws would make it.
    first = np.random.default_rng(9).random(60).round(3)
    second = first.copy()
    second[7] -= 0.5
    drawing = Resampling()
    values = {
        name: replicate(scored(one), mean, drawing).of("mean") for name, one in (("a", first), ("b", second))
    }
    found = rank_stability(values)
    drawn = float((drawing.counts(60)[:, 7] > 0).mean())
    assert found["a"].shares == (1.0, 0.0)
    assert found["b"].shares == pytest.approx((1 - drawn, drawn))
    assert isinstance(replicate(scored(first), mean, drawing), Replicates)


def test_the_examples_of_the_documentation_say_what_they_print() -> None:
    for function, lines in ((sum_intervals, 2), (paired_bootstrap, 3)):
        [found] = doctest.DocTestFinder(recurse=False).find(function, globs=dict(vars(bootstrap)))
        assert len(found.examples) == lines
        assert doctest.DocTestRunner().run(found).failed == 0
