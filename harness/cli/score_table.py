"""The scores as text for a terminal: two readings, ranked, every number with its n."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from harness.benchmarks.registry import get_benchmark
from harness.benchmarks.scored import MetricColumn, ScoreTable
from harness.cli.score_notes import agreement, below, notes, without_value
from harness.cli.score_words import Json, printable, shown_name, wrap
from harness.graded_words import graded_warnings, other_grades
from harness.offline.score_ranking import UNRANKED
from harness.phrases import count, grader, llm_graded, no_evidence
from harness.report.rounding import rounded, worded
from harness.served_models import served_notes

_SMALLEST_CELL = 6
_COVERAGE = 6
_INTERVAL = 12
_SMALLEST_NAME = 12
_WHOLE_NAME = 15
"""Names up to this long have room in their line; a longer one may have a line of its own."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the columns of one table stand."""

    columns: tuple[MetricColumn, ...]
    cells: tuple[int, ...]
    interval: int
    name: int
    n: int
    no_room: tuple[MetricColumn, ...]

    @property
    def width(self) -> int:
        return 4 + self.name + self.n + _COVERAGE + self.interval + sum(self.cells)


def render(score: Json, *, width: int = 80) -> str:
    """Return the scores as text of at most `width` columns (at least 60), without a last line feed."""
    width = max(width, 60)
    lines = [*_heading(score, width)]
    benchmark = get_benchmark(score["benchmark"])
    shown: list[str] = []
    unseen: list[str] = []
    conditions = _conditions(score)
    for condition in conditions:
        table = benchmark.table(condition)
        elsewhere = table.shown_in in conditions or not table.columns
        (unseen if elsewhere else shown).append(condition)
    for condition in shown:
        rows = [row for row in score["rows"] if row["condition"] == condition]
        table = benchmark.table(condition)
        layout = _layout(_ranking_first(table, score["ranked_by"].get(condition)), rows, width)
        for reading, title in _readings(table).items():
            if reading == "as_answered" or _has_numbers(layout, rows, reading):
                lines += _reading(layout, f"{condition}: {title}", rows, reading, width)
        lines += _no_room(layout, width)
        lines += _graded_only(table, condition, rows, width)
        lines += below(score, condition, rows, layout.columns, width)
    lines += agreement(score, width)
    lines += notes(score, shown, unseen, width)
    return "\n".join(lines).rstrip()


def _heading(score: Json, width: int) -> Iterator[str]:
    made_up = no_evidence(synthetic=score["synthetic"], simulated=score["simulated"])
    run = score["run"]
    yield from wrap(f"{score['benchmark']}  run {run['name']} ({run['digest'][:12]})", width)
    if "step" in score:
        step = score["step"]
        yield from wrap(f"{step['kind']} by {step['model']}, of run {step['source'][:12]}", width)
        changed = step["answers_changed"]
        if changed:
            yield from wrap(
                f"*** OF EARLIER ANSWERS: {changed} of those that are followed here were asked again since, "
                f"and are others now: `harness step {step['kind']} ...` once more asks about them ***",
                width,
            )
    if made_up is not None:
        yield from wrap(f"*** {made_up} ***", width)
    graded_by = grader(score.get("grading"))
    if graded_by is not None:
        yield from wrap(f"*** {llm_graded([graded_by])} ***", width)
    for warning in graded_warnings(score.get("graded", ())):
        yield from wrap(f"*** {warning} ***", width)
    for told, command in other_grades(score):
        yield from wrap(f"*** {told}", width)
        yield f"  {printable(command)}"


def _conditions(score: Json) -> Sequence[str]:
    return list(dict.fromkeys(row["condition"] for row in score["rows"]))


def _readings(table: ScoreTable) -> Mapping[str, str]:
    """Return the readings that differ, each with its title."""
    if table.one_reading is not None:
        return {"as_answered": table.one_reading}
    return {
        "as_answered": "as answered (an unusable answer counts as the worst value)",
        "valid_only": "valid answers only",
    }


def _reading(layout: _Layout, title: str, rows: Sequence[Json], reading: str, width: int) -> Iterator[str]:
    models = [row for row in rows if row["kind"] == "model"]
    models.sort(key=lambda row: _order(row, layout.columns))
    others = _others(rows) if reading == "as_answered" else {}
    yield ""
    yield from wrap(title, width)
    yield from _head(layout)
    yield "-" * layout.width
    for row in models:
        yield from _row(row, reading, layout)
    if others:
        yield "-" * layout.width
    for kind, of_kind in others.items():
        yield f"    {kind}s:"
        for row in of_kind:
            yield from _row(row, reading, layout)
    shown = [*models, *chain.from_iterable(others.values())]
    yield from _differing_n(shown, reading, layout.columns, width)
    if reading == "as_answered":
        for note in (note for row in models for note in served_notes(row["served_as"])):
            yield from wrap(f"  {note}", width, indent="    ")


def _graded_only(table: ScoreTable, condition: str, rows: Sequence[Json], width: int) -> Iterator[str]:
    """Yield the table of graded answers alone, of the rows that are not graded as a whole."""
    models = [row for row in rows if row["kind"] == "model"]
    partly = [row for row in models if table.graded_only and _is_partly_graded(row, table)]
    if not partly:
        return
    layout = _layout(table.graded_only, partly, width)
    title = f"{condition}: graded answers alone, NOT all (n says how many); no rank, unusable ones not in it"
    yield from _reading(layout, title, partly, "as_answered", width)
    yield from _no_room(layout, width)
    yield from without_value(layout.columns, partly, width)


def _is_partly_graded(row: Json, table: ScoreTable) -> bool:
    """Tell whether a row has graded answers, and no number of all."""
    whole, part = (
        row["as_answered"].get(path) for path in (table.main_metric, table.graded_only[0].path)
    )
    return bool(whole and part and whole["value"] is None and part["n"])


def _has_numbers(layout: _Layout, rows: Sequence[Json], reading: str) -> bool:
    found = (row[reading].get(column.path) for row in rows for column in layout.columns)
    return any(metric is not None and metric["value"] is not None for metric in found)


def _no_room(layout: _Layout, width: int) -> Iterator[str]:
    if layout.no_room:
        names = ", ".join(map(_spoken, layout.no_room))
        told = f"  no room here for {names}: in a wider terminal, --json, or `harness report`"
        yield from wrap(told, width, indent="    ")


def _others(rows: Sequence[Json]) -> Mapping[str, Sequence[Json]]:
    """Return kind -> its rows, of those that are no models."""
    found = {kind: [row for row in rows if row["kind"] == kind] for kind in ("rater", "baseline")}
    return {kind: of_kind for kind, of_kind in found.items() if of_kind}


def _head(layout: _Layout) -> Iterator[str]:
    upper, lower = (
        _cells([column.head[line] for column in layout.columns], interval, layout)
        for line, interval in ((0, ""), (1, "95% CI"))
    )
    yield f"{'':{layout.width - len(upper)}}{upper}"
    yield f"{'#':>3} {'model':<{layout.name}}{'n':>{layout.n}}{'cov%':>{_COVERAGE}}{lower}"


def _row(row: Json, reading: str, layout: _Layout) -> Iterator[str]:
    rank, name = _rank(row, reading), shown_name(row)
    if len(name) > layout.name:
        yield f"{rank:>3} {name}"
        rank, name = "", ""
    metrics = row[reading]
    cells = _cells(
        [_number(metrics.get(column.path), column) for column in layout.columns],
        _interval(metrics.get(layout.columns[0].path), layout.columns[0]),
        layout,
    )
    n = _n(row, reading, layout.columns)
    coverage = "-" if row["coverage"] is None or not n else _percent(row["coverage"])
    yield f"{rank:>3} {name:<{layout.name}}{n:>{layout.n}}{coverage:>{_COVERAGE}}{cells}"
    if row["incomplete"] and reading == "as_answered":
        how = "the files hold no answer for" if row["imported"] else "resume to complete:"
        yield f"    incomplete: {how} {count(row['to_complete'], 'unit')}"


def _cells(texts: Sequence[str], interval: str, layout: _Layout) -> str:
    """Return the cells of one line; the interval is that of the first column."""
    first, *others = (f"{text:>{width}}" for text, width in zip(texts, layout.cells, strict=True))
    return "".join([first, f"{interval:>{layout.interval}}", *others])


def _interval(metric: Json | None, column: MetricColumn) -> str:
    if metric is None or metric["ci"] is None:
        return "-"
    low, high = (rounded(end, column.decimals) for end in metric["ci"])
    return f"{low},{high}" if low.startswith("-") else f"{low}-{high}"


def _rank(row: Json, reading: str) -> str:
    if reading != "as_answered" or row["kind"] != "model":
        return ""
    if row["rank_reason"] == UNRANKED:
        return ""
    return "-" if row["rank"] is None else str(row["rank"])


def _n(row: Json, reading: str, columns: Sequence[MetricColumn]) -> int:
    metric = row[reading].get(columns[0].path) if columns else None
    return int(row["n_cases"] if metric is None else metric["n"])


def _differing_n(
    rows: Sequence[Json], reading: str, columns: Sequence[MetricColumn], width: int
) -> Iterator[str]:
    """Name the numbers whose n is another than the row's; rows of which the same is to be said, together."""
    alike: dict[str, list[str]] = {}
    for row in rows:
        n = _n(row, reading, columns)
        listed = ", ".join(
            f"{_spoken(column)} n={metric['n']}"
            for column in columns
            if (metric := row[reading].get(column.path)) is not None and metric["n"] != n
        )
        alike.setdefault(listed, []).append(shown_name(row))
    for listed, names in alike.items():
        if listed:
            whose = "all" if len(names) == len(rows) > 1 else ", ".join(names)
            yield from wrap(f"  {whose}: {listed}", width, indent="    ")


def _spoken(column: MetricColumn) -> str:
    upper, lower = column.head
    return f"{upper}{lower}" if lower.startswith("/") else f"{upper} {lower}".strip()


def _layout(known: Sequence[MetricColumn], rows: Sequence[Json], width: int) -> _Layout:
    numbers = [_n(row, reading, known) for row in rows for reading in ("as_answered", "valid_only")]
    n = max(len(str(number)) for number in [0, *numbers]) + 1
    columns = [column for column in known if _is_scored(column, rows)] or list(known[:1])
    cells = [_cell_width(column, rows) for column in columns]
    interval = max(
        [_INTERVAL, *(len(_interval(metric, columns[0])) + 1 for metric in _metrics(columns[0], rows))]
    )
    taken = 4 + n + _COVERAGE + interval
    longest = max(len(shown_name(row)) for row in rows) + 1
    least = min(max(longest, _SMALLEST_NAME), _WHOLE_NAME)
    no_room: list[MetricColumn] = []
    while len(columns) > 1 and width - taken - sum(cells) < least:
        no_room.insert(0, columns.pop())
        cells.pop()
    name = max(_SMALLEST_NAME, min(longest, width - taken - sum(cells)))
    return _Layout(tuple(columns), tuple(cells), interval, name, n, tuple(no_room))


def _ranking_first(table: ScoreTable, metric: str | None) -> list[MetricColumn]:
    """Return the columns, that of the metric that ranks first: a convention may have chosen another."""
    return sorted(table.columns, key=lambda column: column.path != metric)


def _is_scored(column: MetricColumn, rows: Sequence[Json]) -> bool:
    """Tell whether any row has a column's metric: some belong to conditions that the run does not ask."""
    found = [metric for row in rows if (metric := row["as_answered"].get(column.path)) is not None]
    return any(metric["value"] is not None for metric in found) if column.optional else bool(found)


def _cell_width(column: MetricColumn, rows: Sequence[Json]) -> int:
    texts = [*column.head, *(_number(metric, column) for metric in _metrics(column, rows))]
    return max(_SMALLEST_CELL, *(len(text) + 1 for text in texts))


def _metrics(column: MetricColumn, rows: Sequence[Json]) -> Iterator[Json]:
    """Yield what the rows have of a column, in both readings."""
    for row in rows:
        for reading in ("as_answered", "valid_only"):
            if column.path in row[reading]:
                yield row[reading][column.path]


def _order(row: Json, columns: Sequence[MetricColumn]) -> tuple[bool, float, str]:
    """Ranked models by rank, then the others by value, at last those without: the same order in both
    readings.
    """
    if row["rank"] is not None:
        return False, row["rank"], row["model"]
    metric = row["as_answered"].get(columns[0].path) if columns else None
    value = None if metric is None else metric["value"]
    return True, math.inf if value is None else -value, row["model"]


def _number(metric: Json | None, column: MetricColumn) -> str:
    if metric is None or metric["value"] is None:
        return "-"
    word = worded(metric["value"], column)
    return rounded(metric["value"], column.decimals) if word is None else word


def _percent(share: float) -> str:
    # 99.96 % is not "100.0": complete coverage must mean complete.
    percent = min(round(share * 100, 1), 99.9)
    return "100" if share == 1 else f"{percent:.1f}"
