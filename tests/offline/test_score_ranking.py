"""Places by value: equal ones share a place, whatever order their sums were made in."""

from __future__ import annotations

from harness.benchmarks.scored import MetricValue
from harness.offline.score_ranking import places, ranked_values


def test_values_that_differ_by_rounding_alone_share_a_place() -> None:
    found = places({"a": 0.1 + 0.2, "b": 0.3, "c": 37.142857142857146, "d": 37.14285714285714, "e": 0.29})
    assert {name: rank.place for name, rank in found.items()} == {"c": 1, "d": 1, "a": 3, "b": 3, "e": 5}


def test_values_that_differ_beyond_it_do_not() -> None:
    found = places({"a": 0.5, "b": 0.5 - 1e-6, "c": -0.2, "d": -0.2 - 1e-6})
    assert [found[name].place for name in "abcd"] == [1, 2, 3, 4]


def test_a_value_that_stands_for_a_part_alone_has_no_place() -> None:
    part = MetricValue(0.9, 3, "2 of 5 answers have no grade")
    found = ranked_values({"a": part, "b": MetricValue(0.1, 5)})
    assert found["a"].place is None and found["a"].reason == "2 of 5 answers have no grade"
    assert found["b"].place == 1
