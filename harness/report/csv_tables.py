"""A table of a report as CSV: first what is shown, for people; then each number in full, for programs.

UTF-8, lines end in LF, cells are escaped by `harness.offline.cells`: no live formula, nothing lost. A shown
number or interval stands as it is, with its sign: it is no formula. The columns, in order:

- the rows' names, headed by what they are ("model"), and `kind`: model, rater, baseline, published, other;
- `warnings`, if the report has some (SYNTHETIC DATA): the same in every row;
- for each column of the table `ID`, the text as shown, and `ID:interval` likewise;
- for each column `ID:value`, `ID:n`, `ID:low`, `ID:high` in full, and `ID:note`;
- `marked` (true where a row must not be read without its notes) and `notes`.

A column with ":" and `notes` are left out where all their cells would be empty; so is `ID:value` where it
would say the same as `ID`, as texts and whole numbers do.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from typing import Final, TypeAlias

from harness.canonical import JSON
from harness.offline.cells import escape_cell
from harness.report.document import Cell, Table

_NUMBER: Final = r"[+-]?[0-9][0-9,.]*"
_SHOWN: Final = re.compile(rf"{_NUMBER}(?: ?%|(?:-| to )[+-]?{_NUMBER})?|-")
"""Signs and digits that are no formula, an interval, and the dash of an empty cell."""

_Columns: TypeAlias = list[tuple[str, list[str]]]
"""Heads with their cells, before they are escaped."""


def csv_table(table: Table, warnings: Sequence[str] = ()) -> str:
    """Return a table as CSV text, with the columns that this module names."""
    columns: _Columns = [(table.names, [row.name for row in table.rows])]
    columns.append(("kind", [str(row.kind) for row in table.rows]))
    if warnings:
        columns.append(("warnings", ["; ".join(warnings)] * len(table.rows)))
    columns += _shown(table) + _in_full(table)
    columns.append(("marked", ["true" if row.marked else "false" for row in table.rows]))
    columns += _filled([("notes", ["; ".join(row.notes) for row in table.rows])])
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow([_cell(head) for head, _ in columns])
    writer.writerows([_cell(cells[at]) for _, cells in columns] for at in range(len(table.rows)))
    return written.getvalue()


def _shown(table: Table) -> _Columns:
    found: _Columns = []
    for column, cells in _by_column(table):
        found.append((column, [cell.text for cell in cells]))
        found += _filled([(f"{column}:interval", [cell.interval for cell in cells])])
    return found


def _in_full(table: Table) -> _Columns:
    found: _Columns = []
    for column, cells in _by_column(table):
        values = [_value(cell.value) for cell in cells]
        if any(value != cell.text for value, cell in zip(values, cells, strict=True) if value):
            found.append((f"{column}:value", values))
        found += _filled(
            [
                (f"{column}:n", [_value(cell.n) for cell in cells]),
                (f"{column}:low", [_value(cell.low) for cell in cells]),
                (f"{column}:high", [_value(cell.high) for cell in cells]),
                (f"{column}:note", [cell.note for cell in cells]),
            ]
        )
    return found


def _by_column(table: Table) -> Sequence[tuple[str, list[Cell]]]:
    return [(column.id, [row.cells[at] for row in table.rows]) for at, column in enumerate(table.columns)]


def _filled(columns: _Columns) -> _Columns:
    return [(head, cells) for head, cells in columns if any(cells)]


def _value(value: JSON) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, allow_nan=False)


def _cell(text: str) -> str:
    return text if not text or _SHOWN.fullmatch(text) else escape_cell(text)
