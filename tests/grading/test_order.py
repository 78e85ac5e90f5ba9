"""The order of sheets: shuffled by a stored seed, the same everywhere, no two of one case together."""

from __future__ import annotations

import random
import time
from collections import Counter
from itertools import pairwise

import pytest

from harness.grading.order import apart, drawn, rater_order


def test_a_draw_is_the_same_on_every_machine_and_another_for_each_rater_seed_and_purpose() -> None:
    # By `printf '[20050,"order","alice",0]' | sha256sum` and so on, sorted.
    assert drawn(range(12), 20050, "order", "alice") == [4, 5, 1, 9, 3, 7, 8, 0, 10, 6, 11, 2]
    draws = [
        drawn(range(12), *draw)
        for draw in [(1, "order", "alice"), (1, "order", "bob"), (2, "order", "alice"), (1, "limit", "alice")]
    ]
    assert all(sorted(one) == list(range(12)) for one in draws)
    assert len({tuple(one) for one in draws}) == 4


def test_every_item_comes_first_equally_often() -> None:
    first = Counter(drawn(range(8), seed, "order", "alice")[0] for seed in range(4_000))
    # 500 each, with a standard deviation of 21.
    assert set(first) == set(range(8)) and all(abs(n - 500) < 100 for n in first.values())


def test_an_item_keeps_its_rank_whatever_else_is_drawn() -> None:
    every = drawn(range(100), 5, "order", "a")
    some = drawn(range(0, 100, 3), 5, "order", "a")
    assert some == [item for item in every if item % 3 == 0]


def adjacent(items: list[int], case_of: dict[int, str], before: str | None = None) -> int:
    cases = [*([before] if before else []), *(case_of[item] for item in items)]
    return sum(one == other for one, other in pairwise(cases))


def test_answers_of_one_case_never_follow_each_other_where_that_can_be_avoided() -> None:
    chance = random.Random(4)
    for _ in range(600):
        n = chance.randint(1, 14)
        case_of = {item: chance.choice("abcd"[: chance.randint(1, 4)]) for item in range(n)}
        before = chance.choice(["a", None])
        items = chance.sample(range(n), n)
        found = apart(items, case_of, before)
        assert sorted(found) == sorted(items)
        most = max(Counter(case_of.values()).values())
        # What is left over of a case that has more than its place between all others must follow itself.
        least = max(0, most - (n - most) - 1)
        crowded = [case for case, count in Counter(case_of.values()).items() if count > n - count]
        if before is not None and crowded == [before]:
            least = max(0, most - (n - most))
        assert adjacent(found, case_of, before) == least, (items, case_of, before)


def test_where_nothing_collides_the_order_stays_and_else_it_changes_as_little_as_it_can() -> None:
    case_of = dict(enumerate("abcabc"))
    assert apart([3, 1, 5, 0, 4, 2], case_of) == [3, 1, 5, 0, 4, 2]
    assert apart([0, 3, 1, 4, 2, 5], case_of) == [0, 1, 3, 2, 4, 5]
    assert apart([0, 3], case_of) == [0, 3]


def test_a_rater_gets_each_round_first_and_then_the_others_all_once() -> None:
    case_of = {number: f"c{number // 3}" for number in range(30)}
    rounds = [(1, 4, 9, 20), (0, 2, 29)]
    found = rater_order("alice", 7, rounds, case_of)
    assert set(found[:4]) == set(rounds[0]) and set(found[4:7]) == set(rounds[1])
    assert sorted(found) == list(range(30)) and adjacent(found, case_of) == 0
    assert found[:4] != rater_order("bob", 7, rounds, case_of)[:4]
    assert rater_order("alice", 7, rounds[:1], case_of)[:4] == found[:4]


@pytest.mark.parametrize("cases", [20_000, 2_000, 40])
def test_many_items_take_time_in_proportion(cases: int) -> None:
    case_of = {number: f"c{number % cases}" for number in range(20_000)}
    begun = time.process_time()
    found = apart(drawn(case_of, 1, "order", "a"), case_of)
    assert len(found) == 20_000 and adjacent(found, case_of) == 0
    # Some 0.3 s; what takes time in proportion to the square takes minutes.
    assert time.process_time() - begun < 10
