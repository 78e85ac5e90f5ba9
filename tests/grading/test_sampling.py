"""Drawn samples: by a seed, the same everywhere, stratified, so many answers about a case."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from harness.cache.rows import UnitId
from harness.grading.sampling import Drawable, draw, shares

MODELS = ("m1", "m2", "m3", "m4", "m5", "m6")


def answers(cases: int, kinds: dict[str, int] | None = None) -> list[Drawable]:
    """Return an answer of each model to each case; `kinds`: kind -> its number of cases."""
    names = [kind for kind, many in (kinds or {"": cases}).items() for _ in range(many)]
    return [Drawable(UnitId(model, "A", f"c{n}"), kind) for n, kind in enumerate(names) for model in MODELS]


def test_a_seed_draws_the_same_answers_in_whatever_order_they_come() -> None:
    pool = answers(200)
    shuffled = random.Random(1).sample(pool, len(pool))
    first = draw(pool, 50, seed=7)
    assert first == draw(shuffled, 50, seed=7) and len(set(first)) == 50
    assert first != draw(pool, 50, seed=8)
    assert first[:20] == draw(pool, 20, seed=7), "a longer draw goes on where a shorter one ended"


def test_the_order_of_a_draw_follows_neither_models_nor_cases() -> None:
    order = draw(answers(200), None, seed=3)
    assert len(order) == 1200
    places = {model: [n for n, unit in enumerate(order) if unit.model == model] for model in MODELS}
    means = [sum(found) / len(found) for found in places.values()]
    assert max(abs(mean - 599.5) for mean in means) < 100  # five standard errors of a mean of 200 places


def test_each_stratum_has_its_share_to_within_one() -> None:
    kinds = {"MRI": 590, "CT": 250, "X-Ray": 110, "Pathology": 45, "PET": 5}
    drawn = draw(pool := answers(0, kinds), 100, seed=1)
    of = {one.unit: one.stratum for one in pool}
    found = Counter(of[unit] for unit in drawn)
    assert found.total() == 100
    assert all(abs(found[kind] - many / 10) <= 1 for kind, many in kinds.items()) and found["PET"] == 1


@pytest.mark.parametrize(
    ("sizes", "items", "wanted"),
    [
        ({"a": 5, "b": 5}, 3, {"a": 2, "b": 1}),
        ({"a": 999, "b": 1}, 10, {"a": 9, "b": 1}),
        ({"a": 999, "b": 1, "c": 1}, 2, {"a": 2, "b": 0, "c": 0}),
        ({"a": 2, "b": 1}, 3, {"a": 2, "b": 1}),
        ({"a": 2, "b": 1}, 99, {"a": 2, "b": 1}),
        ({"a": 2, "b": 1}, None, {"a": 2, "b": 1}),
        ({}, 5, {}),
    ],
)
def test_shares_by_hand(sizes: dict[str, int], items: int | None, wanted: dict[str, int]) -> None:
    assert shares(sizes, items) == wanted


def test_shares_always_add_up_and_never_exceed_a_stratum() -> None:
    dice = random.Random(2)
    for _ in range(2000):
        sizes = {f"s{n}": dice.randint(1, 40) for n in range(dice.randint(1, 9))}
        items = dice.randint(1, sum(sizes.values()))
        found = shares(sizes, items)
        assert sum(found.values()) == items
        assert all(0 <= found[name] <= size for name, size in sizes.items())
        if items >= len(sizes):
            assert all(found.values())


def test_twenty_cases_with_three_answers_each_are_drawn_as_the_paper_did() -> None:
    drawn = draw(answers(246), 60, seed=5, per_case=3)
    found = Counter(unit.case_id for unit in drawn)
    assert len(found) == 20 and set(found.values()) == {3}
    assert len({unit.model for unit in drawn}) == 6


def test_where_there_are_too_few_cases_more_answers_of_each_are_drawn() -> None:
    assert Counter(unit.case_id for unit in draw(answers(2), 10, seed=5, per_case=3)).total() == 10
    assert len(draw(answers(2), 99, seed=5, per_case=3)) == 12
    assert draw([], 5, seed=1) == []


@pytest.mark.parametrize(("items", "per_case"), [(0, None), (5, 0)])
def test_nothing_is_no_sample(items: int, per_case: int | None) -> None:
    with pytest.raises(ValueError, match="at least one"):
        draw(answers(2), items, seed=1, per_case=per_case)
