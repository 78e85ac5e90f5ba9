"""Columns of numbers: one number of decimals each, so that no two numbers of one look equal or swapped.

The most decimals that any of its rows with an interval gets by the rule of `rounding` hold for all rows of a
column, those without an interval too: a coarser row next to them would be read as another number. Where no
row has an interval, it is the most that any row gets. What a paper printed keeps the paper's decimals.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness.benchmarks.scored import MetricColumn
from harness.report.cells import metric_cell, most_decimals, shown_ends
from harness.report.document import Cell
from harness.report.rounding import decimals_shown, worded
from harness.report.score_view import ConditionView, Json


def even_decimals(metrics: Iterable[Json | None], column: MetricColumn | None = None) -> int:
    """Return the decimals of all numbers of a column of a table; those of the column where it has none."""
    most = most_decimals(column)
    found: dict[bool, list[int]] = {True: [], False: []}
    for metric in metrics:
        if metric is None or metric["value"] is None or not metric["n"]:
            continue
        if column is None or worded(metric["value"], column) is None:
            low, high = shown_ends(metric)
            found[low is not None].append(decimals_shown(low, high, decimals=most, n=metric["n"]))
    return max(found[True] or found[False], default=most)


def metric_cells(metrics: Sequence[Json | None], column: MetricColumn | None = None) -> list[Cell]:
    """Return the cells of a column of a table, from its top; raises ValueError as `metric_cell`."""
    decimals = even_decimals(metrics, column)
    return [metric_cell(metric, column, decimals) for metric in metrics]


def metric_rows(
    rows: Sequence[Sequence[Json | None]], columns: Sequence[MetricColumn | None]
) -> list[list[Cell]]:
    """Return the cells of the rows of a table, each column with decimals of its own."""
    of_columns = [metric_cells([row[place] for row in rows], column) for place, column in enumerate(columns)]
    return [[cells[at] for cells in of_columns] for at in range(len(rows))]


def board_decimals(view: ConditionView, path: str, column: MetricColumn | None = None) -> int:
    """Return the decimals that a metric has in the leaderboard, for wherever a number of it is repeated."""
    return even_decimals([row["as_answered"].get(path) for row in view.rows], column)
