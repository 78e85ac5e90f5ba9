"""The scores as text for a terminal: two readings, ranked, every number with its n."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from harness.benchmarks.base import MetricColumn, ScoreTable, get_benchmark
from harness.served_models import served_notes

Json: TypeAlias = Mapping[str, Any]


IMPORTED_NOTE = (
    "imported: read from other tools' files, scored by the same code; prompt and parameters "
    "are not known here"
)
_SMALLEST_CELL = 6
_COVERAGE = 6
_INTERVAL = 12
_SMALLEST_NAME = 12
_LISTED = 5


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the columns of one table stand."""

    columns: tuple[MetricColumn, ...]
    cells: tuple[int, ...]
    interval: int
    name: int
    n: int

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
        layout = _layout(table.columns, rows, width)
        for reading, title in _readings(table).items():
            lines += _reading(layout, f"{condition}: {title}", rows, reading, width)
        lines += _outcomes(condition, rows, width)
        lines += _not_shown(score, condition, width)
        lines += _left_out(score, condition, rows, width)
        lines += _common(score, condition, width)
    lines += _agreement(score, width)
    lines += _notes(score, shown, unseen, width)
    return "\n".join(lines).rstrip()


def _heading(score: Json, width: int) -> Iterator[str]:
    warnings = [
        text
        for flag, text in (("synthetic", "SYNTHETIC DATA"), ("simulated", "SIMULATED MODELS"))
        if score[flag]
    ]
    run = score["run"]
    yield from _wrap(f"{score['benchmark']}  run {run['name']} ({run['digest'][:12]})", width)
    if "step" in score:
        step = score["step"]
        yield from _wrap(f"{step['kind']} by {step['model']}, of run {step['source'][:12]}", width)
    if warnings:
        yield from _wrap(f"*** {' - '.join(warnings)}: no evidence about real models ***", width)


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
    others = [row for row in rows if row["kind"] != "model"] if reading == "as_answered" else []
    yield ""
    yield from _wrap(title, width)
    yield from _head(layout)
    yield "-" * layout.width
    for row in models:
        yield from _row(row, reading, layout)
    if others:
        yield "-" * layout.width
    for row in others:
        yield from _row(row, reading, layout)
    yield from _differing_n([*models, *others], reading, layout.columns, width)
    if reading == "as_answered":
        for note in (note for row in models for note in served_notes(row["served_as"])):
            yield from _wrap(f"  {note}", width, indent="    ")


def _head(layout: _Layout) -> Iterator[str]:
    upper, lower = (
        _cells([column.head[line] for column in layout.columns], interval, layout)
        for line, interval in ((0, ""), (1, "95% CI"))
    )
    yield f"{'':{layout.width - len(upper)}}{upper}"
    yield f"{'#':>3} {'model':<{layout.name}}{'n':>{layout.n}}{'cov%':>{_COVERAGE}}{lower}"


def _row(row: Json, reading: str, layout: _Layout) -> Iterator[str]:
    rank, name = _rank(row, reading), _name(row)
    if len(name) > layout.name:
        yield f"{rank:>3} {name}"
        rank, name = "", ""
    metrics = row[reading]
    cells = _cells(
        [_number(metrics.get(column.path), column) for column in layout.columns],
        _interval(metrics.get(layout.columns[0].path), layout.columns[0]),
        layout,
    )
    coverage = "-" if row["coverage"] is None else _percent(row["coverage"])
    n = _n(row, reading, layout.columns)
    yield f"{rank:>3} {name:<{layout.name}}{n:>{layout.n}}{coverage:>{_COVERAGE}}{cells}"
    if row["incomplete"] and reading == "as_answered":
        how = "the files hold no answer for" if row["imported"] else "resume to complete:"
        yield f"    incomplete: {how} {_count(row['to_complete'], 'unit')}"


def _cells(texts: Sequence[str], interval: str, layout: _Layout) -> str:
    """Return the cells of one line; the interval is that of the first column."""
    first, *others = (f"{text:>{width}}" for text, width in zip(texts, layout.cells, strict=True))
    return "".join([first, f"{interval:>{layout.interval}}", *others])


def _interval(metric: Json | None, column: MetricColumn) -> str:
    if metric is None or metric["ci"] is None:
        return "-"
    low, high = (f"{end:.{column.decimals}f}" for end in metric["ci"])
    return f"{low},{high}" if low.startswith("-") else f"{low}-{high}"


def _rank(row: Json, reading: str) -> str:
    if reading != "as_answered" or row["kind"] != "model":
        return ""
    return "-" if row["rank"] is None else str(row["rank"])


def _name(row: Json) -> str:
    name = _printable(row["model"])
    if row["kind"] == "model":
        return f"{name} (imported)" if row["imported"] else name
    return f"{name} ({row['kind']})"


def _n(row: Json, reading: str, columns: Sequence[MetricColumn]) -> int:
    metric = row[reading].get(columns[0].path) if columns else None
    return int(row["n_cases"] if metric is None else metric["n"])


def _differing_n(
    rows: Sequence[Json], reading: str, columns: Sequence[MetricColumn], width: int
) -> Iterator[str]:
    for row in rows:
        n = _n(row, reading, columns)
        other = {
            "".join(column.head): metric["n"]
            for column in columns
            if (metric := row[reading].get(column.path)) is not None and metric["n"] != n
        }
        if other:
            listed = ", ".join(f"{head} n={count}" for head, count in other.items())
            yield from _wrap(f"  {row['model']}: {listed}", width, indent="    ")


def _outcomes(condition: str, rows: Sequence[Json], width: int) -> Iterator[str]:
    models = [row for row in rows if row["kind"] == "model"]
    if not models:
        return
    yield ""
    yield from _wrap(f"{condition}: outcomes of units", width)
    for row in models:
        counts = ", ".join(f"{outcome} {count}" for outcome, count in row["outcomes"].items())
        yield from _wrap(f"  {_name(row)}: {counts} (of {row['n_units']})", width, indent="    ")


def _not_shown(score: Json, condition: str, width: int) -> Iterator[str]:
    """Say which answers a step was not shown, by model, and why."""
    reasons: dict[str, list[str]] = {}
    for one in score["step"]["not_shown"] if "step" in score else []:
        if one["condition"] == condition:
            reasons.setdefault(one["model"], []).append(f"{one['why']} {one['units']}")
    for model, told in reasons.items():
        yield from _wrap(f"  {model}: not looked at: {', '.join(told)}", width, indent="    ")


def _agreement(score: Json, width: int) -> Iterator[str]:
    """Say how far a judge agrees with each person who graded the same answers."""
    for rater, found in score.get("agreement", {}).get("raters", {}).items():
        mean = found["mean_accuracy"]
        interval = "" if mean["ci"] is None else " (95% CI {:.3f}-{:.3f})".format(*mean["ci"])
        value = "-" if mean["value"] is None else f"{mean['value']:.3f}"
        judged = found["n_graded"] - found["not_judged"]
        yield ""
        yield from _wrap(
            f"agreement with {rater}: mean accuracy {value}{interval}, n={judged} of "
            f"{found['n_graded']} graded answers",
            width,
        )
        for name, one in found["dimensions"].items():
            values = (one[key]["value"] for key in ("accuracy", "kappa"))
            accuracy, kappa = ("-" if value is None else f"{value:.3f}" for value in values)
            counts = ", ".join(f"{cell} {count}" for cell, count in one["confusion"].items())
            told = f"  {name}: {accuracy}, kappa {kappa}; {counts}"
            yield from _wrap(told + (f" ({one['note']})" if one["note"] else ""), width, indent="    ")


def _left_out(score: Json, condition: str, rows: Sequence[Json], width: int) -> Iterator[str]:
    errors = score["case_errors"].get(condition, [])
    if errors:
        yield from _wrap(f"  left out for all models (case_error): {_some(errors)}", width, indent="    ")
    for row in rows:
        if row["not_applicable"]:
            listed = _some(row["not_applicable"])
            yield from _wrap(f"  {row['model']}: not applicable: {listed}", width, indent="    ")
        if row["not_rated"]:
            yield from _wrap(f"  {row['model']}: not rated: {_some(row['not_rated'])}", width, indent="    ")


def _common(score: Json, condition: str, width: int) -> Iterator[str]:
    common = score["common_cases"].get(condition)
    if common is None:
        return
    yield ""
    yield from _wrap(f"{condition}: {common['metric']} on the {common['n_cases']} common cases", width)
    for row in sorted(common["rows"], key=lambda row: (row["rank"] is None, row["rank"] or 0, row["model"])):
        value = "-" if row["value"] is None else f"{row['value']:.3f}"
        rank = "-" if row["rank"] is None else row["rank"]
        yield from _wrap(f"{rank:>3} {row['model']}  {value}  (n={row['n']})", width, indent="    ")


def _notes(score: Json, shown: Sequence[str], unseen: Sequence[str], width: int) -> Iterator[str]:
    yield ""
    benchmark = get_benchmark(score["benchmark"])
    tables = [benchmark.table(condition) for condition in shown]
    for legend in dict.fromkeys(table.legend for table in tables if table.legend):
        yield from _wrap(legend, width)
    baselines = {row["model"] for row in score["rows"] if row["kind"] == "baseline"}
    notes = {name: note for table in tables for name, note in table.baseline_notes.items()}
    for name in sorted(baselines & notes.keys()):
        yield from _wrap(f"{name}: {notes[name]}", width)
    meaning = "n: units scored; cov%: units with a usable answer; only complete models have ranks"
    yield from _wrap(meaning, width)
    yield from _wrap(_interval_note(score), width)
    if unseen:
        yield from _wrap(f"in the JSON only: {', '.join(unseen)}", width)
    for name, (usual, *_) in benchmark.conventions.items():
        value = score["conventions"].get(name, usual)
        if value != usual:
            yield from _wrap(f"convention {name}={value} (usually {usual}): compare like with like", width)
    if score["imported"]:
        yield from _wrap(IMPORTED_NOTE, width)
    repeats, gaps = score["repeats"], len(score["gaps"])
    if repeats > 1:
        yield from _wrap(f"numbers are means of {repeats} repeats; their SD is in the JSON", width)
    if gaps:
        yield from _wrap(f"{_count(gaps, 'gap')}: asks that this parser needs, and nobody made", width)
    changed, corrected = score["changed_since_run"]["units"], len(score["references"]["corrected"])
    if changed:
        steps = ", ".join(f"{step}: {count}" for step, count in score["changed_since_run"]["steps"].items())
        yield from _wrap(f"read differently than in the run: {_count(changed, 'unit')} ({steps})", width)
    if corrected:
        yield from _wrap(f"references of {_count(corrected, 'case')} were corrected", width)


def _interval_note(score: Json) -> str:
    facts = score["intervals"]
    return (
        f"95% CI: of the first column, by a bootstrap over cases (BCa, {facts['resamples']:,} resamples, "
        f"seed {facts['seed']}), of shares of cases by Clopper-Pearson; those of all numbers are in the JSON"
    )


def _layout(known: Sequence[MetricColumn], rows: Sequence[Json], width: int) -> _Layout:
    numbers = [_n(row, reading, known) for row in rows for reading in ("as_answered", "valid_only")]
    n = max(len(str(number)) for number in [0, *numbers]) + 1
    columns = [column for column in known if _is_scored(column, rows)] or list(known[:1])
    cells = [_cell_width(column, rows) for column in columns]
    interval = max(
        [_INTERVAL, *(len(_interval(metric, columns[0])) + 1 for metric in _metrics(columns[0], rows))]
    )
    taken = 4 + n + _COVERAGE + interval
    while len(columns) > 1 and width - taken - sum(cells) < _SMALLEST_NAME:
        columns.pop()
        cells.pop()
    longest = max(len(_name(row)) for row in rows) + 1
    name = max(_SMALLEST_NAME, min(longest, width - taken - sum(cells)))
    return _Layout(tuple(columns), tuple(cells), interval, name, n)


def _is_scored(column: MetricColumn, rows: Sequence[Json]) -> bool:
    """Tell whether any row has a column's metric: some belong to conditions that the run does not ask."""
    return any(column.path in row["as_answered"] for row in rows)


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
    """Ranked models by rank, then the others by value: the same order in both readings."""
    if row["rank"] is not None:
        return False, row["rank"], row["model"]
    metric = row["as_answered"].get(columns[0].path) if columns else None
    value = None if metric is None else metric["value"]
    return True, -(value or 0.0), row["model"]


def _number(metric: Json | None, column: MetricColumn) -> str:
    if metric is None or metric["value"] is None:
        return "-"
    return f"{metric['value']:.{column.decimals}f}"


def _percent(share: float) -> str:
    # 99.96 % is not "100.0": complete coverage must mean complete.
    percent = min(round(share * 100, 1), 99.9)
    return "100" if share == 1 else f"{percent:.1f}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _some(ids: Iterable[Any]) -> str:
    names = [one["case_id"] if isinstance(one, Mapping) else one for one in ids]
    shown = ", ".join(names[:_LISTED])
    more = len(names) - _LISTED
    return f"{len(names)}: {shown}{f' and {more} more' if more > 0 else ''}"


def _wrap(text: str, width: int, indent: str = "  ") -> list[str]:
    return textwrap.wrap(_printable(text), width, subsequent_indent=indent)


def _printable(text: str) -> str:
    # Ids and names are other people's text: no escape sequence of theirs may reach the terminal.
    return "".join(character if character.isprintable() else "\ufffd" for character in text)
