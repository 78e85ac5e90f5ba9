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
