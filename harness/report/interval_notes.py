"""What a reader must know of the intervals of a table: a line for each kind of thing, and not one a number.

Notes that differ in their numbers alone are of one kind, and are told once, with the range of each number.
Those that change how a number must be read name every column and row; those of the making of intervals name
the columns. What is not known to be of the second sort is of the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from harness.benchmarks.scored import MetricColumn
from harness.phrases import listed, spoken, whose
from harness.report.score_view import Json, row_name
from harness.report.truth import hidden_intervals, of_few_cases

_NUMBER: Final = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_TECHNICAL: Final = ("there is none: ", "undefined in ", "percentile, as ", "an extreme resample ")
"""How notes begin that say how an interval was made, or that there is none, as the cell shows too."""

_Where = dict[str, list[str]]
"""Column -> the rows that a note is about."""


def misleading_intervals(
    rows: Sequence[Json], columns: Sequence[MetricColumn], reading: str
) -> Iterator[str]:
    """Say which intervals must not be taken as they stand, and why."""
    yield from hidden_intervals(row[reading].get(column.path) for row in rows for column in columns)
    for text, where in _kinds(rows, columns, reading, technical=False):
        yield f"95 % interval: {text} ({_exactly(where, len(rows))})"


def interval_remarks(rows: Sequence[Json], columns: Sequence[MetricColumn], reading: str) -> Iterator[str]:
    """Say how intervals were made where that is not as usual, and why there is none."""
    for text, where in _kinds(rows, columns, reading, technical=True):
        yield f"95 % interval: {text} ({_roughly(where, len(columns), len(rows))})"


def _kinds(
    rows: Sequence[Json], columns: Sequence[MetricColumn], reading: str, *, technical: bool
) -> Iterator[tuple[str, _Where]]:
    """Yield each kind of note, worded with the ranges of its numbers, and where it applies."""
    notes: dict[str, list[str]] = {}
    places: dict[str, _Where] = {}
    for column in columns:
        for row in rows:
            metric = row[reading].get(column.path)
            for note in () if metric is None else _notes(metric):
                if note.startswith(_TECHNICAL) is technical:
                    kind = _NUMBER.sub("#", note)
                    notes.setdefault(kind, []).append(note)
                    names = places.setdefault(kind, {}).setdefault(spoken(column), [])
                    names += [] if row_name(row) in names else [row_name(row)]
    for kind, told in notes.items():
        yield _with_ranges(told), places[kind]


def _notes(metric: Json) -> Iterator[str]:
    if of_few_cases(metric):
        return  # nobody sees it
    yield from (note for note in (metric.get("ci_note") or "").split("; ") if note)
    if metric["value"] is None:
        return
    if metric["ci"] is None and "ci_reason" in metric:
        yield f"there is none: {metric['ci_reason']}"


def _with_ranges(notes: Sequence[str]) -> str:
    """Return notes of one kind as one, each number that differs as "least to most"."""
    read = [[float(one.replace(",", "")) for one in _NUMBER.findall(note)] for note in notes]
    numbers = zip(*read, strict=True)
    told = [(min(found), max(found)) for found in numbers]
    ranges = iter([_plain(low) if low == high else f"{_plain(low)} to {_plain(high)}" for low, high in told])
    return _NUMBER.sub(lambda _: next(ranges), notes[0])


def _plain(number: float) -> str:
    return f"{int(number):,}" if number == int(number) else f"{number:g}"


def _exactly(where: Mapping[str, Sequence[str]], of: int) -> str:
    """Return columns with their rows; columns with the same rows together."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for head, names in where.items():
        alike.setdefault(tuple(names), []).append(head)
    return "; ".join(f"{', '.join(heads)}: {whose(names, of)}" for names, heads in alike.items())


def _roughly(where: Mapping[str, Sequence[str]], columns: int, rows: int) -> str:
    """Return columns, and the rows if these are the same in all of them."""
    heads = "all columns" if len(where) == columns > 1 else listed(where)
    several = {tuple(names) for names in where.values()}
    return f"{heads}: {whose(several.pop(), rows)}" if len(several) == 1 else f"some rows of {heads}"
