"""The leaderboard of one condition: its table and its figure; and the other readings of it."""

from __future__ import annotations

from collections.abc import Iterator

from harness.phrases import spoken, titled
from harness.report.document import Figure, Intervals, Part, Point, Table
from harness.report.other_readings import common_cases, spread, valid_only, without_reformatter
from harness.report.part_ids import PartIds
from harness.report.published_rows import published_differences
from harness.report.reading_tables import AS_ANSWERED, reading_table
from harness.report.score_view import ConditionView, row_name, value_of
from harness.report.truth import row_truth


def leaderboard(view: ConditionView, ids: PartIds, prefix: str, *, brief: bool = False) -> Iterator[Part]:
    """Yield the table and figure of a condition, and its ranks on common cases; `brief`: the table alone."""
    if not view.columns:
        return
    truths = {
        (row["kind"], row["model"]): row_truth(row, view.baselines, view.table, view.columns)
        for row in view.rows
    }
    main = reading_table(view, AS_ANSWERED, ids.make(prefix, view.condition), truths)
    yield main
    if brief:
        return
    yield from _intervals(view, main, ids)
    yield from common_cases(view, ids, prefix)


def readings(view: ConditionView, ids: PartIds, prefix: str) -> Iterator[Part]:
    """Yield what stands beside the leaderboard: other readings, the spread over repeats, the paper's."""
    if not view.columns:
        return
    yield from valid_only(view, ids, prefix)
    yield from without_reformatter(view, ids, prefix)
    yield from spread(view, ids, prefix)
    yield from published_differences(view, ids, prefix)


def _intervals(view: ConditionView, table: Table, ids: PartIds) -> Iterator[Part]:
    """Yield the figure of the first metric, the rows in the order of the table."""
    column = view.columns[0]
    points = [
        Point(row.name, float(cell.value), low=cell.low, high=cell.high, mark=row.kind)
        for row in table.rows
        if isinstance((cell := row.cells[_place(table, column.path)]).value, int | float)
    ]
    if not points:
        return
    best = next((row for row in view.models if value_of(row, column.path) is not None), None)
    told = "" if best is None else f" The first model is {row_name(best)}."
    yield Figure(
        ids.make(table.id, "figure"),
        titled(f"{spoken(column)} with 95 % intervals", view.condition),
        f"{spoken(column)} of {len(points)} rows, with intervals where there are any.{told}",
        Intervals(spoken(column), points),
        table.id,
    )


def _place(table: Table, column_id: str) -> int:
    return next(place for place, column in enumerate(table.columns) if column.id == column_id)
