"""The leaderboard of one condition: the paper's own columns, in each reading, with what must be said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from harness.benchmarks.scored import MetricColumn
from harness.report.cells import count_cell, difference_cell, empty_cell, metric_cell, share_cell
from harness.report.document import Cell, Column, Figure, Intervals, Paragraph, Part, Point, Table, TableRow
from harness.report.part_ids import PartIds
from harness.report.phrases import listed, spoken
from harness.report.published_rows import published_differences, published_rows
from harness.report.score_view import ConditionView, Json, may_rank, row_name, value_of
from harness.report.truth import (
    RowTruth,
    differing_n,
    doubtful_intervals,
    own_n,
    row_truth,
    trivially_best,
)

AS_ANSWERED: Final = "as_answered"
VALID_ONLY: Final = "valid_only"
WITHOUT: Final = "without_reformatter"

_MEANINGS: Final[Mapping[str, str]] = {
    AS_ANSWERED: "as answered: an unusable answer counts as the worst value",
    VALID_ONLY: "valid answers only: an unusable answer is left out, so the n of rows may differ",
}


def leaderboard(view: ConditionView, ids: PartIds, prefix: str, *, brief: bool = False) -> Iterator[Part]:
    """Yield the tables and the figure of a condition; `brief`: the table of one reading alone."""
    if not view.columns:
        return
    truths = {row_name(row): row_truth(row, view.baselines, view.table, view.columns) for row in view.rows}
    main = _reading(view, AS_ANSWERED, ids.make(prefix, view.condition), truths)
    yield main
    if brief:
        return
    yield from _intervals(view, main, ids)
    yield from _valid_only(view, ids, prefix)
    yield from _without_reformatter(view, ids, prefix)
    yield from _common_cases(view, ids, prefix)
    yield from published_differences(view, ids, prefix)


def _reading(view: ConditionView, reading: str, table_id: str, truths: Mapping[str, RowTruth]) -> Table:
    ranked = reading == AS_ANSWERED and view.main_metric is not None
    rows = view.rows if reading == AS_ANSWERED else view.models
    head = (_RANK, _N, _COVERAGE) if ranked else (_N, _COVERAGE)
    shown = [_row(view, row, reading, ranked, truths.get(row_name(row))) for row in rows]
    if reading == AS_ANSWERED:
        shown += published_rows(view, leading=len(head))
    one_reading = view.table.one_reading
    return Table(
        table_id,
        f"{view.condition}: {'leaderboard' if ranked else 'scores'}"
        + ("" if reading == AS_ANSWERED else ", valid answers only"),
        [*head, *(metric_column(column, view) for column in view.columns)],
        shown,
        caption=". ".join(_caption(view, one_reading or _MEANINGS[reading], ranked)),
        notes=[*_table_notes(view, rows, reading)],
    )


_RANK: Final = Column("rank", "#", "rank among complete models, by the first metric")
_N: Final = Column("n", "n", "cases scored, or answers where a metric is of answers, of the first metric")
_COVERAGE: Final = Column("coverage", "usable", "share of the units that apply to it with a usable answer")


def metric_column(column: MetricColumn, view: ConditionView) -> Column:
    """Return the column of a metric; its title says which side is better."""
    sides = {"higher": "higher is better", "lower": "lower is better", None: "no side is the better one"}
    ranks = "; ranks" if column.path == view.main_metric else ""
    return Column(column.path, spoken(column), f"{column.path}: {sides[column.better]}{ranks}")


def _row(view: ConditionView, row: Json, reading: str, ranked: bool, truth: RowTruth | None) -> TableRow:
    n = view.n(row, reading)
    coverage = share_cell(row["coverage"] if n else None, row["n_units"], why_not="no unit applies")
    cells = [
        *([rank_cell(row)] if ranked else []),
        count_cell(n),
        coverage,
        *(metric_cell(row[reading].get(column.path), column) for column in view.columns),
    ]
    said = RowTruth((), False) if truth is None or reading != AS_ANSWERED else truth
    return TableRow(row_name(row), cells, row["kind"], said.notes, said.marked)


def rank_cell(row: Json) -> Cell:
    """Return a model's rank; an incomplete one has none, and others none with the scores' own reason."""
    if row["kind"] != "model":
        return empty_cell(f"a {row['kind']} has no rank")
    if may_rank(row):
        return Cell(str(row["rank"]), row["rank"])
    return empty_cell(row["rank_reason"] or "incomplete")


def _caption(view: ConditionView, meaning: str, ranked: bool) -> Iterator[str]:
    yield meaning[:1].upper() + meaning[1:]
    if view.table.legend:
        yield view.table.legend[:1].upper() + view.table.legend[1:]
    if ranked:
        yield f"Ranks: complete models by {spoken(view.columns[0])}"
    if view.score["repeats"] > 1:
        yield f"Numbers are means of {view.score['repeats']} repeats"


def _table_notes(view: ConditionView, rows: Sequence[Json], reading: str) -> Iterator[str]:
    yield from differing_n(rows, view.columns, reading)
    yield from own_n(rows, view.columns, reading)
    yield from doubtful_intervals(rows, view.columns, reading)
    if reading != AS_ANSWERED:
        return
    yield from trivially_best(view.baselines, view.columns)
    for row in view.baselines:
        note = view.table.baseline_notes.get(row["model"])
        if note is not None:
            yield f"baseline {row['model']}: {note}"
    yield from _left_out(view)
    yield from _without_value(view)


def _left_out(view: ConditionView) -> Iterator[str]:
    errors = view.score["case_errors"].get(view.condition, [])
    if errors:
        yield f"left out for all models, as they could not be sent: {len(errors)} cases: {listed(errors)}"
    reasons: dict[str, list[str]] = {}
    for one in view.score["step"]["not_shown"] if "step" in view.score else ():
        if one["condition"] == view.condition:
            reasons.setdefault(one["model"], []).append(f"{one['why']} {one['units']:,}")
    for model, told in reasons.items():
        yield f"{model}: answers that the step did not look at: {', '.join(told)}"


def _without_value(view: ConditionView) -> Iterator[str]:
    """Say why columns have no value, once for all rows and columns of which the same is to be said."""
    why: dict[str, dict[str, list[str]]] = {}
    for column in view.columns:
        for row in view.models:
            metric = row[AS_ANSWERED].get(column.path)
            if metric is not None and metric["value"] is None and row["n_cases"]:
                names = why.setdefault(metric["reason"] or "no value", {})
                names.setdefault(spoken(column), []).append(row_name(row))
    for reason, by_column in why.items():
        whose = list(dict.fromkeys(name for of_column in by_column.values() for name in of_column))
        yield f"no value: {', '.join(by_column)} of {listed(whose)}: {reason}"


def _valid_only(view: ConditionView, ids: PartIds, prefix: str) -> Iterator[Part]:
    if view.table.one_reading is not None or not view.models:
        return
    paths = [column.path for column in view.columns]
    if all(_same(row[AS_ANSWERED], row[VALID_ONLY], paths) for row in view.models):
        yield Paragraph("Valid answers only: no number differs, as every answer that counts is usable.")
    else:
        yield _reading(view, VALID_ONLY, ids.make(prefix, view.condition, "valid-only"), {})


def _same(answered: Json, valid: Json, paths: Sequence[str]) -> bool:
    return all(answered.get(path) == valid.get(path) for path in paths)


def _without_reformatter(view: ConditionView, ids: PartIds, prefix: str) -> Iterator[Part]:
    """Yield what the reformatter is worth: every number as if nobody had restated an answer."""
    restated = [row for row in view.models if row.get(WITHOUT) and row["outcomes"].get("reformatted")]
    if not restated:
        return
    first = view.columns[0]
    head = [
        Column("reformatted", "restated", "answers that the reformatter restated"),
        Column("reformatted.share", "share", "of all units"),
        Column(f"{first.path}.as_answered", f"{spoken(first)}, as answered", first.path),
        Column(f"{first.path}.difference", "difference", "without the reformatter less as answered"),
    ]
    yield Table(
        ids.make(prefix, view.condition, "without-reformatter"),
        f"{view.condition}: without the reformatter",
        [*head, *(metric_column(column, view) for column in view.columns)],
        [_without_row(view, row) for row in restated],
        caption="As answered, but a restated answer counts as the worst value too, as if nobody had restated "
        "it. Only models with restated answers are listed",
    )


def _without_row(view: ConditionView, row: Json) -> TableRow:
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
            metric_cell(before, first),
            difference_cell(difference, after["n"] if after else None, first.decimals, "no value"),
            *(metric_cell(row[WITHOUT].get(column.path), column) for column in view.columns),
        ],
        row["kind"],
    )


def _common_cases(view: ConditionView, ids: PartIds, prefix: str) -> Iterator[Part]:
    common = view.score["common_cases"].get(view.condition)
    if common is None:
        return
    column = next((one for one in view.columns if one.path == common["metric"]), None)
    rows = sorted(common["rows"], key=lambda row: (row["rank"] is None, row["rank"] or 0, row["model"]))
    yield Table(
        ids.make(prefix, view.condition, "common-cases"),
        f"{view.condition}: on the common cases",
        [_RANK, Column("n", "n"), Column(common["metric"], spoken(column) if column else common["metric"])],
        [
            TableRow(
                row["model"],
                [
                    empty_cell("no value") if row["rank"] is None else Cell(str(row["rank"]), row["rank"]),
                    count_cell(row["n"]),
                    metric_cell({"ci": None, "reason": None, **row}, column),
                ],
            )
            for row in rows
        ],
        caption=f"The {common['n_cases']:,} cases that all complete models could be asked; the others of the "
        "leaderboard are not the same for all of them",
    )


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
        f"{view.condition}: {spoken(column)} with 95 % intervals",
        f"{spoken(column)} of {len(points)} rows, with intervals where there are any.{told}",
        Intervals(spoken(column), points),
        table.id,
    )


def _place(table: Table, column_id: str) -> int:
    return next(place for place, column in enumerate(table.columns) if column.id == column_id)
