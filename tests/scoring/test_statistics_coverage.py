"""How often intervals hold the truth and tests cry wolf: simulations over many data sets.

What was seen in 4,000 data sets each (1,000 for intervals), as a share:

- BCa of one model holds the truth, at 100, 246 and 360 cases: mean rank score .950, .946, .951; a share of
  .9 .944, .956, .953; macro-F1 of 5 labels .950, .954, .945. Of 22 labels down to 1 case in 100, where an
  absent label counts 0, only .641, .900, .937 (percentile: .350, .767, .863): such a macro-F1 is lower on
  few cases than on many.
- A null difference has p <= .05, at 100, 200 and 360 cases: mean rank score .054, .056, .055; shares .014 to
  .050; macro-F1 of 5 labels .062, .047, .051, of 22 .058, .046, .056; lognormal scores, which no metric
  here has, .067, .061, .056. The BCa interval of the difference leaves 0 out in up to .095 (shares with few
  discordant cases) and in .200, .117, .075 (22 labels), which is why p does not come from it.

What the benchmarks make of as many cases as their papers have is in `test_known_truth.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from harness.scoring.statistics import Resampling, Units, intervals_of, paired_bootstrap, replicate

Floats = NDArray[np.float64]
Random = np.random.Generator
DRAWING = Resampling()


def mean(sums: Floats) -> Mapping[str, Floats]:
    return {"value": sums[..., 0] / sums[..., 1]}


def macro_f1(sums: Floats) -> Mapping[str, Floats]:
    """Sums hold tp, fp and fn of each label; one that nobody has or names counts 0."""
    tp, fp, fn = np.split(sums, 3, axis=-1)
    needed = 2 * tp + fp + fn
    return {"value": np.where(needed > 0, 2 * tp / np.maximum(needed, 1), 0.0).mean(axis=-1)}


def counted(values: NDArray[np.generic]) -> Floats:
    return np.stack([values.astype(float), np.ones(len(values))], axis=1)


def rank_scores(random: Random, units: int) -> tuple[Floats, Floats]:
    """Weights 1 to .2 times grades 0 to 3, of two models alike."""
    first, second = (
        random.choice([1.0, 0.8, 0.6, 0.4, 0.2], units) * random.choice([0, 0, 0, 1, 2, 3], units)
        for _ in range(2)
    )
    return counted(first), counted(second)


def shares(random: Random, units: int) -> tuple[Floats, Floats]:
    """Right or wrong at .9, where the models are alike by nature in 3 of 10 cases."""
    first = random.random(units) < 0.9
    second = np.where(random.random(units) < 0.3, first, random.random(units) < 0.9)
    return counted(first), counted(second)


def labelled(prevalence: Floats) -> Callable[[Random, int], tuple[Floats, Floats]]:
    def make(random: Random, units: int) -> tuple[Floats, Floats]:
        truth = random.random((units, len(prevalence))) < prevalence
        sure = np.where(random.random((units, 1)) < 0.3, 0.55, 0.75)  # some cases are hard for both
        found = []
        for _ in range(2):
            knows = random.random(truth.shape) < sure
            named = np.where(knows, truth, random.random(truth.shape) < prevalence)
            found.append(
                np.concatenate([truth & named, ~truth & named, truth & ~named], axis=1).astype(float)
            )
        return found[0], found[1]

    return make


FEW = labelled(np.array([0.6, 0.4, 0.3, 0.2, 0.15]))
RARE = labelled(np.geomspace(0.4, 0.01, 22))
KINDS = {"rank": (rank_scores, mean), "share": (shares, mean), "macro": (FEW, macro_f1)}


def coverage(kind: str, units: int, seeds: int) -> float:
    make, statistic = KINDS[kind]
    random = np.random.default_rng(99)
    truth = float(statistic(sum(make(random, 50_000)[0].sum(axis=0) for _ in range(20)))["value"])  # type: ignore[arg-type]
    held = 0
    for seed in range(seeds):
        data = make(np.random.default_rng(seed), units)[0]
        found = intervals_of(replicate(Units(data, np.arange(units)), statistic, DRAWING))["value"]
        assert found.low is not None and found.high is not None
        held += found.low <= truth <= found.high
    return held / seeds


def false_alarms(
    make: Callable[[Random, int], tuple[Floats, Floats]],
    statistic: Callable[[Floats], Mapping[str, Floats]],
    units: int,
    seeds: int,
) -> float:
    found = 0
    for seed in range(seeds):
        one, other = (
            Units(data, np.arange(units)) for data in make(np.random.default_rng(10_000 + seed), units)
        )
        p = paired_bootstrap(one, other, statistic, DRAWING)["value"].p
        found += p is not None and p <= 0.05
    return found / seeds


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_intervals_of_a_hundred_cases_hold_the_truth(kind: str) -> None:
    assert 0.925 <= coverage(kind, 100, 2000) <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_null_difference_of_a_hundred_cases_is_rarely_called_significant(kind: str) -> None:
    assert false_alarms(*KINDS[kind], 100, 2000) <= 0.065


@pytest.mark.slow
@pytest.mark.parametrize("units", [100, 246])
def test_a_null_difference_of_rare_labels_is_rarely_called_significant(units: int) -> None:
    assert false_alarms(RARE, macro_f1, units, 2000) <= 0.065
