"""How many decimals of a number are shown: no more than its interval, its n and its column allow.

The ends of a BCa interval differ by 0.003 to 0.004 from seed to seed where 360 units give a half-width of
0.05, which is some 7 % of it. A digit worth much less than that is drawn, not measured.
"""

from __future__ import annotations

import math
from typing import Final

PART_OF_HALF_WIDTH: Final = 20
"""The last digit shown is worth at least this part of the interval's half-width: a twentieth."""
PART_OF_CASE: Final = 10
"""And at least this part of 1/n: so one decimal below n = 10, two below 100, three below 1,000."""

RULE: Final = (
    f"A number and its interval are shown with the same decimals: as many as keep the last digit worth at "
    f"least 1/{PART_OF_HALF_WIDTH} of the interval's half-width and 1/{PART_OF_CASE} of 1/n, and never more "
    f"than the column has. All digits stand in the JSON, and in the CSV beside what is shown."
)
"""The rule in plain words, for the methods of a report."""

_TOLERANCE: Final = 1 + 1e-9
"""A width that is a float's error above a limit is at it."""


def shown(
    value: float,
    low: float | None = None,
    high: float | None = None,
    *,
    decimals: int,
    n: int | None = None,
    signed: bool = False,
) -> tuple[str, str]:
    """Return a number as shown and its interval as shown, "" where it has none.

    `decimals` are those of the column. `n` is None for what has no steps of 1/n (a cost, a time). `signed`
    puts a plus before what is above 0. Zero never has a sign. Two ends that differ never look alike: where
    rounding would make them so, the low one is rounded down and the high one up. Raises ValueError for what
    is not finite, for one end without the other, and where `low` is above `high`.
    """
    places = decimals_shown(low, high, decimals=decimals, n=n)
    if not math.isfinite(value):
        raise ValueError(f"{value!r} is no number that can be shown")
    text = rounded(value, places)
    plus = "+" if signed and any(digit in text for digit in "123456789") and value > 0 else ""
    return plus + text, "" if low is None or high is None else _interval(low, high, places)


def decimals_shown(low: float | None, high: float | None, *, decimals: int, n: int | None = None) -> int:
    """Return how many decimals are shown: 0 to `decimals`, by the rule of this module. Raises as `shown`."""
    least = 0.0 if n is None or n <= 0 else 1 / (n * PART_OF_CASE)
    if (low is None) != (high is None):
        raise ValueError(f"an interval has two ends or none, not {low!r} and {high!r}")
    if low is not None and high is not None:
        if not (math.isfinite(low) and math.isfinite(high) and low <= high):
            raise ValueError(f"{low!r} to {high!r} is no interval that can be shown")
        least = max(least, (high - low) / 2 / PART_OF_HALF_WIDTH)
    return next((places for places in range(decimals, 0, -1) if 10**-places * _TOLERANCE >= least), 0)


def rounded(value: float, decimals: int) -> str:
    """Return a number with so many decimals; zero without a sign."""
    text = f"{value:.{decimals}f}"
    return text if any(digit in text for digit in "123456789") else text.removeprefix("-")


def _interval(low: float, high: float, decimals: int) -> str:
    ends = rounded(low, decimals), rounded(high, decimals)
    if low < high and ends[0] == ends[1]:
        unit = 10.0**decimals
        ends = (
            rounded(math.floor(low * unit) / unit, decimals),
            rounded(math.ceil(high * unit) / unit, decimals),
        )
    # "3-5" is a date to a spreadsheet, and "-1-2" to nobody an interval.
    joint = "-" if decimals and not ends[0].startswith("-") else " to "
    return joint.join(ends)
