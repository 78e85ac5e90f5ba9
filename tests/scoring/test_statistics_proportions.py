"""Shares: exact intervals and the pooled z test, against R, scipy and statsmodels."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import scipy.stats
from r_results import r_results
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint, proportions_ztest

from harness.scoring.statistics import Interval, clopper_pearson, two_proportion_z

COUNTS = [
    (0, 20),
    (20, 20),
    (1, 1),
    (0, 1),
    (1, 7),
    (3, 8),
    (164, 360),
    (359, 360),
    (31, 360),
    (2500, 5000),
    (4999, 5000),
]
PAIRS = [
    (164, 360, 31, 360),
    (3, 20, 0, 20),
    (20, 20, 7, 20),
    (10, 20, 10, 20),
    (1, 3, 2, 5000),
    (5000, 5000, 4990, 5000),
]

R_SCRIPT = """
for (i in seq_along(k)) give(paste("binom", k[i], n[i], sep = "_"), binom.test(k[i], n[i])$conf.int)
for (i in seq_along(a)) {
  test <- suppressWarnings(prop.test(c(a[i], b[i]), c(an[i], bn[i]), correct = FALSE))
  give(paste("prop", a[i], an[i], b[i], bn[i], sep = "_"), c(test$statistic, test$p.value))
}
"""


@pytest.fixture(scope="module")
def from_r(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[float]]:
    k, n = zip(*COUNTS, strict=True)
    a, an, b, bn = zip(*PAIRS, strict=True)
    data = {"k": k, "n": n, "a": a, "an": an, "b": b, "bn": bn}
    return r_results(tmp_path_factory.mktemp("r"), R_SCRIPT, data)


@pytest.mark.parametrize(("successes", "units"), COUNTS)
def test_the_exact_interval_is_that_of_scipy_and_statsmodels(successes: int, units: int) -> None:
    found = clopper_pearson(successes, units)
    assert found.method == "clopper-pearson"
    exact = scipy.stats.binomtest(successes, units).proportion_ci(method="exact")
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=1e-9)
    beta = proportion_confint(successes, units, method="beta")
    assert (found.low, found.high) == pytest.approx(beta, abs=1e-9)
    wide = scipy.stats.binomtest(successes, units).proportion_ci(0.99, method="exact")
    assert clopper_pearson(successes, units, 0.99).low == pytest.approx(wide.low, abs=1e-9)


@pytest.mark.parametrize(("successes", "units"), COUNTS)
def test_the_exact_interval_is_that_of_r(
    from_r: Mapping[str, list[float]], successes: int, units: int
) -> None:
    found = clopper_pearson(successes, units)
    assert [found.low, found.high] == pytest.approx(from_r[f"binom_{successes}_{units}"], abs=1e-9)


def test_none_and_all_have_exact_ends() -> None:
    assert clopper_pearson(0, 20).low == 0
    assert clopper_pearson(20, 20).high == 1
    # 1 - .025 ** (1 / n), the closed form.
    assert clopper_pearson(0, 20).high == pytest.approx(1 - 0.025 ** (1 / 20), abs=1e-9)


def test_no_units_have_no_exact_interval() -> None:
    assert clopper_pearson(0, 0) == Interval(None, None, "clopper-pearson", "no units")


@pytest.mark.parametrize(("successes", "units"), [(21, 20), (-1, 20), (0, -1)])
def test_counts_that_do_not_fit_are_refused(successes: int, units: int) -> None:
    with pytest.raises(ValueError, match="do not fit"):
        clopper_pearson(successes, units)
    with pytest.raises(ValueError, match="do not fit"):
        two_proportion_z(1, 2, successes, units)


@pytest.mark.parametrize("units", [20, 100, 360])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.9])
def test_exact_intervals_cover_at_least_what_they_say(units: int, share: float) -> None:
    # No simulation: the chance of each count times whether its interval holds the share.
    covered = 0.0
    for count in range(units + 1):
        found = clopper_pearson(count, units)
        assert found.low is not None and found.high is not None
        covered += scipy.stats.binom.pmf(count, units, share) * (found.low <= share <= found.high)
    assert covered >= 0.95 - 1e-9


@pytest.mark.parametrize("pair", PAIRS)
def test_the_pooled_z_test_is_that_of_r_and_statsmodels(
    from_r: Mapping[str, list[float]], pair: tuple[int, int, int, int]
) -> None:
    found = two_proportion_z(*pair)
    assert found.z is not None and found.p is not None and found.reason is None
    squared, p = from_r["prop_" + "_".join(map(str, pair))]
    assert found.z**2 == pytest.approx(squared, rel=1e-9, abs=1e-12)
    assert found.p == pytest.approx(p, rel=1e-9)
    z, p = proportions_ztest([pair[0], pair[2]], [pair[1], pair[3]])
    assert (found.z, found.p) == pytest.approx((z, p), rel=1e-9, abs=1e-12)


def test_radmbench_prints_what_the_uncorrected_test_gives() -> None:
    found = two_proportion_z(164, 360, 31, 360)
    assert found.z == pytest.approx(11.15, abs=0.005)
    assert found.p == pytest.approx(6.9e-29, rel=0.01)


@pytest.mark.parametrize("pair", [*PAIRS, (0, 20, 0, 20)])
def test_the_interval_of_a_difference_is_newcombes(pair: tuple[int, int, int, int]) -> None:
    found = two_proportion_z(*pair)
    assert found.interval.method == "newcombe"
    low, high = confint_proportions_2indep(*pair, compare="diff", method="newcomb")
    assert (found.interval.low, found.interval.high) == pytest.approx((low, high), abs=1e-9)
    assert found.difference == pytest.approx(pair[0] / pair[1] - pair[2] / pair[3], abs=1e-15)


@pytest.mark.parametrize(("pair", "what"), [((0, 20, 0, 20), "no unit"), ((20, 20, 9, 9), "every unit")])
def test_two_shares_of_nothing_or_all_have_no_test_and_say_why(
    pair: tuple[int, int, int, int], what: str
) -> None:
    found = two_proportion_z(*pair)
    assert (found.z, found.p, found.difference) == (None, None, 0)
    assert found.reason == f"{what} of both is a success, so that z is 0/0"
    assert found.interval.low is not None and math.isfinite(found.interval.low)


def test_shares_of_no_units_have_no_difference() -> None:
    found = two_proportion_z(0, 0, 3, 4)
    assert (found.difference, found.p, found.reason) == (None, None, "no units in one of the two")
    assert found.interval.reason == found.reason


def test_importing_statistics_loads_no_scipy() -> None:
    # `harness --help` and all else that computes nothing stay fast.
    code = "import sys, harness.scoring.statistics; sys.exit('scipy' in sys.modules)"
    root = Path(__file__).parents[2]
    ran = subprocess.run([sys.executable, "-c", code], cwd=root, env=os.environ, timeout=60, check=False)
    assert ran.returncode == 0
