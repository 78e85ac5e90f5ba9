"""What stands beside a leaderboard: valid answers only, without the reformatter, repeats, common cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.phrases import spoken, titled
from harness.report.cells import amount_cell, count_cell, difference_cell, empty_cell, metric_cell, share_cell
from harness.report.document import Cell, Column, Paragraph, Part, Table, TableRow
from harness.report.even_columns import even_decimals, metric_cells, metric_rows
from harness.report.interval_notes import misleading_intervals
from harness.report.part_ids import PartIds
from harness.report.reading_tables import (
    AS_ANSWERED,
    RANK,
    VALID_ONLY,
    WITHOUT,
    metric_column,
    reading_table,
    sides,
)
from harness.report.rounding import amount_decimals
from harness.report.score_view import ConditionView, Json, row_name


def valid_only(view: ConditionView, ids: PartIds, prefix: str) -> Iterator[Part]:
    """Yield the reading that leaves unusable answers out, where it differs."""
    if view.table.one_reading is not None or not view.models:
        return
    paths = [column.path for column in view.columns]
    if all(_same(row[AS_ANSWERED], row[VALID_ONLY], paths) for row in view.models):
        yield Paragraph("Valid answers only: no number differs, as every answer that counts is usable.")
    else:
        yield reading_table(view, VALID_ONLY, ids.make(prefix, view.condition, "valid-only"), {})


def _same(answered: Json, valid: Json, paths: Sequence[str]) -> bool:
    return all(answered.get(path) == valid.get(path) for path in paths)


def spread(view: ConditionView, ids: PartIds, prefix: str) -> Iterator[Part]:
    """Yield the SD of each number over repeats, where there are several."""
    rows = [row for row in view.models if any("sd" in one for one in _shown(view, row))]
    if rows:
        every = zip(*(_shown(view, row) for row in rows), strict=True)
        decimals = [amount_decimals([one.get("sd") for one in column], 2) for column in every]
        yield Table(
            ids.make(prefix, view.condition, "repeats"),
            titled(f"SD over {view.score['repeats']} repeats", view.condition),
            [*map(metric_column, view.columns)],
            [TableRow(row_name(row), [*map(_sd, _shown(view, row), decimals)]) for row in rows],
            caption="As answered; the standard deviation of the values of single repeats around their mean",
        )


def _shown(view: ConditionView, row: Json) -> Sequence[Json]:
    return [row[AS_ANSWERED].get(column.path) or {} for column in view.columns]


def _sd(metric: Json, decimals: int) -> Cell:
    sd = metric.get("sd")
    return amount_cell(sd, metric.get("n", 0), decimals, why_not="not every repeat has a value")


def without_reformatter(view: ConditionView, ids: PartIds, prefix: str) -> Iterator[Part]:
    """Yield what the reformatter is worth: every number as if nobody had restated an answer."""
    restated = [row for row in view.models if row.get(WITHOUT) and row["outcomes"].get("reformatted")]
    if not restated:
        return
    first = view.columns[0]
    # Before and after stand beside their difference, which has their decimals.
    both = [row[reading].get(first.path) for row in restated for reading in (AS_ANSWERED, WITHOUT)]
    places = even_decimals(both, first)
    numbers = metric_rows(
        [[row[WITHOUT].get(column.path) for column in view.columns] for row in restated], view.columns
    )
    head = [
        Column("reformatted", "restated", "answers that the reformatter restated"),
        Column("reformatted.share", "share", "of all units"),
        Column(f"{first.path}.as_answered", f"{spoken(first)}, as answered"),
        Column(f"{first.path}.difference", "difference", "without the reformatter less as answered"),
    ]
    yield Table(
        ids.make(prefix, view.condition, "without-reformatter"),
        titled("Scores without the reformatter", view.condition),
        [*head, *map(metric_column, view.columns)],
        [_without_row(view, row, places, cells) for row, cells in zip(restated, numbers, strict=True)],
        caption="As answered, but a restated answer counts as the worst value too, as if nobody had restated "
        "it. Only models with restated answers are listed",
        notes=[*misleading_intervals(restated, view.columns, WITHOUT), sides(view.columns)],
    )


def _without_row(view: ConditionView, row: Json, places: int, numbers: Sequence[Cell]) -> TableRow:
    first, units = view.columns[0], row["outcomes"]["reformatted"]
    before, after = row[AS_ANSWERED].get(first.path), row[WITHOUT].get(first.path)
    difference = None
    if before and after and before["value"] is not None and after["value"] is not None:
        difference = after["value"] - before["value"]
    return TableRow(
        row_name(row),
        [
            count_cell(units),
            share_cell(units / row["n_units"], row["n_units"]),
            metric_cell(before, first, places),
            difference_cell(difference, after["n"] if after else None, places, "no value"),
            metric_cell(after, first, places),
            *numbers[1:],
        ],
        row["kind"],
    )


def common_cases(view: ConditionView, ids: PartIds, prefix: str) -> Iterator[Part]:
    """Yield the ranking on the cases that all complete models share, where these differ."""
    common = view.score["common_cases"].get(view.condition)
    if common is None:
        return
    column = next((one for one in view.columns if one.path == common["metric"]), None)
    rows = sorted(common["rows"], key=lambda row: (row["rank"] is None, row["rank"] or 0, row["model"]))
    numbers = metric_cells([{"ci": None, "reason": None, **row} for row in rows], column)
    yield Table(
        ids.make(prefix, view.condition, "common-cases"),
        titled("Ranks on the common cases", view.condition),
        [RANK, Column("n", "n"), Column(common["metric"], spoken(column) if column else common["metric"])],
        [
            TableRow(
                row["model"],
                [
                    empty_cell("no value") if row["rank"] is None else Cell(str(row["rank"]), row["rank"]),
                    count_cell(row["n"]),
                    number,
                ],
            )
            for row, number in zip(rows, numbers, strict=True)
        ],
        caption=f"The {common['n_cases']:,} cases that all complete models could be asked; the others of the "
        "leaderboard are not the same for all of them",
    )
