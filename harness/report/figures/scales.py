"""Axes: from numbers to pixels, with round numbers to write at them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from matplotlib.ticker import MaxNLocator


@dataclass(frozen=True, slots=True)
class Scale:
    """From `low` to `high` onto pixels `start` to `end`; logarithmic if told so."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, value: float) -> float:
        """Return the pixel of a value; one outside the scale stays at its end."""
        held = min(max(value, self.low), self.high)
        low, high, one = (math.log10(v) if self.log else v for v in (self.low, self.high, held))
        return self.start + (one - low) / (high - low) * (self.end - self.start)

    def ticks(self, most: int) -> Sequence[tuple[float, str]]:
        """Return round values within the scale with their texts, about `most` of them at most."""
        values = _log_ticks(self.low, self.high, most) if self.log else _ticks(self.low, self.high, most)
        slack = (self.high - self.low) * 1e-9
        inside = [one for one in values if self.low - slack <= one <= self.high + slack]
        return [(one, tick_text(one, _decimals([one] if self.log else inside))) for one in inside]


def linear(values: Iterable[float], start: float, end: float, *, most: int = 7) -> Scale:
    """Return a scale on which all finite values lie, from one round number to another."""
    low, high = _extent([one for one in values if math.isfinite(one)])
    ticks = _ticks(low, high, most)
    return Scale(min(ticks[0], low), max(ticks[-1], high), start, end)


def logarithmic(values: Iterable[float], start: float, end: float) -> Scale:
    """Return a logarithmic scale on which all finite values above 0 lie."""
    found = [one for one in values if math.isfinite(one) and one > 0]
    low, high = (min(found), max(found)) if found else (1.0, 10.0)
    if high / low < 10:
        middle = math.sqrt(low) * math.sqrt(high)
        low, high = min(low, middle / 3.2), max(high, middle * 3.2)
    return Scale(low / 1.15, high * 1.15, start, end, log=True)


def tick_text(value: float, decimals: int) -> str:
    """Return a tick as text: plain between 1e-4 and 1e6, else with a power of ten; never a negative zero."""
    if value and not 1e-4 <= abs(value) < 1e6:
        return f"{value:.3g}"
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def _extent(values: Sequence[float]) -> tuple[float, float]:
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    if high - low > 1e-12 * max(abs(low), abs(high)):
        return low, high
    spread = abs(low) * 0.1 or 0.5
    return low - spread, high + spread


def _ticks(low: float, high: float, most: int) -> Sequence[float]:
    locator = MaxNLocator(nbins=most, steps=[1, 2, 2.5, 5, 10])
    return [float(one) for one in locator.tick_values(low, high)]


def _log_ticks(low: float, high: float, most: int) -> Sequence[float]:
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for within in ((1, 2, 5), (1,)):
        found = [
            factor * 10.0**exponent
            for exponent in exponents
            for factor in within
            if low <= factor * 10.0**exponent <= high
        ]
        if len(found) <= most:
            return found
    step = math.ceil(len(found) / most)
    return found[::step]


def _decimals(values: Sequence[float]) -> int:
    for decimals in range(7):
        if all(abs(round(one, decimals) - one) <= 1e-9 * max(abs(one), 1e-9) for one in values):
            return decimals
    return 6
