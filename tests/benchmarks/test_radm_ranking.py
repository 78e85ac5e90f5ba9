"""What five tiers are worth: a small set of exact values, all of which are reached, and no others."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from radm_graded import TASK, Unit, case

from harness.benchmarks.radm.ranking import fifths, first_hit, tiers_of

VALUES = (0, 0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.6, 1.8, 2, 2.4, 3)
PAPERS_WEIGHTS = (Fraction(1), Fraction(8, 10), Fraction(6, 10), Fraction(4, 10), Fraction(2, 10))
FIVE_TIERS = st.tuples(*[st.integers(0, 3)] * 5)


def test_the_scores_are_exactly_the_twelve_values_and_each_is_reached() -> None:
    assert {fifths(tiers) / 5 for tiers in product(range(4), repeat=5)} == set(VALUES)


@given(FIVE_TIERS)
def test_a_score_is_the_largest_product_of_weight_and_tier(tiers: tuple[int, ...]) -> None:
    exact = max(weight * tier for weight, tier in zip(PAPERS_WEIGHTS, tiers, strict=True))
    assert Fraction(fifths(tiers), 5) == exact
    assert fifths(tiers) / 5 in VALUES


@given(FIVE_TIERS, st.integers(0, 4))
def test_a_better_diagnosis_never_costs_anything(tiers: tuple[int, ...], rank: int) -> None:
    better = tuple(min(3, tier + (place == rank)) for place, tier in enumerate(tiers))
    assert fifths(better) >= fifths(tiers)
    assert first_hit(better) <= first_hit(tiers) or first_hit(tiers) == 0


@given(FIVE_TIERS)
def test_a_hit_within_k_is_any_tier_of_at_least_one(tiers: tuple[int, ...]) -> None:
    unit = TASK.score_unit(TASK.unit_numbers(Unit(case("c"), tiers).scored), "text", {})
    assert unit == {
        "score": fifths(tiers) / 5, **{f"top{k}": float(any(tiers[:k])) for k in (1, 3, 5)}
    }  # fmt: skip


def test_a_correct_first_diagnosis_beats_a_complete_fourth() -> None:
    assert (fifths((2, 0, 0, 0, 0)), fifths((0, 0, 0, 3, 0)), fifths((1, 0, 0, 3, 0))) == (10, 6, 6)


@pytest.mark.parametrize("tiers", [(), (3,), (0, 0, 0, 0, 0, 3)])
def test_another_number_of_tiers_is_no_answer(tiers: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"shorter|longer"):
        fifths(tiers)


def test_tiers_are_read_from_five_grades_or_not_at_all() -> None:
    grades = {f"tier_{rank}": tier for rank, tier in enumerate((3, 0, 2.0, 1, 0), 1)}
    assert tiers_of({**grades, "other": "x"}) == (3, 0, 2, 1, 0)
    for missing in grades:
        assert tiers_of({name: tier for name, tier in grades.items() if name != missing}) is None
    assert tiers_of({}) is None


@pytest.mark.parametrize("value", [4, -1, 1.5, True, "2", None])
def test_a_grade_that_is_no_tier_is_refused(value: object) -> None:
    grades = {f"tier_{rank}": 0 for rank in range(1, 6)}
    with pytest.raises(ValueError, match=r"tier_3 is 0, 1, 2 or 3, not"):
        tiers_of({**grades, "tier_3": value})  # type: ignore[dict-item]
