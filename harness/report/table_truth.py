"""Truth rules of whole tables: denominators that differ, intervals that mislead, columns that say little."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.benchmarks.scored import MetricColumn
from harness.phrases import listed, spoken, whose
from harness.report.score_view import Json, metrics_of, row_name
from harness.scoring.rank_stability import TIE


def differing_n(rows: Sequence[Json], columns: Sequence[MetricColumn], reading: str) -> Iterator[str]:
    """Say of which columns the rows have different n: these numbers are not about the same cases."""
    alike: dict[tuple[tuple[int, tuple[str, ...]], ...], list[str]] = {}
    for column in columns:
        by_n: dict[int, list[str]] = {}
        for row in rows:
            metric = row[reading].get(column.path)
            if metric is not None and metric["value"] is not None:
                by_n.setdefault(metric["n"], []).append(row_name(row))
        if len(by_n) > 1:
            key = tuple((n, tuple(names)) for n, names in sorted(by_n.items(), reverse=True))
            alike.setdefault(key, []).append(spoken(column))
    for groups, heads in alike.items():
        told = "; ".join(f"n={n:,} of {listed(names)}" for n, names in groups)
        yield f"n differs between rows in {', '.join(heads)}: {told}; such numbers are not of the same cases"


def own_n(rows: Sequence[Json], columns: Sequence[MetricColumn], reading: str) -> Iterator[str]:
    """Say which columns have another n than the first one, where `differing_n` does not tell it."""
    alike: dict[str, list[str]] = {}
    columns = [
        column
        for place, column in enumerate(columns)
        if not place or not [*differing_n(rows, [column], reading)]
    ]
    for row in rows:
        found = [(column, row[reading].get(column.path)) for column in columns]
        first = found[0][1] if found else None
        n = row["n_cases"] if first is None else first["n"]
        told = ", ".join(
            f"{spoken(column)} n={metric['n']:,}"
            for column, metric in found
            if metric is not None and metric["n"] != n
        )
        if told:
            alike.setdefault(told, []).append(row_name(row))
    for told, names in alike.items():
        yield f"{whose(names, len(rows))}: {told}"


def doubtful_intervals(rows: Sequence[Json], columns: Sequence[MetricColumn], reading: str) -> Iterator[str]:
    """Say what a reader must know of intervals: how else they were made, whether to trust them, why none."""
    said: dict[str, dict[str, list[str]]] = {}
    for column in columns:
        for row in rows:
            metric = row[reading].get(column.path)
            for note in () if metric is None else _interval_notes(metric):
                said.setdefault(note, {}).setdefault(spoken(column), []).append(row_name(row))
    for note, by_column in said.items():
        yield f"95 % interval: {note} ({_grouped(by_column, len(rows))})"


def _interval_notes(metric: Json) -> Iterator[str]:
    yield from (note for note in metric.get("ci_note", "").split("; ") if note)
    if metric["ci"] is None and metric["value"] is not None and "ci_reason" in metric:
        yield f"there is none: {metric['ci_reason']}"
    if metric["ci"] is not None and not metric["ci"][0] <= metric["value"] <= metric["ci"][1]:
        yield "it does not hold the number itself, as few cases decide the number: do not rely on it"


def _grouped(by_column: dict[str, list[str]], of: int) -> str:
    """Return columns with their rows; columns with the same rows together."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for head, names in by_column.items():
        alike.setdefault(tuple(names), []).append(head)
    return "; ".join(f"{', '.join(heads)}: {whose(names, of)}" for names, heads in alike.items())


def trivially_best(baselines: Sequence[Json], columns: Sequence[MetricColumn]) -> Iterator[str]:
    """Say which columns have a baseline at their best value: they say nothing when read alone."""
    found: dict[str, list[str]] = {}
    for column in columns:
        for row, metric in metrics_of(baselines, column.path):
            if column.better is None or column.best is None:
                continue
            if abs(metric["value"] - column.best) <= TIE * max(1.0, abs(column.best)):
                found.setdefault(row_name(row), []).append(spoken(column))
    for name, heads in found.items():
        yield (
            f"the baseline {name!r} has the best possible value of {', '.join(heads)}: read "
            f"{'it' if len(heads) == 1 else 'them'} only beside the other columns"
        )
