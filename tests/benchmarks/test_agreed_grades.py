"""Which grade stands where several people graded: what all say, a consensus, or a mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from harness.benchmarks.base import Question
from harness.benchmarks.raters import resolved
from harness.benchmarks.steps import Graded, agreed_grade, mean_grade
from harness.cache.rows import UnitId
from harness.canonical import JSON

TIERS = Question((0, 1, 2, 3))
POINTS = Question((1, 2, 3, 4, 5), averaged=True)


@pytest.mark.parametrize(
    ("raters", "tier", "points"),
    [
        ({"ann": 3}, 3, 3),
        ({"ann": 3, "bob": 3}, 3, 3),
        ({"ann": 2, "bob": 3}, None, 2.5),
        ({"ann": 2, "bob": 4}, None, 3),
        ({"ann": 1, "bob": 2, "cyd": 2}, None, 5 / 3),
        ({"ann": 2, "bob": 3, "Consensus ": 1}, 1, 1),
        ({"consensus": 2}, 2, 2),
    ],
)
def test_the_consensus_stands_then_what_all_say_then_a_mean_where_one_is_made(
    raters: Mapping[str, JSON], tier: JSON, points: JSON
) -> None:
    for question in (TIERS, None):
        assert agreed_grade(raters, question) == tier
    found = agreed_grade(raters, POINTS)
    assert found == points and type(found) is type(points)


def test_people_come_to_nothing_where_a_rater_of_their_grading_is_missing() -> None:
    said = {"ann": {"a": 1, "b": 1, "c": 0}, "bob": {"a": 1}, "Consensus": {"c": 1}}
    waiting = {"b": frozenset({"ann"}), "c": frozenset({"ann"})}
    one = Graded(UnitId("m", "both", "x", 1), 1, None, said, "x", waiting)
    assert resolved(one, ("a", "b", "c")) == {"a": 1, "c": 1}
    assert resolved(replace(one, waiting={}), ("a", "b", "c")) == {"a": 1, "b": 1, "c": 1}


def test_whole_grades_have_a_whole_mean_where_there_is_one_and_others_a_float() -> None:
    assert (mean_grade([2, 4]), type(mean_grade([2, 4]))) == (3, int)
    assert (mean_grade([2.0, 4]), type(mean_grade([2.0, 4]))) == (3.0, float)
    assert mean_grade([0.1] * 10) == 0.1, "a sum of floats is exact"
    assert mean_grade([2**70, 2**70 + 2]) == 2**70 + 1
    for wrong in ([], [True, 1], ["1", 2], [None]):
        with pytest.raises(ValueError, match="numbers alone"):
            mean_grade(wrong)
