"""Rounding follows the interval's width."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness.report.rounding import (
    PART_OF_CASE,
    PART_OF_HALF_WIDTH,
    RULE,
    decimals_shown,
    rounded,
    shown,
    shown_p,
)

NUMBERS = st.floats(-1000, 1000, allow_nan=False)
SMALL = st.floats(-1, 1, allow_nan=False)
WIDTHS = st.one_of(st.floats(0, 2), st.floats(0, 1e-4), st.just(0.0))
DECIMALS = st.integers(0, 6)
SOME_N = st.one_of(st.none(), st.integers(1, 200_000))
INTERVAL = re.compile(r"(-?\d+(?:\.\d+)?)(?:-| to )(-?\d+(?:\.\d+)?)")


def ends(text: str) -> tuple[Fraction, Fraction]:
    found = INTERVAL.fullmatch(text)
    assert found, text
    return Fraction(found[1]), Fraction(found[2])


def places(text: str) -> int:
    return len(text.partition(".")[2])


@pytest.mark.parametrize(
    ("value", "low", "high", "decimals", "n", "expected"),
    [
        (0.43217, 0.3812, 0.4839, 3, 360, ("0.43", "0.38-0.48")),  # BCa wobbles in the third place
        (0.43217, 0.4222, 0.4422, 3, 9000, ("0.432", "0.422-0.442")),
        (0.43217, 0.4222, 0.4422, 2, 9000, ("0.43", "0.42-0.44")),
        (0.43217, 0.1811, 0.6839, 3, 12, ("0.4", "0.2-0.7")),
        (0.35, 0.1539, 0.5422, 3, 20, ("0.35", "0.15-0.54")),
        (8.41, 3.2, 14.1, 1, None, ("8", "3 to 14")),
        (-0.0012, -0.0413, 0.0391, 3, 360, ("0.00", "-0.04 to 0.04")),
        (0.0213, None, None, 3, None, ("0.021", "")),
        (1 / 3, None, None, 3, 3, ("0.3", "")),
        (0.25, None, None, 3, 12, ("0.25", "")),
        (1.0, 1.0, 1.0, 3, 250, ("1.000", "1.000-1.000")),
        (0.42, 0.4201, 0.4203, 2, 10**6, ("0.42", "0.42-0.43")),
    ],
)
def test_numbers_as_a_person_expects_them(
    value: float,
    low: float | None,
    high: float | None,
    decimals: int,
    n: int | None,
    expected: tuple[str, str],
) -> None:
    assert shown(value, low, high, decimals=decimals, n=n) == expected


@given(SMALL, WIDTHS, WIDTHS, DECIMALS, SOME_N)
@example(0.5, 0.01, 0.01, 6, None)
@example(0.125, 0.0, 0.0, 2, None)
def test_the_true_value_lies_within_the_unit_shown(
    value: float, below: float, above: float, decimals: int, n: int | None
) -> None:
    low, high = value - below, value + above
    text, interval = shown(value, low, high, decimals=decimals, n=n)
    half_unit = Fraction(1, 2 * 10 ** places(text))
    assert abs(Fraction(text) - Fraction(value)) <= half_unit
    first, last = ends(interval)
    assert first <= Fraction(text) <= last
    # An end may be off by one unit only where the interval is widened.
    widened = Fraction(rounded(low, places(text))) == Fraction(rounded(high, places(text)))
    for end, true in ((first, low), (last, high)):
        assert abs(end - Fraction(true)) <= half_unit * (2 if widened else 1) + Fraction(1, 10**12)


@given(SMALL, WIDTHS, DECIMALS, SOME_N)
def test_value_and_ends_have_the_same_decimals_and_never_more_than_the_column(
    value: float, half: float, decimals: int, n: int | None
) -> None:
    text, interval = shown(value, value - half, value + half, decimals=decimals, n=n)
    found = INTERVAL.fullmatch(interval)
    assert found
    assert {places(found[1]), places(found[2])} == {places(text)}
    assert places(text) <= decimals


@given(SMALL, WIDTHS, DECIMALS, SOME_N)
def test_an_interval_is_never_shown_narrower_than_a_digit(
    value: float, half: float, decimals: int, n: int | None
) -> None:
    low, high = value - half, value + half
    text, interval = shown(value, low, high, decimals=decimals, n=n)
    first, last = ends(interval)
    assert (last - first >= Fraction(1, 10 ** places(text))) == (low < high)


@given(WIDTHS, DECIMALS, SOME_N)
def test_the_last_digit_is_worth_a_part_of_the_half_width_and_of_a_case(
    half: float, decimals: int, n: int | None
) -> None:
    found = decimals_shown(-half, half, decimals=decimals, n=n)
    least = max(half / PART_OF_HALF_WIDTH, 1 / (n * PART_OF_CASE) if n else 0)
    assert not found or 10.0**-found >= least * (1 - 1e-6)
    # And one decimal more would not be: no digit is lost without need.
    assert found == decimals or 10.0 ** -(found + 1) < least


@given(WIDTHS, WIDTHS, DECIMALS, SOME_N)
def test_a_wider_interval_never_has_more_decimals(
    one: float, other: float, decimals: int, n: int | None
) -> None:
    narrow, wide = sorted((one, other))
    of_narrow = decimals_shown(-narrow, narrow, decimals=decimals, n=n)
    assert decimals_shown(-wide, wide, decimals=decimals, n=n) <= of_narrow


@given(st.integers(1, 100_000), st.integers(1, 100_000), DECIMALS)
def test_fewer_cases_never_have_more_decimals(one: int, other: int, decimals: int) -> None:
    few, many = sorted((one, other))
    assert decimals_shown(None, None, decimals=decimals, n=few) <= decimals_shown(
        None, None, decimals=decimals, n=many
    )


@given(st.one_of(NUMBERS, st.floats(-0.01, 0.01), st.just(-0.0)), WIDTHS, DECIMALS, st.booleans())
@example(-0.0004, 0.0, 3, True)
@example(-0.0, 0.0, 0, True)
def test_zero_has_no_sign(value: float, half: float, decimals: int, signed: bool) -> None:
    text, interval = shown(value, value - half, value + half, decimals=decimals, signed=signed)
    alone, _ = shown(value, decimals=decimals, signed=signed)
    found = INTERVAL.fullmatch(interval)
    assert found
    for number in (text, alone, found[1], found[2]):
        assert Fraction(number) or number[0] == "0"


@given(NUMBERS, DECIMALS)
def test_a_difference_says_its_direction(value: float, decimals: int) -> None:
    text, _ = shown(value, decimals=decimals, signed=True)
    number = Fraction(text)
    assert text[0] == {True: "+", False: "-"}[number > 0] if number else text[0] == "0"


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        (float("nan"), None, None), (float("inf"), None, None), (0.5, 0.4, None), (0.5, None, 0.4),
        (0.5, 0.6, 0.4), (0.5, float("nan"), 0.6), (0.5, 0.4, float("inf")),
    ],
)  # fmt: skip
def test_what_is_no_number_or_interval_is_refused(
    value: float, low: float | None, high: float | None
) -> None:
    with pytest.raises(ValueError, match=r"no number|no interval|two ends"):
        shown(value, low, high, decimals=3)


def test_the_rule_in_words_names_its_numbers() -> None:
    assert f"1/{PART_OF_HALF_WIDTH} of the interval's half-width" in RULE
    assert f"1/{PART_OF_CASE} of 1/n" in RULE


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (0.0, "<0.001"),
        (0.00099, "<0.001"),
        (0.001, "0.001"),
        (0.04321, "0.043"),
        (0.0499, "0.0499"),
        (0.049996, "0.049996"),
        (0.05, "0.050"),
        (0.05004, "0.05004"),
        (0.0506, "0.051"),
        (0.05 + 1e-14, "0.05000000000001"),
        (0.9999, "0.999"),
        (1.0, "1.000"),
    ],
)
def test_a_p_has_three_decimals_unless_they_move_it_across_the_level(p: float, text: str) -> None:
    assert shown_p(p) == text


@given(st.floats(0, 1))
def test_a_shown_p_lies_where_the_p_does(p: float) -> None:
    found = float(shown_p(p).lstrip("<"))
    assert (found < 0.05, found > 0.05) == (p < 0.05, p > 0.05)
