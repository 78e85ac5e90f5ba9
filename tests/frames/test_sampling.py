"""Which frames of a clip are shown at a rate: by the definition, in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.frames.sampling import Timeline, sampled, timeline

RATES = st.fractions(min_value=Fraction(1, 20), max_value=130, max_denominator=1001)
LASTS = st.lists(st.integers(1, 400), min_size=1, max_size=60)


def even(frames: int, rate: Fraction | int) -> Timeline:
    """Return the timeline of frames that come at exactly that rate."""
    tick, scale = Fraction(rate).denominator, Fraction(rate).numerator
    return timeline([tick * index for index in range(frames)], tick * frames, scale)


def by_definition(times: list[Fraction], end: Fraction, fps: Fraction) -> list[int]:
    """The last frame that has come by k / fps seconds, for every k before the end."""
    found, k = [], 0
    while k / fps < end:
        found.append(max(index for index, start in enumerate(times) if start <= k / fps))
        k += 1
    return found


@pytest.mark.parametrize(
    ("frames", "rate", "fps", "shown"),
    [
        (163, 10, 2, list(range(0, 163, 5))),
        (163, 10, 10, list(range(163))),
        (163, 10, 25, list(range(163))),
        (12, 10, 3, [0, 3, 6, 10]),
        (10, 10, Fraction(1, 2), [0]),
        (31, 30, 2, [0, 15, 30]),
        (60, Fraction(30000, 1001), 2, [0, 14, 29, 44, 59]),
        (1, 25, 2, [0]),
    ],
)
def test_the_frame_on_display_at_each_step_is_shown(
    frames: int, rate: Fraction, fps: Fraction, shown: list[int]
) -> None:
    assert list(sampled(even(frames, rate), Fraction(fps))) == shown


@given(st.integers(1, 80), RATES, RATES)
def test_even_frames_are_sampled_by_the_definition(frames: int, rate: Fraction, fps: Fraction) -> None:
    times = even(frames, rate)
    assert times.rate == rate
    wanted = list(range(frames))
    if fps < rate:
        wanted = by_definition([index / rate for index in range(frames)], frames / rate, fps)
    assert list(sampled(times, fps)) == wanted


@given(LASTS, st.integers(1, 90_000), RATES)
def test_uneven_frames_are_sampled_by_the_definition(lasts: list[int], scale: int, fps: Fraction) -> None:
    starts = list(accumulate(lasts[:-1], initial=0))
    times = timeline(starts, sum(lasts), scale)
    shown = list(sampled(times, fps))
    if fps >= times.rate:
        assert shown == list(range(len(lasts)))
    elif times.even is None:
        exact = [Fraction(start, scale) for start in starts]
        assert shown == by_definition(exact, Fraction(sum(lasts), scale), fps)
    else:
        exact = [index / times.even for index in range(len(lasts))]
        assert all(abs(at * scale - start) < 1 for at, start in zip(exact, starts, strict=True))
        assert shown == by_definition(exact, len(lasts) / times.even, fps)


@given(LASTS, st.integers(1, 90_000), RATES, st.integers(0, 10**9))
def test_where_the_clock_begins_does_not_matter(
    lasts: list[int], scale: int, fps: Fraction, begin: int
) -> None:
    starts = list(accumulate(lasts[:-1], initial=0))
    moved = timeline([begin + start for start in starts], begin + sum(lasts), scale)
    assert sampled(moved, fps) == sampled(timeline(starts, sum(lasts), scale), fps)


@pytest.mark.parametrize("fps", [1, 2, 5, 10, 15, 30])
@pytest.mark.parametrize("rate", [30, 60, Fraction(30000, 1001), Fraction(24000, 1001)])
def test_times_that_a_container_rounds_to_milliseconds_lose_no_frame(rate: Fraction, fps: int) -> None:
    rounded = timeline([round(1000 * k / Fraction(rate)) for k in range(3000)], round(3_000_000 / rate), 1000)
    assert rounded.even == rate
    assert sampled(rounded, Fraction(fps)) == sampled(even(3000, rate), Fraction(fps))


def test_a_coarse_clock_is_taken_at_its_word() -> None:
    times = timeline([0, 1, 3, 4], 6, 10)
    assert times.even is None
    assert sampled(times, Fraction(5)) == (0, 1, 3)
    assert [times.time_s(index) for index in range(4)] == [0, 0.1, 0.3, 0.4]


def test_a_frame_that_stays_is_shown_again() -> None:
    assert sampled(timeline([0, 100, 2100], 2200, 1000), Fraction(1)) == (0, 1, 1)


@pytest.mark.parametrize("fps", [Fraction(0), Fraction(-2)])
def test_no_rate_is_refused(fps: Fraction) -> None:
    with pytest.raises(ValueError, match="frames per second"):
        sampled(even(5, 10), fps)


@pytest.mark.parametrize(
    ("starts", "end", "scale"), [([], 5, 10), ([0, 5, 5], 9, 10), ([0, 5], 5, 10), ([0], 1, 0)]
)
def test_times_that_contradict_each_other_are_refused(starts: list[int], end: int, scale: int) -> None:
    with pytest.raises(ValueError, match="frames"):
        timeline(starts, end, scale)
