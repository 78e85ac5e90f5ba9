"""What stands in a table, without its text: each column, its type, and the shape of its first value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from harness.canonical import JSON
from harness.case_import.cells import is_empty
from harness.case_import.literals import looks_like_one, read_literal
from harness.case_import.media_files import kind_in_base64
from harness.case_import.row import CellError, Source
from harness.image_structure import sniff
from harness.video_structure import sniff_video

_FIRST_ROWS: Final = 100
_START: Final = 24
"""Characters of a text that are shown."""
_FEW: Final = 6
"""Names of an object that are shown."""


@dataclass(frozen=True, slots=True)
class Described:
    """A column: its type, and what its first value is; None where the first hundred rows have none."""

    name: str
    type: str
    first: str | None


def described(source: Source) -> list[Described]:
    """Return the columns of a source in order. Raises ImportFileError."""
    columns = source.columns()
    first: dict[str, object] = {}
    for row in islice(source.rows(), _FIRST_ROWS):
        for name, cell in row.cells.items():
            if name not in first and not is_empty(cell):
                first[name] = cell
    return [
        Described(
            one.name,
            one.type or (_type(first[one.name]) if one.name in first else "null"),
            shape(first[one.name]) if one.name in first else None,
        )
        for one in columns
    ]


def shape(value: object) -> str:
    """Return what a value is, at most the start of a text in it."""
    match value:
        case str():
            return _text(value)
        case bytes():
            return f"{sniff(value) or sniff_video(value) or 'no image'}, {len(value):,} bytes"
        case list():
            return f"list of {len(value)}" + (f": {shape(value[0])}" if value else "")
        case Mapping():
            names = [str(name) for name in value]
            if {*names} <= {"bytes", "path"} and value.get("bytes") is not None:
                return shape(value["bytes"])
            more = ", ..." if len(names) > _FEW else ""
            return f"object: {', '.join(names[:_FEW])}{more}"
        case _:
            return str(value)[:_START]


def _text(value: str) -> str:
    if (mime := kind_in_base64(value)) is not None:
        return f"{mime} in base64, {len(value):,} characters"
    if looks_like_one(value) and len(value) < 1_000_000:
        try:
            return f"text of a {shape(read_literal(value))}"
        except CellError:
            pass
    start = value[:_START]
    length = "1 character" if len(value) == 1 else f"{len(value):,} characters"
    return f"{length}: {start!r}{'...' if len(value) > _START else ''}"


def _type(value: object) -> str:
    names: Mapping[type, str] = {
        str: "text",
        bool: "true/false",
        int: "number",
        float: "number",
        list: "list",
        dict: "object",
    }
    return names.get(type(value), type(value).__name__)


def to_json(columns: list[Described]) -> list[JSON]:
    """Return described columns as facts."""
    return [{"name": one.name, "type": one.type, "first": one.first} for one in columns]
