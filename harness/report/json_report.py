"""A report as JSON: everything that it holds, lossless, in ASCII, a row a line.

Keys: `format` ("harness report"), `schema_version`, `title`, `warnings`, `facts`, `sections`. A section has
`id`, `title`, `parts` and `sections`. A part has its `type` and the fields of its class in
`harness.report.document`: `paragraph`, `table`, `figure`, `facts`. A row's `cells` are by column id; a cell
has always `text`, `value`, `n`, `low`, `high`, `interval`, `note` and `tone`. A figure's `drawing` has its
own `type`. Halves of surrogates survive as escapes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any, Final

from harness.canonical import JSON
from harness.report.document import Figure, Part, Report, Section, Table, TableRow

FORMAT: Final = "harness report"
SCHEMA_VERSION: Final = 1
"""Raised when a key changes its meaning or goes; new keys may come without."""


def report_json(report: Report) -> str:
    """Return a report as JSON text that ends in a line feed. Raises ValueError on NaN and infinities."""
    head = {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "title": report.title,
        "warnings": _plain(report.warnings),
        "facts": _plain(report.facts),
    }
    return _object(head, "sections", map(_section, report.sections)) + "\n"


def _section(section: Section) -> str:
    inner = _object({}, "sections", map(_section, section.sections))
    head = _object({"id": section.id, "title": section.title}, "parts", map(_part, section.parts))
    return f"{head[:-1]}, {inner[1:]}"


def _part(part: Part) -> str:
    if not isinstance(part, Table):
        found = {"type": type(part).__name__.lower(), **_fields(part)}
        if isinstance(part, Figure):
            drawing = type(part.drawing).__name__.lower()
            found["drawing"] = {"type": drawing, **_fields(part.drawing)}
        return _text(found)
    head = {"type": "table", **_fields(part, without="rows")}
    return _object(head, "rows", (_row(part, row) for row in part.rows))


def _row(table: Table, row: TableRow) -> str:
    cells = {column.id: _fields(cell) for column, cell in zip(table.columns, row.cells, strict=True)}
    return _text({**_fields(row, without="cells"), "cells": cells})


def _object(head: Mapping[str, Any], key: str, items: Iterable[str]) -> str:
    """Return an object of a head and, under one more key, a list of written items, a line each."""
    start = "".join(f"{_text(name)}: {_text(value)}, " for name, value in head.items())
    lines = ",\n".join(items)
    return f"{{{start}{_text(key)}: [" + (f"\n{lines}\n" if lines else "") + "]}"


def _fields(thing: Any, *, without: str = "") -> dict[str, JSON]:
    return {name: _plain(getattr(thing, name)) for name in thing.__dataclass_fields__ if name != without}


def _plain(value: Any) -> JSON:
    if value is None or isinstance(value, str | int | float):
        return value
    if is_dataclass(value):
        return _fields(value)
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, Sequence):
        return [_plain(inner) for inner in value]
    return value  # type: ignore[no-any-return]


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False)
