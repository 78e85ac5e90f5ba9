"""Token estimates that are wrong, and what the pool learns of it."""

from __future__ import annotations

import random

import pytest

from harness.pools.limits import PoolLimits
from harness.pools.pacing import Bucket, Pacer
from harness.pools.token_estimates import Estimates, Factor


def taught(ratio: float, count: int, spread: float = 0.0) -> Factor:
    factor = Factor()
    source = random.Random(1)
    for _ in range(count):
        factor.learn(1_000, int(1_000 * ratio * (1 + source.choice([-spread, spread]))))
    return factor


@pytest.mark.parametrize("ratio", [0.1, 0.5, 1.0, 2.0, 10.0])
def test_a_factor_becomes_what_answers_are_of_their_estimates(ratio: float) -> None:
    factor = taught(ratio, 60)
    assert factor.value == pytest.approx(ratio)
    assert factor.spread == pytest.approx(0.0, abs=0.01)


def test_too_low_is_believed_at_once_and_too_high_after_five() -> None:
    assert taught(2.0, 1).value == 2.0
    assert taught(0.5, 4).value == 1.0
    assert taught(0.5, 7).value == 0.5


def test_the_spread_is_what_answers_differ_by() -> None:
    assert taught(0.5, 500, spread=0.4).spread == pytest.approx(0.4, abs=0.05)


def test_new_answers_weigh_more_than_old_ones() -> None:
    factor = taught(1.0, 500)
    for _ in range(150):
        factor.learn(1_000, 3_000)
    assert factor.value >= 2.8


def test_unknown_counts_and_empty_estimates_teach_nothing() -> None:
    factor = Factor()
    factor.learn(1_000, None)
    factor.learn(0, 50)
    assert (factor.value, factor.spread) == (1.0, 0.0)


@pytest.mark.parametrize(("true", "value"), [(0, 0.01), (10**9, 100.0)])
def test_a_factor_keeps_within_its_bounds(true: int, value: float) -> None:
    factor = Factor()
    for _ in range(60):
        factor.learn(1_000, true)
    assert factor.value == value


def test_each_limit_is_asked_for_its_own_tokens() -> None:
    estimates = Estimates()
    for _ in range(60):
        estimates.input.learn(100, 200)
        estimates.output.learn(100, 10)
    assert estimates.amount("requests", 300, 50) == (1.0, 0.0)
    assert estimates.amount("input_tokens", 300, 50)[0] == pytest.approx(600)
    assert estimates.amount("output_tokens", 300, 50)[0] == pytest.approx(5)
    assert estimates.amount("tokens", 300, 50)[0] == pytest.approx(605)


def test_room_is_left_for_what_is_not_settled_yet_and_given_back() -> None:
    bucket = Bucket(1_000)
    entry = bucket.reserve(100, 0.0, spread=100)
    assert bucket.delay(700, 59.0) == 0.0
    assert bucket.delay(701, 59.0) == pytest.approx(1.1)  # two spreads of 100 stay free
    bucket.correct(entry, 100)
    assert bucket.delay(900, 59.0) == 0.0


def test_what_a_pacer_learned_of_one_request_it_uses_for_the_next() -> None:
    pacer = Pacer(PoolLimits(output_tokens_per_minute=1_000))
    for number in range(6):
        pacer.reserve(0, 1_000, number * 100.0).settle(0, 100)
    started = 1_000.0
    for number in range(8):
        assert pacer.delay(0, 1_000, started + 6.2 * number) == 0.0
        pacer.reserve(0, 1_000, started + 6.2 * number)
    assert pacer.oversize(0, 5_000) is None
    assert pacer.oversize(0, 20_000) == ("output_tokens", 2_000, 1_000)
