"""How numbers of a report are rounded: no more decimals than interval, n and column allow; shares, p values.

The ends of a BCa interval differ by 0.003 to 0.004 from seed to seed where 360 units give a half-width of
0.05, which is some 7 % of it. A digit worth much less than that is drawn, not measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from harness.benchmarks.scored import MetricColumn
from harness.scoring.many_tests import RATE

PART_OF_HALF_WIDTH: Final = 20
"""The last digit shown is worth at least this part of the interval's half-width: a twentieth."""
PART_OF_CASE: Final = 10
"""And at least this part of 1/n: so one decimal below n = 10, two below 100, three below 1,000."""

RULE: Final = (
    f"A number gets as many decimals as keep the last digit worth at least 1/{PART_OF_HALF_WIDTH} of the "
    f"interval's half-width and 1/{PART_OF_CASE} of 1/n, and never more than its column has. All numbers and "
    "ends of intervals in a column of a table are shown with the same decimals: the most that any of its "
    "rows with an interval gets, so that no digit is drawn for the most precise row; of a less precise row "
    "the last digits may be. Published numbers are shown as printed. All digits stand in the JSON, and in "
    "the CSV beside what is shown."
)
"""The rule in plain words, for the methods of a report."""

LEAST_P: Final = 0.001
"""A p below this is shown as below it."""

_P_DECIMALS: Final = 3
_MOST_P_DECIMALS: Final = 12
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
    return shown_to(value, low, high, decimals_shown(low, high, decimals=decimals, n=n), signed=signed)


def shown_to(
    value: float, low: float | None, high: float | None, decimals: int, *, signed: bool = False
) -> tuple[str, str]:
    """Return a number and its interval as `shown` does, with just so many decimals. Raises as that."""
    decimals_shown(low, high, decimals=decimals)  # refuses ends that are no interval
    if not math.isfinite(value):
        raise ValueError(f"{value!r} is no number that can be shown")
    text = rounded(value, decimals)
    plus = "+" if signed and any(digit in text for digit in "123456789") and value > 0 else ""
    return plus + text, "" if low is None or high is None else _interval(low, high, decimals)


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


def percent(share: float) -> str:
    """Return a share in per cent with one decimal; only all is 100 and only none is 0."""
    if share in (0, 1):
        return f"{share:.0%}".replace("%", " %")
    return f"{min(max(round(share * 100, 1), 0.1), 99.9):.1f} %"


def amount(value: float, digits: int = 3) -> str:
    """Return an amount to so many significant digits, without an exponent: 0.0123, 1.23, 12,300."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    places = digits - 1 - math.floor(math.log10(abs(value)))
    return f"{round(value, places) + 0.0:,.{max(places, 0)}f}"


def fixed(value: float, decimals: int) -> str:
    """Return an amount with the decimals of its column, thousands apart; zero without a sign."""
    return f"{round(value, decimals) + 0.0:,.{decimals}f}"


def amount_decimals(amounts: Iterable[float | None], digits: int = 3) -> int:
    """Return the decimals of a column of amounts: the same for all of it.

    The largest has so many significant digits at least, and the smallest above 0 one less: none is shown
    as 0 that is not. None of nothing but zeros.
    """
    sizes = [abs(one) for one in amounts if one and math.isfinite(one)]
    if not sizes:
        return 0
    needed = [(max(sizes), digits), (min(sizes), digits - 1)]
    return max(0, *(wanted - 1 - math.floor(math.log10(size)) for size, wanted in needed))


def shown_p(p: float) -> str:
    """Return a p with three decimals, more where these would move it onto or across the level of tests.

    What is below `LEAST_P` is shown as below it, and only 1 is 1.000.
    """
    if p < LEAST_P:
        return f"<{LEAST_P:.{_P_DECIMALS}f}"
    if p == 1:
        return f"{p:.{_P_DECIMALS}f}"
    held = min(p, 1 - LEAST_P)
    texts = (f"{held:.{decimals}f}" for decimals in range(_P_DECIMALS, _MOST_P_DECIMALS))
    return next((text for text in texts if _side(float(text)) == _side(p)), f"{held!r}")


def worded(value: float, column: MetricColumn) -> str | None:
    """Return what stands for a value that its interval says nothing of, a word or a p; None for others."""
    if value in column.words:
        return column.words[value]
    return shown_p(value) if column.is_p else None


def _side(p: float) -> int:
    """Return where a p lies: below the level of tests, at it, above it."""
    return (p > RATE) - (p < RATE)


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
