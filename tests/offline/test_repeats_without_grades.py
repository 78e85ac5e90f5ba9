"""A metric that only some repeats have, since only some were graded, is the mean of those that have it."""

from __future__ import annotations

import pytest

from harness.benchmarks.scored import MetricValue
from harness.offline.score_rows import over_repeats

PLAIN, GRADED = MetricValue(0.5, 9), MetricValue(4.5, 3)


@pytest.mark.parametrize("first", [True, False], ids=["the first", "the last"])
def test_a_metric_of_one_repeat_alone_keeps_its_value_and_says_so(first: bool) -> None:
    repeats = [{"plain": PLAIN, "expert.fluency.mean": GRADED}, {"plain": PLAIN}]
    found = over_repeats(repeats if first else repeats[::-1])
    assert (found["plain"].value, found["plain"].n) == (0.5, 9)
    there = found["expert.fluency.mean"]
    assert (there.value, there.n, there.sd) == (4.5, 3, None)
    assert there.reason == "1 of 2 repeats have no value: nobody graded it"


def test_a_metric_of_all_repeats_is_their_mean() -> None:
    found = over_repeats([{"x": MetricValue(1, 4)}, {"x": MetricValue(2, 3)}])
    assert (found["x"].value, found["x"].n, found["x"].reason) == (1.5, 3, None)
