"""What a simulation shows: figures with the bounds that they must keep."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pacing.server import ModelServer, Seen

_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of a table; `low` and `high` are what was promised, `unit` stands behind the number."""

    name: str
    value: float
    unit: str = ""
    low: float | None = None
    high: float | None = None
    digits: int = 1

    def __post_init__(self) -> None:
        if self.low is None and self.high is None:
            raise ValueError(f"figure {self.name!r} promises nothing")

    @property
    def kept(self) -> bool:
        """True where the figure is within its bounds; what is no number is not."""
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        return low - _ROUNDING <= self.value <= high + _ROUNDING

    def shown(self) -> str:
        """Return the number with its unit."""
        return self._text(self.value)

    def promised(self) -> str:
        """Return the bounds in words."""
        low = None if self.low is None else self._text(self.low)
        high = None if self.high is None else self._text(self.high)
        if low is None:
            return f"at most {high}"
        if high is None:
            return f"at least {low}"
        return low if low == high else f"{low} to {high}"

    def _text(self, value: float) -> str:
        number = f"{value:,.{self.digits}f}"
        if self.digits and number.endswith("0"):
            number = number.rstrip("0").rstrip(".")
        return f"{number} {self.unit}".strip()


def most_within(moments: Sequence[tuple[float, float]], window_s: float) -> float:
    """Return the largest sum of amounts within any half-open window; `moments` are (time, amount)."""
    ordered = sorted(moments)
    best = total = 0.0
    start = 0
    for moment, amount in ordered:
        total += amount
        while ordered[start][0] <= moment - window_s:
            total -= ordered[start][1]
            start += 1
        best = max(best, total)
    return best


def least_within(moments: Sequence[tuple[float, float]], window_s: float, begin: float, end: float) -> float:
    """Return the smallest sum of amounts in the whole windows from `begin` to `end`, one after another."""
    ordered = sorted(moments)
    times = [moment for moment, _ in ordered]
    sums = []
    while begin + window_s <= end:
        found = ordered[bisect_left(times, begin) : bisect_left(times, begin + window_s)]
        sums.append(sum(amount for _, amount in found))
        begin += window_s
    return min(sums)


def requests(seen: Iterable[Seen], *, good: bool = False) -> list[tuple[float, float]]:
    """Return arrivals as (time, 1), all or those that were answered."""
    return [(one.at, 1.0) for one in seen if not good or one.status == 200]


def tokens(seen: Iterable[Seen], of: int, *, ended: bool = False) -> list[tuple[float, float]]:
    """Return (time, tokens) of what was answered, at its arrival or at its end."""
    return [(one.ended if ended else one.at, float(one.tokens[of])) for one in seen if one.status == 200]


def rate(server: ModelServer, begin: float, end: float) -> float:
    """Return the good answers a second between two moments, by when they ended."""
    return sum(begin <= one.ended < end and one.status == 200 for one in server.seen) / (end - begin)


def rejected(server: ModelServer) -> int:
    """Return how many requests were rejected as too many."""
    return sum(one.status in (429, 529) for one in server.seen)


def percent(part: float, whole: float) -> float:
    """Return a share in percent."""
    return 100.0 * part / whole
