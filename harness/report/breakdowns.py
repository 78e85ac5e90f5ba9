"""What a benchmark shows beside its leaderboard (`Benchmark.details`): a table each, and mostly a figure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal

from harness.benchmarks.details import Against, Breakdown, Change, Matrix, Measured
from harness.benchmarks.scored import MetricColumn
from harness.phrases import better_side, count, titled
from harness.report.answered_only import reading_of, readings_of
from harness.report.cells import count_cell, difference_cell, metric_cell
from harness.report.document import (
    Cell,
    Column,
    Drawing,
    Figure,
    HeatMap,
    Joined,
    Lines,
    Part,
    Point,
    Scatter,
    Table,
    TableRow,
)
from harness.report.even_columns import even_decimals, metric_rows
from harness.report.interval_notes import interval_remarks, misleading_intervals
from harness.report.part_ids import PartIds
from harness.report.score_view import ConditionView, Json, metrics_of, row_name, value_of
from harness.report.truth import hidden_intervals

LINES_SHOWN: Final = 8
"""So many models are drawn as lines, the first of the leaderboard: more cannot be told apart."""
MATRICES_SHOWN: Final = 4
"""Of so many models the matrix is drawn, the first of the leaderboard; the table has all."""


def breakdown(view: ConditionView, detail: Breakdown, ids: PartIds, prefix: str) -> Iterator[Part]:
    """Yield one metric over groups, of all rows that have any; groups without a value are left out."""
    wanted = list(view.rows)
    if detail.without is not None:
        wanted = [row for row in view.models if value_of(row, detail.without) is None]
    paths = {
        label: path
        for label, path in detail.paths.items()
        if any(value_of(row, path) is not None for row in wanted)
    }
    rows = [row for row in wanted if any(value_of(row, path) is not None for path in paths.values())]
    if not rows:
        return
    table = Table(
        ids.make(prefix, view.condition, detail.id),
        titled(detail.title, view.condition),
        [Column(path, label) for label, path in paths.items()],
        _metrics_rows(rows, list(paths.values())),
        caption=f"Columns: {detail.groups}; values: {detail.values}, {reading_of(rows, list(paths.values()))}"
        f"{_side(detail.better)}",
        notes=[*_group_sizes(rows, paths), *_missing(detail, paths), *_of_intervals(rows, paths)],
    )
    yield table
    drawing = None if detail.figure is None else _drawing(detail, table)
    if drawing is not None:
        yield Figure(
            ids.make(table.id, "figure"),
            table.title,
            f"{detail.values} of {count(len(_names(drawing)), 'row')} over {count(len(paths), 'group')} "
            f"({detail.groups}).",
            drawing,
            table.id,
            _fewer(table) if isinstance(drawing, Lines) else "",
        )


def matrix(view: ConditionView, detail: Matrix, ids: PartIds, prefix: str) -> Iterator[Part]:
    """Yield a confusion matrix a model: one table of all, and heat maps of the first models."""
    columns = list(dict.fromkeys(label for paths in detail.paths.values() for label in paths))
    models = [row for row in view.models if _has_any(row, detail)]
    if not models:
        return
    present = {
        label: paths
        for label, paths in detail.paths.items()
        if any(value_of(row, path) is not None for row in models for path in paths.values())
    }
    shares = metric_rows(
        [
            [row["as_answered"].get(paths.get(column, "")) for column in columns]
            for row in models
            for paths in present.values()
        ],
        [None] * len(columns),
    )
    names = [f"{row_name(row)} / {label}" for row in models for label in present]
    lines = [
        TableRow(name, [count_cell(max((cell.n or 0 for cell in cells), default=0)), *cells])
        for name, cells in zip(names, shares, strict=True)
    ]
    every = [path for paths in present.values() for path in paths.values()]
    table = Table(
        ids.make(prefix, view.condition, detail.id),
        titled(detail.title, view.condition),
        [Column("n", "n"), *(Column(f"column.{column}", column) for column in columns)],
        lines,
        names=f"model / {detail.rows}",
        caption=f"Rows: {detail.rows}; columns: {detail.columns}; values: shares of the row, "
        f"{reading_of(models, every)}",
        notes=[*_hidden(models, every)],
    )
    yield table
    for place, row in enumerate(models[:MATRICES_SHOWN]):
        own = shares[place * len(present) : (place + 1) * len(present)]
        yield Figure(
            ids.make(table.id, "figure", row["model"]),
            titled(f"{detail.title}: {row_name(row)}", view.condition),
            f"Shares by {detail.rows} (rows) and {detail.columns} (columns) of {row_name(row)}.",
            HeatMap(
                list(present),
                columns,
                [_numbers(cells) for cells in own],
                [[cell.text for cell in cells] for cells in own],
                detail.columns,
                "share",
                0.0,
                1.0,
            ),
            table.id,
            f"Rows: {detail.rows}",
        )


def against(view: ConditionView, detail: Against, ids: PartIds, prefix: str) -> Iterator[Part]:
    """Yield two metrics of each row, one against the other."""
    rows = [row for row in view.rows if _has_both(row, detail.x, detail.y)]
    if not rows:
        return
    table = Table(
        ids.make(prefix, view.condition, detail.id),
        titled(detail.title, view.condition),
        [_measured_column(one) for one in (detail.x, detail.y)],
        _metrics_rows(rows, [detail.x.path, detail.y.path]),
        caption=readings_of(rows, detail.x, detail.y),
        notes=[*_hidden(rows, [detail.x.path, detail.y.path])],
    )
    yield table
    points = [
        Point(row_name(row), _value(row, detail.x), _value(row, detail.y), mark=row["kind"]) for row in rows
    ]
    yield Figure(
        ids.make(table.id, "figure"),
        table.title,
        f"{detail.y.label} (upwards) against {detail.x.label} of {count(len(points), 'row')}.",
        Scatter(points, detail.x.label, detail.y.label),
        table.id,
    )


def change(view: ConditionView, detail: Change, ids: PartIds, prefix: str) -> Iterator[Part]:
    """Yield a metric of each row before and after, and the difference."""
    rows = [row for row in view.models if _has_both(row, detail.before, detail.after)]
    if not rows:
        return
    before, after = detail.before, detail.after
    table = Table(
        ids.make(prefix, view.condition, detail.id),
        titled(detail.title, view.condition),
        [
            *map(_measured_column, (before, after)),
            Column(f"{after.path}.difference", "difference", f"{after.label} less {before.label}"),
        ],
        [*_changes(rows, before, after)],
        caption=readings_of(rows, before, after),
        notes=[*_hidden(rows, [before.path, after.path])],
    )
    yield table
    yield Figure(
        ids.make(table.id, "figure"),
        table.title,
        f"{before.label} and {after.label} of {count(len(rows), 'model')}, joined.",
        Joined(
            {row_name(row): (_value(row, before), _value(row, after)) for row in rows},
            before.label,
            after.label,
            detail.title,
        ),
        table.id,
    )


def _metrics_rows(rows: Sequence[Json], paths: Sequence[str]) -> list[TableRow]:
    found = [[row["as_answered"].get(path) for path in paths] for row in rows]
    numbers = metric_rows(found, [None] * len(paths))
    return [TableRow(row_name(row), cells, row["kind"]) for row, cells in zip(rows, numbers, strict=True)]


def _changes(rows: Sequence[Json], before: Measured, after: Measured) -> Iterator[TableRow]:
    """Yield rows of before, after and difference, all with the same decimals."""
    found = [[row["as_answered"][one.path] for one in (before, after)] for row in rows]
    decimals = even_decimals(metric for both in found for metric in both)
    for row, both in zip(rows, found, strict=True):
        cells = [metric_cell(metric, None, decimals) for metric in both]
        yield TableRow(row_name(row), [*cells, _difference(row, before, after, decimals)], row["kind"])


def _measured_column(one: Measured) -> Column:
    return Column(one.path, one.label, better_side(one.better))


def _side(better: Literal["higher", "lower"] | None) -> str:
    return "" if better is None else f"; {better_side(better)}"


def _difference(row: Json, before: Measured, after: Measured, decimals: int) -> Cell:
    n = min(row["as_answered"][one.path]["n"] for one in (before, after))
    return difference_cell(_value(row, after) - _value(row, before), n, decimals)


def _group_sizes(rows: Sequence[Json], paths: Mapping[str, str]) -> Iterator[str]:
    """Say in which groups rows have different n; each number's n is told by whoever writes the table."""
    sizes = {label: {metric["n"] for _, metric in metrics_of(rows, path)} for label, path in paths.items()}
    told = [f"{label}: {min(ns):,} to {max(ns):,}" for label, ns in sizes.items() if len(ns) > 1]
    if told:
        yield f"n differs between rows, so that these columns are not of the same cases: {', '.join(told)}"


def _of_intervals(rows: Sequence[Json], paths: Mapping[str, str]) -> Iterator[str]:
    columns = [MetricColumn(path, ("", label)) for label, path in paths.items()]
    yield from misleading_intervals(rows, columns, "as_answered")
    yield from interval_remarks(rows, columns, "as_answered")


def _hidden(rows: Sequence[Json], paths: Sequence[str]) -> Iterator[str]:
    return hidden_intervals(row["as_answered"].get(path) for row in rows for path in paths)


def _missing(detail: Breakdown, paths: Mapping[str, str]) -> Iterator[str]:
    left = [label for label in detail.paths if label not in paths]
    if left:
        yield f"left out, as no row has a value there: {', '.join(left)}"


def _drawing(detail: Breakdown, table: Table) -> Drawing | None:
    columns = [column.head for column in table.columns]
    models = [row for row in table.rows if row.kind == "model"] or list(table.rows)
    if detail.figure == "heat":
        values = [_numbers(row.cells) for row in models]
        low, high = _scale(detail, values)
        texts = [[cell.text for cell in row.cells] for row in models]
        names = [row.name for row in models]
        return HeatMap(names, columns, values, texts, detail.groups, detail.values, low, high)
    if len(columns) < 2:
        return None  # a line needs two ends
    series = {row.name: _numbers(row.cells) for row in models[:LINES_SHOWN]}
    return Lines(columns, series, detail.groups, detail.values, detail.figure == "diagonal")


def _scale(detail: Breakdown, values: Sequence[Sequence[float | None]]) -> tuple[float, float]:
    """Return the ends of the scale: from 0 to the best value, where there is one; else of what there is."""
    known = [value for line in values for value in line if value is not None]
    low, high = min(known), max(known)
    if detail.better == "higher" and detail.best is not None:
        return min(low, 0.0), max(high, detail.best)
    low = min(low, 0.0)
    return (low, high) if high > low else (low, low + 1.0)


def _names(drawing: Drawing) -> Sequence[str]:
    if isinstance(drawing, HeatMap):
        return drawing.rows
    return list(drawing.series) if isinstance(drawing, Lines) else []


def _fewer(table: Table) -> str:
    models = sum(row.kind == "model" for row in table.rows)
    return f"The first {LINES_SHOWN} of {models} models; the table has all." if models > LINES_SHOWN else ""


def _numbers(cells: Sequence[Cell]) -> list[float | None]:
    return [float(cell.value) if isinstance(cell.value, int | float) else None for cell in cells]


def _has_any(row: Json, detail: Matrix) -> bool:
    return any(value_of(row, path) is not None for paths in detail.paths.values() for path in paths.values())


def _has_both(row: Json, one: Measured, other: Measured) -> bool:
    return value_of(row, one.path) is not None and value_of(row, other.path) is not None


def _value(row: Json, one: Measured) -> float:
    value = value_of(row, one.path)
    return math.nan if value is None else value
