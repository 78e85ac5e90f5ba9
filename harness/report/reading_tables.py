"""The table of one condition in one reading: ranks, n, the paper's own columns, and what is said of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from harness.benchmarks.scored import MetricColumn
from harness.outcomes import UnitOutcome
from harness.phrases import as_sentence, better_side, listed, spoken, titled
from harness.report.cells import absent_cell, count_cell, empty_cell, share_cell
from harness.report.document import Cell, Column, Table, TableRow
from harness.report.even_columns import metric_rows
from harness.report.interval_notes import interval_remarks, misleading_intervals
from harness.report.published_rows import published_notes, published_rows
from harness.report.score_view import ConditionView, Json, may_rank, row_name
from harness.report.table_truth import differing_n, own_n, trivially_best
from harness.report.truth import RowTruth

AS_ANSWERED: Final = "as_answered"
VALID_ONLY: Final = "valid_only"
WITHOUT: Final = "without_reformatter"

_MEANINGS: Final[Mapping[str, str]] = {
    AS_ANSWERED: "as answered: an unusable answer counts as the worst value",
    VALID_ONLY: "valid answers only: an unusable answer is left out, so the n of rows may differ",
}

_MAIN_TITLES: Final = {True: "Leaderboard", False: "Scores"}

RANK: Final = Column("rank", "#", "rank among complete models, by the first metric")
N: Final = Column("n", "n", "cases scored, or answers where a metric is of answers, of the first metric")
COVERAGE: Final = Column("coverage", "usable", "share of the units that apply to it with a usable answer")


def reading_table(
    view: ConditionView, reading: str, table_id: str, truths: Mapping[tuple[str, str], RowTruth]
) -> Table:
    """Return the table of one reading; `truths`: what is said of rows of `as_answered`, by kind and name."""
    ranked = reading == AS_ANSWERED and view.main_metric is not None
    rows = view.rows if reading == AS_ANSWERED else view.models
    head: Sequence[Column] = (RANK, N, COVERAGE) if ranked else (N, COVERAGE)
    if reading != AS_ANSWERED:  # what they are is said at the table before
        head = [replace(one, title="") for one in head]
    numbers = metric_rows(
        [[row[reading].get(column.path) for column in view.columns] for row in rows], view.columns
    )
    shown = [
        _row(view, row, reading, ranked, truths.get((row["kind"], row["model"])), cells)
        for row, cells in zip(rows, numbers, strict=True)
    ]
    if reading == AS_ANSWERED:
        shown += published_rows(view, leading=len(head))
    one_reading = view.table.one_reading
    return Table(
        table_id,
        titled(
            _MAIN_TITLES[ranked] if reading == AS_ANSWERED else "Scores of valid answers only", view.condition
        ),
        [*head, *map(metric_column, view.columns)],
        shown,
        caption=". ".join(_caption(view, one_reading or _MEANINGS[reading], ranked)),
        notes=[*_table_notes(view, rows, reading)],
    )


def metric_column(column: MetricColumn) -> Column:
    """Return the column of a metric. Its path is its id; the legend of the table and `sides` explain it."""
    return Column(column.path, spoken(column))


def sides(columns: Sequence[MetricColumn]) -> str:
    """Say in one line which side of each column is the better one."""
    told: dict[str, list[str]] = {better_side("higher"): [], better_side("lower"): [], better_side(None): []}
    for column in columns:
        told[better_side(column.better)].append(spoken(column))
    return "; ".join(f"{side}: {', '.join(heads)}" for side, heads in told.items() if heads)


def _row(
    view: ConditionView,
    row: Json,
    reading: str,
    ranked: bool,
    truth: RowTruth | None,
    numbers: Sequence[Cell],
) -> TableRow:
    n = view.n(row, reading)
    coverage = share_cell(row["coverage"] if n else None, _applicable(row), why_not="no unit applies")
    cells = [
        *([rank_cell(row)] if ranked else []),
        count_cell(n),
        coverage,
        *numbers,
    ]
    said = RowTruth((), False) if truth is None or reading != AS_ANSWERED else truth
    return TableRow(row_name(row), cells, row["kind"], said.notes, said.marked)


def _applicable(row: Json) -> int:
    """Return how many of a row's units apply to it: the denominator of its coverage."""
    left_out = (UnitOutcome.NOT_APPLICABLE, UnitOutcome.CASE_ERROR)
    return int(row["n_units"] - sum(row["outcomes"].get(kind, 0) for kind in left_out))


def rank_cell(row: Json) -> Cell:
    """Return a model's rank; an incomplete one has none, and others none with the scores' own reason.

    Raters and baselines are not ranked.
    """
    if row["kind"] != "model":
        return absent_cell()
    if may_rank(row):
        return Cell(str(row["rank"]), row["rank"])
    return empty_cell(row["rank_reason"] or "incomplete")


def _caption(view: ConditionView, meaning: str, ranked: bool) -> Iterator[str]:
    yield as_sentence(meaning)
    if view.table.legend:
        yield as_sentence(view.table.legend)
    if ranked:
        yield f"Ranks: complete models by {spoken(view.columns[0])}"
    if view.score["repeats"] > 1:
        yield f"Numbers are means of {view.score['repeats']} repeats"


def _table_notes(view: ConditionView, rows: Sequence[Json], reading: str) -> Iterator[str]:
    yield from differing_n(rows, view.columns, reading)
    yield from own_n(rows, view.columns, reading)
    yield from misleading_intervals(rows, view.columns, reading)
    yield sides(view.columns)
    if reading == AS_ANSWERED:
        yield from trivially_best(view.baselines, view.columns)
        yield from _left_out(view)
        yield from _without_value(view)
        yield from published_notes(view)
        for row in view.baselines:
            note = view.table.baseline_notes.get(row["model"])
            if note is not None:
                yield f"baseline {row['model']}: {note}"
    yield from interval_remarks(rows, view.columns, reading)


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
