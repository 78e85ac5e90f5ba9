"""The metric that ranks of each model in every condition of a run, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.phrases import spoken
from harness.report.document import Cell, Column, Part, Table, TableRow
from harness.report.even_columns import metric_rows
from harness.report.part_ids import PartIds
from harness.report.score_view import ConditionView, Json, row_name
from harness.report.truth import hidden_intervals, unranked, unusable_answers


def overview(views: Sequence[ConditionView], ids: PartIds, prefix: str) -> Iterator[Part]:
    """Yield a table of a row a model and a column a condition; nothing where only one condition ranks."""
    ranked = [view for view in views if view.main_metric is not None and view.columns and view.models]
    if len(ranked) < 2:
        return
    rows = {view.condition: {row["model"]: row for row in view.models} for view in ranked}
    names = list(dict.fromkeys(row["model"] for view in ranked for row in view.models))
    of_names = [[rows[view.condition].get(name) for view in ranked] for name in names]
    metrics = [list(map(_first_metric, ranked, found)) for found in of_names]
    numbers = metric_rows(metrics, [view.columns[0] for view in ranked])
    yield Table(
        ids.make(prefix, "overview"),
        "All conditions",
        [
            Column(f"{view.condition}.{view.columns[0].path}", f"{view.condition}: {spoken(view.columns[0])}")
            for view in ranked
        ],
        [_row(*one, ranked) for one in zip(names, of_names, numbers, strict=True)],
        caption=f"As answered; models in the order of {ranked[0].condition}. Conditions may be of other "
        "cases and other metrics: compare within a column",
        notes=[*hidden_intervals(metric for of_name in metrics for metric in of_name)],
    )


def _first_metric(view: ConditionView, row: Json | None) -> Json | None:
    found: Json | None = None if row is None else row["as_answered"].get(view.columns[0].path)
    return found


def _row(
    name: str, rows: Sequence[Json | None], cells: Sequence[Cell], views: Sequence[ConditionView]
) -> TableRow:
    found = [(view, row) for view, row in zip(views, rows, strict=True) if row is not None]
    grave = [
        f"{view.condition}: {text}"
        for view, row in found
        for text in (*unranked(row), *unusable_answers(row))
    ]
    return TableRow(row_name(found[0][1]) if found else name, cells, "model", grave, bool(grave))
