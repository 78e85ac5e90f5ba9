"""Cells of numbers: a metric with its n and interval, a count, a share, as `rounding` shows them."""

from __future__ import annotations

from typing import Final

from harness.benchmarks.scored import MetricColumn
from harness.report.document import Cell, Tone
from harness.report.rounding import decimals_shown, fixed, percent, rounded, shown_to, worded
from harness.report.score_view import Json
from harness.report.truth import BESIDE, beside_itself, of_few_cases

DECIMALS: Final = 3
"""Of a metric that no column of a table gives another number of decimals."""

ABSENT: Final = "-"
"""What a cell shows in which nothing can stand, so that nothing is to be said of it."""

EMPTY: Final = ""
"""What an empty cell shows."""


def metric_cell(metric: Json | None, column: MetricColumn | None = None, decimals: int | None = None) -> Cell:
    """Return the cell of one number of the scores; without a value it says why. Raises ValueError without n.

    What is to be said of its interval stands below the table (`interval_notes`), but that it leaves out the
    number: then the cell is a warning. `column`
    says how many decimals its paper prints, and how small or named values are shown; `decimals` are those of
    all numbers of a column of a table (`even_columns`), None: the number stands alone.
    """
    if metric is None:
        return empty_cell("this row has no such number")
    n, value = metric["n"], metric["value"]
    if value is None:
        return Cell(EMPTY, None, n, note=metric["reason"] or "no value")
    if not n:
        raise ValueError(f"a number is shown with its n only, and {value!r} has none")
    low, high = shown_ends(metric)
    word = None if column is None else worded(value, column)
    beside = low is not None and beside_itself(metric)
    note = "; ".join(filter(None, [BESIDE if beside else "", metric["reason"] or ""]))
    if word is not None:
        return Cell(word, value, n, note=note)
    if decimals is None:
        decimals = decimals_shown(low, high, decimals=most_decimals(column), n=n)
    text, interval = shown_to(value, low, high, decimals)
    return Cell(
        text, value, n, low, high, interval, note, "warning" if beside else "note" if note else "plain"
    )


def most_decimals(column: MetricColumn | None) -> int:
    """Return how many decimals a number may have."""
    return DECIMALS if column is None else column.decimals


def shown_ends(metric: Json) -> tuple[float, float] | tuple[None, None]:
    """Return the ends of the interval that is shown of a number; None where none is."""
    if metric["ci"] is None or of_few_cases(metric):
        return None, None
    low, high = metric["ci"]
    return low, high


def absent_cell() -> Cell:
    """Return a cell in which nothing can stand: the rank of a baseline, what a paper does not print."""
    return Cell(ABSENT, None)


def empty_cell(why: str) -> Cell:
    """Return a cell without a value, with the reason why."""
    return Cell(EMPTY, None, note=why)


def text_cell(text: str, note: str = "") -> Cell:
    """Return a cell of words."""
    return Cell(text, text, note=note)


def count_cell(number: int | None, *, unknown: str = "not known", tone: Tone = "plain") -> Cell:
    """Return a cell of a number of things; None is not known."""
    return empty_cell(unknown) if number is None else Cell(f"{number:,}", number, tone=tone)


def share_cell(share: float | None, n: int, *, why_not: str = "", tone: Tone = "plain") -> Cell:
    """Return a cell of a share of n things in per cent; the value stays a share."""
    if share is None or not n:
        return empty_cell(why_not or "nothing to take a share of")
    return Cell(percent(share), share, n, tone=tone)


def difference_cell(
    value: float | None, n: int | None, decimals: int, why_not: str = "", note: str = ""
) -> Cell:
    """Return a cell of a difference of two shown numbers, with its sign and their decimals."""
    if value is None:
        return empty_cell(why_not)
    text, _ = shown_to(value, None, None, decimals, signed=True)
    return Cell(text, value, n, note=note)


def printed_cell(value: float, low: float | None, high: float | None, decimals: int, note: str = "") -> Cell:
    """Return the cell of a number that a paper printed, as it did; the paper's n is not repeated here."""
    text, interval = rounded(value, decimals), ""
    if low is not None and high is not None:
        interval = f"{rounded(low, decimals)}-{rounded(high, decimals)}"
    return Cell(text, value, None, low, high, interval, note)


def amount_cell(value: float | None, n: int, decimals: int, *, why_not: str = "not known") -> Cell:
    """Return a cell of an amount (dollars, seconds) of n things, with the decimals of its column."""
    if value is None or not n:
        return empty_cell(why_not)
    return Cell(fixed(value, decimals), value, n)
