"""Bootstrap intervals, against R's boot and scipy."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pytest
import scipy.stats
from numpy.typing import NDArray
from r_results import r_results

from harness.scoring.statistics import (
    Interval,
    Resampling,
    Units,
    bca_interval,
    bca_intervals,
    intervals_of,
    mean_interval,
    replicate,
    sum_intervals,
)

Floats = NDArray[np.float64]
SEEDS = 30


def rank_scores() -> Floats:
    """360 scores on RadM-Bench's scale of 0 to 3: the largest of a weight 1, .8 ... times a grade 0 to 3."""
    random = np.random.default_rng(360)
    weights = random.choice([1.0, 0.8, 0.6, 0.4, 0.2], 360)
    return weights * random.choice([0, 0, 0, 1, 2, 3], 360)


def paired_columns() -> tuple[Floats, Floats]:
    random = np.random.default_rng(11)
    x = random.lognormal(0, 1, 120)
    return x, x + random.lognormal(0.2, 0.8, 120)


def ratio_of_means(sums: Floats) -> Mapping[str, Floats]:
    return {"ratio": sums[..., 0] / sums[..., 1]}


R_SCRIPT = """
library(boot)
ends <- function(seed, data, statistic, influence) {
  set.seed(seed)
  boot.ci(boot(data, statistic, R = 2000), type = "bca", L = influence)$bca[4:5]
}
average <- function(d, i) mean(d[i])
quotient <- function(d, i) sum(d[i, 1]) / sum(d[i, 2])
of_mean <- empinf(data = scores, statistic = average, stype = "i", type = "jack")
of_ratio <- empinf(data = cbind(x, y), statistic = quotient, stype = "i", type = "jack")
for (seed in 1:30) {
  give(paste0("mean", seed), ends(seed, scores, average, of_mean))
  give(paste0("ratio", seed), ends(seed, cbind(x, y), quotient, of_ratio))
}
give("same_bca", boot:::bca.ci(NULL, 0.95, t = resampled, t0 = point, L = -jackknife + mean(jackknife))[4:5])
give("same_90", boot:::bca.ci(NULL, 0.90, t = resampled, t0 = point, L = -jackknife + mean(jackknife))[4:5])
"""


@pytest.fixture(scope="module")
def from_r(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[float]]:
    x, y = paired_columns()
    found = replicate(Units.of(np.stack([x, y], axis=1), np.arange(120)), ratio_of_means, Resampling())
    data = {
        "scores": rank_scores(),
        "x": x,
        "y": y,
        "resampled": found.of("ratio"),
        "point": found.point,
        "jackknife": found.without_each[:, 0],
    }
    return r_results(tmp_path_factory.mktemp("r"), R_SCRIPT, data, ["boot"])


def ends(interval: Interval) -> tuple[float, float]:
    assert interval.low is not None and interval.high is not None, interval.reason
    return interval.low, interval.high


@pytest.mark.slow
@pytest.mark.parametrize(("name", "level"), [("same_bca", 0.95), ("same_90", 0.90)])
def test_of_the_same_resamples_r_makes_the_same_interval(
    from_r: Mapping[str, list[float]], name: str, level: float
) -> None:
    x, y = paired_columns()
    found = replicate(Units.of(np.stack([x, y], axis=1), np.arange(120)), ratio_of_means, Resampling())
    # No ties here, the only convention that differs: equal but for our rounding to 1e-9.
    assert ends(intervals_of(found, level)["ratio"]) == pytest.approx(from_r[name], abs=1e-9)


@pytest.mark.parametrize("name", ["mean", "ratio"])
def test_over_thirty_seeds_r_and_we_agree_within_monte_carlo_error(
    from_r: Mapping[str, list[float]], name: str
) -> None:
    x, y = paired_columns()
    ours = []
    for seed in range(SEEDS):
        drawing = Resampling(seed=seed)
        if name == "mean":
            interval = mean_interval(rank_scores(), resampling=drawing)
        else:
            interval = sum_intervals(np.stack([x, y], axis=1), np.arange(120), None, ratio_of_means, drawing)[
                "ratio"
            ]
        ours.append(ends(interval))
    theirs = [from_r[f"{name}{seed}"] for seed in range(1, SEEDS + 1)]
    error = np.sqrt((np.var(ours, axis=0, ddof=1) + np.var(theirs, axis=0, ddof=1)) / SEEDS)
    # Two means of 30 intervals each differ by less than 4 standard errors of that difference, which are
    # about .001 on the scale of 0 to 3.
    assert np.all(np.abs(np.mean(ours, axis=0) - np.mean(theirs, axis=0)) < 4 * error)
    assert np.all(np.std(ours, axis=0) < 0.008)


def test_scipy_and_we_agree_within_monte_carlo_error() -> None:
    scores = rank_scores()
    ours = [ends(mean_interval(scores, resampling=Resampling(seed=seed))) for seed in range(SEEDS)]
    theirs = []
    for seed in range(SEEDS):
        found = scipy.stats.bootstrap(
            (scores,), np.mean, n_resamples=2000, method="BCa", batch=100, rng=np.random.default_rng(seed)
        )
        theirs.append(tuple(found.confidence_interval))
    error = np.sqrt((np.var(ours, axis=0, ddof=1) + np.var(theirs, axis=0, ddof=1)) / SEEDS)
    assert np.all(np.abs(np.mean(ours, axis=0) - np.mean(theirs, axis=0)) < 4 * error)


def macro_f1(sums: Floats) -> Mapping[str, Floats]:
    """Sums hold tp, fp, fn of 5 labels; a label that nobody has or names counts 0."""
    tp, fp, fn = sums[..., 0:5], sums[..., 5:10], sums[..., 10:15]
    needed = 2 * tp + fp + fn
    f1 = np.where(needed > 0, 2 * tp / np.maximum(needed, 1), 0.0)
    return {"macro": f1.mean(axis=-1), "micro": 2 * tp.sum(axis=-1) / needed.sum(axis=-1)}


def labelled(random: np.random.Generator, units: int) -> Floats:
    shares = np.array([0.6, 0.4, 0.3, 0.2, 0.15])
    truth = random.random((units, 5)) < shares
    named = np.where(random.random((units, 5)) < 0.75, truth, random.random((units, 5)) < shares)
    return np.concatenate([truth & named, ~truth & named, truth & ~named], axis=1).astype(float)


def test_macro_f1_of_real_size_agrees_with_scipy() -> None:
    cells = labelled(np.random.default_rng(246), 246)

    def statistic(index: NDArray[np.int64], axis: int = -1) -> Floats:
        return macro_f1(cells[index].sum(axis=-2))["macro"]

    ours, theirs = [], []
    for seed in range(10):
        ours.append(
            ends(sum_intervals(cells, np.arange(246), None, macro_f1, Resampling(seed=seed))["macro"])
        )
        found = scipy.stats.bootstrap(
            (np.arange(246),),
            statistic,
            n_resamples=2000,
            method="BCa",
            batch=100,
            rng=np.random.default_rng(seed),
        )
        theirs.append(tuple(found.confidence_interval))
    error = np.sqrt((np.var(ours, axis=0, ddof=1) + np.var(theirs, axis=0, ddof=1)) / 10)
    # scipy interpolates on the plain scale: a quarter of the gap between order statistics, far below this.
    assert np.all(np.abs(np.mean(ours, axis=0) - np.mean(theirs, axis=0)) < 4 * error + 1e-4)


def test_clusters_are_drawn_with_all_their_units_and_repeats() -> None:
    random = np.random.default_rng(8)
    values = random.random(60)
    # Three repeats that say the same, and units of a case counted thrice, are no more evidence.
    alone = mean_interval(values)
    thrice = np.repeat(values, 3)
    assert ends(mean_interval(thrice, np.repeat(np.arange(60), 3))) == pytest.approx(ends(alone), abs=1e-9)
    assert ends(mean_interval(thrice)) != pytest.approx(ends(alone), abs=1e-2)
    summands = np.stack([thrice, np.ones(180)], axis=1)
    repeated = sum_intervals(
        summands, np.repeat(np.arange(60), 3), np.tile([1, 2, 3], 60), ratio_of_means, Resampling()
    )
    assert ends(repeated["ratio"]) == pytest.approx(ends(alone), abs=1e-9)


@pytest.mark.parametrize("constant", [0.0, 1.0, 1.2, 3.0, -7.1, 0.6 * 3])
def test_constant_scores_have_no_interval_and_say_so(constant: float) -> None:
    found = mean_interval([constant] * 37)
    assert found == Interval(None, None, "bca", "the same in every resample")


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([], "the value itself is undefined"),
        ([1.5], "one cluster: nothing to resample"),
        ([0.1 + 0.2, 0.3, 0.3], "the same in every resample"),
    ],
)
def test_degenerate_values_have_no_interval_and_a_reason(values: list[float], reason: str) -> None:
    assert mean_interval(values) == Interval(None, None, "bca", reason)


def test_all_units_in_one_cluster_have_no_interval() -> None:
    assert mean_interval([1.0, 2.0, 3.0], [7, 7, 7]).reason == "one cluster: nothing to resample"


def test_undefined_resamples_are_left_out_and_counted() -> None:
    # Two of 12 cases have positives: drawing neither leaves recall without a value.
    summands = np.zeros((12, 2))
    summands[0], summands[1], summands[2] = [3, 4], [1, 5], [2, 2]
    found = sum_intervals(summands, np.arange(12), None, ratio_of_means, Resampling())["ratio"]
    missing = int((Resampling().counts(12)[:, :3].sum(axis=1) == 0).sum())
    assert 20 < missing < 200
    assert found.note is not None
    assert found.note.startswith(f"undefined in {missing} of 2000 resamples, left out")
    assert ends(found)[0] < 6 / 11 < ends(found)[1]


def test_a_value_that_hangs_on_one_cluster_is_the_same_wherever_it_is_defined() -> None:
    summands = np.zeros((12, 2))
    summands[0] = [3, 4]
    found = sum_intervals(summands, np.arange(12), None, ratio_of_means, Resampling())["ratio"]
    assert found.reason == "the same in every resample"


def test_a_value_that_most_resamples_lack_has_no_interval() -> None:
    resampled = np.array([1.0, 2.0, 3.0, 4.0] + [math.nan] * 6)
    found = bca_interval(2.5, resampled, np.array([2.0, 2.5, 3.0]))
    assert found == Interval(None, None, "bca", "undefined in 6 of 10 resamples")


@pytest.mark.parametrize(("point", "side"), [(0.0, "above"), (11.0, "below")])
def test_resamples_on_one_side_have_no_interval(point: float, side: str) -> None:
    found = bca_interval(point, np.linspace(1, 10, 200), np.array([2.0, 2.5, 3.0]))
    assert found == Interval(None, None, "bca", f"every resample lies {side} the value")


def test_no_acceleration_falls_back_to_the_percentile_interval_by_name() -> None:
    resampled = np.linspace(0, 1, 1999)
    found = bca_interval(0.4, resampled, np.full(5, 0.4) + np.array([0, 1, -1, 1, 0]) * 1e-16)
    assert found.method == "percentile"
    assert found.note is not None and "acceleration of BCa is undefined" in found.note
    # Order statistics 50 and 1950 of 1,999, that is of 0, 1/1998, ...
    assert ends(found) == pytest.approx((49 / 1998, 1949 / 1998), abs=1e-9)


def test_an_undefined_jackknife_falls_back_too() -> None:
    found = bca_interval(0.4, np.linspace(0, 1, 1999), np.array([0.4, math.nan, 0.5]))
    assert found.method == "percentile"


def test_too_large_an_acceleration_falls_back_too() -> None:
    # One cluster of 400 decides, and a is at its most, about 1/6: the formula breaks down from z0 + z = 6 on,
    # which no interval of 95 % over 2,000 resamples comes near.
    jackknife = np.append(np.zeros(399), -1.0)
    assert bca_interval(0.98, np.linspace(0, 1, 1999), jackknife).method == "bca"
    found = bca_interval(0.98, np.linspace(0, 1, 1999), jackknife, level=0.999999)
    assert found.method == "percentile"
    assert found.note is not None and "too large" in found.note


def test_an_extreme_resample_as_an_endpoint_is_said() -> None:
    found = bca_interval(5.0, np.arange(1.0, 11.0), np.array([4.0, 5.0, 6.5]))
    assert found.note == "an extreme resample is an endpoint"
    assert ends(found)[1] == 10


def test_ties_that_rounding_broke_count_half() -> None:
    exact = np.array([1.0] * 300 + [2.0] * 400 + [3.0] * 300)
    noisy = exact + np.random.default_rng(1).normal(0, 1e-15, 1000)
    jackknife = np.array([1.9, 2.0, 2.1])
    assert bca_interval(2.0 + 2e-16, noisy, jackknife) == bca_interval(2.0, exact, jackknife)
    # 300 below and half of 400: no bias, no acceleration; R's strict count would start from z(.3).
    smooth = np.linspace(0, 4, 1999)
    assert ends(bca_interval(2.0, smooth, jackknife)) == pytest.approx(
        (4 * 49 / 1998, 4 * 1949 / 1998), abs=1e-9
    )


def test_rounding_in_the_sums_moves_no_printed_digit() -> None:
    scores = rank_scores()
    whole = np.round(scores * 5)  # the same scores in fifths, whose sums are exact
    summands = np.stack([whole, np.full(360, 5.0)], axis=1)
    exact = sum_intervals(summands, np.arange(360), None, ratio_of_means, Resampling())["ratio"]
    assert mean_interval(scores) == exact


def test_many_statistics_at_once_are_each_as_alone() -> None:
    random = np.random.default_rng(3)
    point, resampled, jackknife = random.random(6), random.random((500, 6)), random.random((40, 6))
    jackknife[:, 4] = 0.5
    resampled[:300, 5] = math.nan
    together = bca_intervals(point, resampled, jackknife)
    alone = [bca_interval(float(point[j]), resampled[:, j], jackknife[:, j]) for j in range(6)]
    assert together == alone
    assert together[4].method == "percentile" and together[5].low is None


def test_what_has_no_shape_or_level_in_common_is_refused() -> None:
    with pytest.raises(ValueError, match="disagree"):
        bca_intervals(np.ones(2), np.ones((9, 3)), np.ones((4, 2)))
    with pytest.raises(ValueError, match="level"):
        mean_interval([1.0, 2.0], level=95)
    with pytest.raises(ValueError, match="not finite"):
        mean_interval([1.0, math.nan])


def test_sums_over_case_numbers_and_over_names_draw_alike() -> None:
    values = rank_scores()
    names = [f"{number:04}" for number in range(360)]
    assert mean_interval(values, names) == mean_interval(values)
