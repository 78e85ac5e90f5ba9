"""Studentized intervals: by their definition, at the edges, and where labels are rare."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pytest
from known_processes import PROCESSES

from harness.benchmarks.triage.intervals import intervals
from harness.scoring.intervals import Interval
from harness.scoring.replicates import Replicates, Units, replicate
from harness.scoring.resampling import Resampling
from harness.scoring.studentized import f1_variance, share_variance, studentized_interval

Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


def made(point: float, error: float, resampled: Floats, errors: Floats, clusters: int = 9) -> Replicates:
    drawing = Resampling(resamples=len(resampled))
    columns = np.stack([resampled, errors], axis=1)
    whose = np.arange(clusters)
    jackknife = np.empty((clusters, 2))
    return Replicates(("v", "e"), np.array([point, error]), columns, jackknife, whose, whose, drawing)


def interval(*parts: object, **more: object) -> Interval | None:
    return studentized_interval(made(*parts, **more), "v", "e")  # type: ignore[arg-type]


def test_ends_are_the_value_less_the_quantiles_of_what_resamples_are_off_by() -> None:
    random = np.random.default_rng(1)
    resampled, errors = 0.35 + random.normal(0, 0.05, 1999), random.uniform(0.04, 0.06, 1999)
    found = interval(0.5, 0.045, resampled, errors)
    pivots = sorted((resampled - 0.5) / errors)
    # (1,999 + 1) * .975 = 1,950 and (1,999 + 1) * .025 = 50: order statistics themselves.
    expected = 0.5 - 0.045 * pivots[1949], 0.5 - 0.045 * pivots[49]
    assert found is not None and found.method == "bootstrap-t" and found.note is None
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-9)
    # All resamples lie low, so the interval lies high: BCa and the percentiles would have it the other way.
    assert found.low > 0.5 > np.quantile(resampled, 0.95)


def test_ends_stay_where_the_value_can_be() -> None:
    random = np.random.default_rng(2)
    found = interval(0.97, 0.05, random.normal(0.97, 0.05, 500), np.full(500, 0.05))
    assert found is not None and found.high == 1.0 and found.low is not None and 0.8 < found.low < 0.9


def test_a_factor_that_all_errors_share_cancels() -> None:
    random = np.random.default_rng(3)
    resampled, errors = random.normal(0.5, 0.05, 700), random.uniform(0.04, 0.06, 700)
    one, other = interval(0.5, 0.05, resampled, errors), interval(0.5, 0.5, resampled, 10 * errors)
    assert one is not None and other is not None
    assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=1e-8)


def test_resamples_without_value_or_error_are_left_out_and_counted() -> None:
    random = np.random.default_rng(4)
    resampled, errors = random.normal(0.5, 0.05, 400), np.full(400, 0.05)
    whole = interval(0.5, 0.05, resampled[20:], errors[20:])
    resampled[:10], errors[10:20] = math.nan, 0.0
    found = interval(0.5, 0.05, resampled, errors)
    assert found is not None and whole is not None
    assert (found.low, found.high) == (whole.low, whole.high)
    assert found.note == "undefined in 20 of 400 resamples, left out"


@pytest.mark.parametrize(
    ("point", "error", "usable"),
    [(math.nan, 0.1, 100), (0.5, 0.0, 100), (0.5, math.nan, 100), (0.5, 0.1, 50)],
)
def test_without_value_error_or_enough_resamples_there_is_none(
    point: float, error: float, usable: int
) -> None:
    errors = np.where(np.arange(100) < usable, 0.1, 0.0)
    assert interval(point, error, np.linspace(0.3, 0.6, 100), errors) is None


def test_one_cluster_and_equal_resamples_have_none() -> None:
    assert interval(0.5, 0.1, np.linspace(0.3, 0.6, 100), np.full(100, 0.1), clusters=1) is None
    assert interval(0.5, 0.1, np.full(100, 0.5), np.full(100, 0.1)) is None


def test_variances_are_those_of_poisson_counts_and_nothing_varies_where_there_is_nothing() -> None:
    random = np.random.default_rng(5)
    tp, wrong = random.poisson(300, 200_000), random.poisson(500, 200_000)
    exact = (2 * tp / (2 * tp + wrong)).var(), (tp / (tp + wrong)).var()
    found = (
        f1_variance(np.array([300.0]), np.array([500.0])),
        share_variance(np.array([300.0]), np.array([500.0])),
    )
    assert (float(found[0][0]), float(found[1][0])) == pytest.approx(exact, rel=0.02)
    zero = np.zeros(1)
    for variance in (f1_variance, share_variance):
        assert not variance(zero, zero).any()
        assert not variance(np.array([4.0]), zero).any()
        assert not variance(zero, np.array([4.0])).any()


@pytest.mark.parametrize("zero_division", ["0", "1", "skip-empty"])
def test_means_over_labels_are_studentized_and_hold_their_value(zero_division: str) -> None:
    process = PROCESSES["triage"]
    conventions: Mapping[str, str] = {"zero_division": zero_division, "case_f1_empty": "1"}
    for seed in range(5):
        units = process.draw(np.random.default_rng(seed), 246, 1)[0]
        found = intervals(units, conventions, Resampling(resamples=400))
        values = process.benchmark.metrics(units, "both", conventions)
        for path in ("fine.macro_f1", "fine.macro_recall", "coarse.macro_f1", "coarse.macro_recall"):
            one, value = found[path], values[path].value
            assert one.method == "bootstrap-t" and one.low is not None and one.high is not None
            assert value is not None and 0 <= one.low < value < one.high <= 1
    assert not any("standard error" in path for path in found)


def test_a_perfect_and_a_useless_model_have_bcas_interval_or_its_reason() -> None:
    process = PROCESSES["triage"]
    units = process.draw(np.random.default_rng(7), 300, 1)[0]
    conventions = {"zero_division": "0", "case_f1_empty": "1"}
    units.numbers[:, 0] = 1
    units.numbers[:, 2] = 0
    nothing = intervals(units, conventions, Resampling(resamples=100))["fine.macro_f1"]
    assert nothing.reason == "the same in every resample"
    units.numbers[:, 2] = units.numbers[:, 1]
    perfect = intervals(units, conventions, Resampling(resamples=100))["fine.macro_f1"]
    assert perfect.method in ("bca", "percentile")


def test_groups_and_repeats_are_drawn_together() -> None:
    process = PROCESSES["triage"]
    units = process.draw(np.random.default_rng(8), 246, 1)[0]
    summed, _ = process.sums(units)
    thrice = Units(np.tile(summed.each(), (3, 1)), np.tile(units.clusters, 3), np.repeat([1, 2, 3], 246))
    drawing = Resampling(resamples=50)

    def statistic(sums: Floats) -> Mapping[str, Floats]:
        tp, fn = sums[..., :22], sums[..., 44:66]
        positive = np.maximum(tp + fn, 1)
        return {
            "v": (tp / positive).mean(axis=-1),
            "e": np.sqrt(share_variance(tp, fn).sum(axis=-1)) / 22,
        }

    one, other = (
        studentized_interval(replicate(each, statistic, drawing), "v", "e") for each in (summed, thrice)
    )
    assert one is not None and other is not None
    assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=1e-9)
