"""Which frames of a clip are shown at a frame rate, in exact arithmetic.

The rule: the frame on display at k / fps seconds after the first, k = 0, 1, ..., while the clip lasts. So 2
of 10 frames a second are 0, 5, 10, ...; where a frame stays longer than 1 / fps seconds it is shown again. A
rate of None, and one that is not below the clip's own, gives every frame once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Final

_FINE: Final = 8
"""Ticks a frame from which on uneven frames may be even ones whose times were rounded to the tick."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """When the frames of a clip are on display, in the order of display.

    `starts` and `end` count ticks of 1 / `scale` seconds; starts rise from 0 on, and `end` is beyond the
    last. `even`: frames a second where all last alike but for rounding to the tick, None where they do not.
    """

    starts: Sequence[int]
    end: int
    scale: int
    even: Fraction | None

    @property
    def rate(self) -> Fraction:
        """The clip's own frames per second; of uneven frames, the mean."""
        return self.even or Fraction(len(self.starts) * self.scale, self.end)

    @property
    def duration_s(self) -> float:
        """How long it is shown, in seconds."""
        return float(len(self.starts) / self.even if self.even else Fraction(self.end, self.scale))

    def time_s(self, index: int) -> float:
        """Return when a frame comes on display, in seconds after the first, to the microsecond."""
        found = index / self.even if self.even else Fraction(self.starts[index], self.scale)
        return round(float(found), 6)


def timeline(starts: Sequence[int], end: int, scale: int) -> Timeline:
    """Return the timeline of frames that start at these ticks; the first counts as 0.

    Raises ValueError where there are none, or they do not rise.
    """
    if not starts or scale <= 0 or end <= starts[-1]:
        raise ValueError("no frames, or an end before the last of them")
    if any(later <= earlier for earlier, later in pairwise(starts)):
        raise ValueError("two frames at the same time")
    first = starts[0]
    moved = starts if first == 0 else [start - first for start in starts]
    return Timeline(moved, end - first, scale, _even_rate(moved, end - first, scale))


def sampled(frames: Timeline, fps: Fraction | None) -> tuple[int, ...]:
    """Return the indices of the frames that are shown at a rate. Raises ValueError for one of 0 or less."""
    if fps is not None and fps <= 0:
        raise ValueError(f"{fps} frames per second")
    if fps is None or fps >= frames.rate:
        return tuple(range(len(frames.starts)))
    if frames.even:
        step = frames.even / fps
        # k steps of frames each, while that is below the number of frames: a ceiling division.
        return tuple(int(k * step) for k in range(-(-len(frames.starts) // step)))
    return tuple(_on_display(frames, fps))


def _on_display(frames: Timeline, fps: Fraction) -> Iterator[int]:
    index, last = 0, len(frames.starts) - 1
    for k in range(-(-frames.end * fps // frames.scale)):
        tick = k * frames.scale / fps
        while index < last and frames.starts[index + 1] <= tick:
            index += 1
        yield index


def _even_rate(starts: Sequence[int], end: int, scale: int) -> Fraction | None:
    """Return the rate at which all frames start where they do; a round one where several would do."""
    count, last = len(starts), starts[-1]
    if count == 1:
        return Fraction(scale, end)
    step, uneven = divmod(last, count - 1)
    if not uneven and all(start == k * step for k, start in enumerate(starts)):
        return Fraction(scale, step)
    mean = Fraction((count - 1) * scale, last)
    if scale < _FINE * mean:
        return None
    ntsc = Fraction(1000, 1001)
    for rate in (Fraction(round(mean)), round(mean / ntsc) * ntsc, mean):
        # |start - k * scale / rate| < 1 tick, without fractions.
        over, under = rate.numerator, rate.denominator * scale
        if rate and all(abs(start * over - k * under) < over for k, start in enumerate(starts)):
            return rate
    return None
