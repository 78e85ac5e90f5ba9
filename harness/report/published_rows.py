"""What a paper printed beside what is measured here: as rows, and as differences where both are the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from harness.benchmarks.scored import MetricColumn
from harness.phrases import spoken, titled
from harness.report.cells import (
    DECIMALS,
    absent_cell,
    difference_cell,
    empty_cell,
    metric_cell,
    printed_cell,
    text_cell,
)
from harness.report.document import Column, Part, Table, TableRow
from harness.report.even_columns import board_decimals
from harness.report.part_ids import PartIds
from harness.report.published import PublishedValue
from harness.report.score_view import ConditionView, Json, row_name
from harness.report.truth import hidden_intervals


def published_rows(view: ConditionView, leading: int) -> Iterator[TableRow]:
    """Yield a row for each subject of the paper that has a number in a column; `leading` cells are empty."""
    paths = [column.path for column in view.columns]
    for subject, values in _by_subject(view.printed).items():
        by_path = {one.path: one for one in values}
        if not any(path in by_path for path in paths):
            continue
        notes = dict.fromkeys(text for one in values if one.path in paths for text in _said(one))
        cells = [
            printed_cell(one.value, one.low, one.high, _decimals(view, path))
            if (one := by_path.get(path)) is not None
            else absent_cell()
            for path in paths
        ]
        row = [*[absent_cell()] * leading, *cells]
        yield TableRow(f"{subject} (published)", row, "published", tuple(notes))


def published_notes(view: ConditionView) -> Iterator[str]:
    """Yield what is to be said of all rows that `published_rows` gives."""
    paths = [column.path for column in view.columns]
    if any(one.path in paths for one in view.printed):
        yield "published: as the paper prints it, without n; its cases, prompts and dates may be others"
        if view.score["synthetic"]:
            yield "published numbers are of the paper's own cases, and those here are synthetic"


def published_differences(view: ConditionView, ids: PartIds, prefix: str) -> Iterator[Part]:
    """Yield the table of what was printed of models of this run, and of other metrics than the columns'."""
    rows = {row["model"]: row for row in view.models}
    shown = {column.path: column for column in view.columns}
    lines = [
        _line(view, one, rows.get(one.model or ""), shown.get(one.path))
        for one in view.printed
        if one.model in rows or one.path not in shown
    ]
    absent = list(
        dict.fromkeys(one.subject for one in view.printed if one.model not in rows and one.path not in shown)
    )
    if lines:
        yield Table(
            ids.make(prefix, view.condition, "published"),
            titled("Published and measured here", view.condition),
            [
                Column("metric", "metric", "metric path", numeric=False),
                Column("published", "published"),
                Column("ours", "here"),
                Column("difference", "difference", "here less published"),
                Column("note", "note", "why they are not compared, or what to know", numeric=False),
                Column("source", "source", numeric=False),
            ],
            lines,
            names="model",
            caption="What was printed of models of this run, and of others in metrics that are no column of "
            "the leaderboard, which has the rest. A difference is shown only where the same model was "
            "measured here by the same metric in the same condition. The paper's cases, prompts, dates and "
            "decoding may be others than those here: a difference alone is no evidence of a fault on either "
            "side",
            notes=[
                *([f"not compared, as they are not in this run: {', '.join(absent)}"] if absent else []),
                *hidden_intervals(
                    rows[one.model]["as_answered"].get(one.path) for one in view.printed if one.model in rows
                ),
            ],
        )


def why_not_compared(view: ConditionView, row: Json | None, path: str) -> str | None:
    """Return why a printed number is not held against a row's; None where it may be."""
    if row is None:
        return "this model is not in this run"
    if row["model"] in view.others:
        return view.others[row["model"]]
    if view.score["synthetic"]:
        return "the cases here are synthetic, not the paper's"
    if row["incomplete"]:
        return "this model is incomplete here"
    metric = row["as_answered"].get(path)
    if metric is None:
        return "not measured here"
    return None if metric["value"] is not None else "no value here"


def _line(
    view: ConditionView, one: PublishedValue, row: Json | None, column: MetricColumn | None
) -> TableRow:
    why = why_not_compared(view, row, one.path)
    told = [] if row is None else [f"not compared: {why}" if why else "", _rules(view)]
    note = "; ".join(filter(None, [*told, one.note or ""]))
    decimals = _decimals(view, one.path)
    metric = None if row is None else row["as_answered"].get(one.path)
    ours = board_decimals(view, one.path, column)
    difference = None if why is not None or metric is None else metric["value"] - one.value
    numbers = [absent_cell(), absent_cell()]  # of whom nothing is measured, the table says once why
    if row is not None:
        numbers = [
            empty_cell(why or "") if metric is None else metric_cell(metric, column, ours),
            difference_cell(difference, metric["n"] if metric else None, min(decimals, ours), why or ""),
        ]
    return TableRow(
        one.subject if row is None else row_name(row),
        [
            text_cell(one.path if column is None else spoken(column)),
            printed_cell(one.value, one.low, one.high, decimals),
            *numbers,
            text_cell(note) if note else absent_cell(),
            text_cell(one.source),
        ],
        "published",
    )


def _rules(view: ConditionView) -> str:
    """Return by which conventions these scores are not as by default: a difference is one of these too."""
    usual = {name: values[0] for name, values in view.benchmark.conventions.items()}
    chosen = view.score["conventions"].items()
    other = sorted(f"{name}={value}" for name, value in chosen if usual.get(name) != value)
    return f"scored here with {', '.join(other)}, which is no default" if other else ""


def _said(one: PublishedValue) -> Iterator[str]:
    yield f"printed in {one.source}"
    if one.note:
        yield one.note


def _by_subject(values: Sequence[PublishedValue]) -> Mapping[str, Sequence[PublishedValue]]:
    found: dict[str, list[PublishedValue]] = {}
    for one in values:
        found.setdefault(one.subject, []).append(one)
    return found


def _decimals(view: ConditionView, path: str) -> int:
    """Return how many decimals a paper prints of a metric: the most that any of its values has."""
    printed = [len(f"{one.value!r}".partition(".")[2]) for one in view.printed if one.path == path]
    return max(printed, default=DECIMALS)
