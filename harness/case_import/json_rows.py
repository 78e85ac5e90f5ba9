"""JSON lines, and a JSON file with a list of objects, as rows."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from harness.case_import.row import Column, Row, RowError
from harness.case_import.text_file import TextFile
from harness.file_json import TwiceError, read_json

MAX_DOCUMENT_CHARACTERS: Final = 1_000_000_000
"""Longest JSON file that is one value, which has to stand in memory whole."""

_FIRST_ROWS: Final = 100
"""Rows whose names are looked at first."""


class _NoJSONError(ValueError):
    """A text is no JSON; the message says why."""


@dataclass(frozen=True, slots=True)
class JsonLinesSource:
    """A file with one object a line. Only LF ends a line, since U+2028 may stand in text."""

    file: TextFile
    kind: str = "JSON lines"

    @property
    def folder(self) -> Path:
        """The folder below which paths in it lead."""
        return self.file.path.parent

    def columns(self, *, whole: bool = False) -> list[Column]:
        """Return the names of the first hundred objects, or of all. Raises ImportFileError."""
        return _columns(self.rows(), whole=whole)

    def rows(self, wanted: Collection[str] | None = None) -> Iterator[Row]:
        """Yield the objects; a line that is none becomes a row with a fault. Raises ImportFileError."""
        for number, (line, text) in enumerate(self._lines(), start=1):
            try:
                yield Row(number, _object(_parsed(text)), line)
            except (RowError, _NoJSONError) as error:
                yield Row(number, {}, line, str(error))

    def _lines(self) -> Iterator[tuple[int, str]]:
        with self.file.opened() as stream:
            pending = ""
            number = 1
            for part in stream:  # a part may end at a lone CR, which ends no line of JSON lines
                pending += part
                if pending.endswith("\n"):
                    if pending.strip():
                        yield number, pending
                    number, pending = number + 1, ""
            if pending.strip():
                yield number, pending


@dataclass(frozen=True, slots=True)
class JsonDocumentSource:
    """A file that is one JSON value: a list of objects, or an object with one such list in it."""

    file: TextFile
    kind: str = "JSON"

    @property
    def folder(self) -> Path:
        """The folder below which paths in it lead."""
        return self.file.path.parent

    def columns(self, *, whole: bool = False) -> list[Column]:
        """Return the names of all objects. Raises ImportFileError."""
        return _columns(self.rows(), whole=True)

    def rows(self, wanted: Collection[str] | None = None) -> Iterator[Row]:
        """Yield the objects of the list. Raises ImportFileError."""
        for number, item in enumerate(self._items(), start=1):
            try:
                yield Row(number, _object(item))
            except RowError as error:
                yield Row(number, {}, fault=str(error))

    def _items(self) -> Sequence[object]:
        value = read_document(self.file)
        if isinstance(value, list):
            return value
        lists = [name for name, item in value.items() if _is_table(item)] if isinstance(value, dict) else []
        if isinstance(value, dict) and len(lists) == 1:
            items: Sequence[object] = value[lists[0]]
            return items
        named = f" ({', '.join(map(repr, lists))})" if lists else ""
        raise self.file.error(
            f"it must be a list of objects, or an object with one such list; it has {len(lists)}{named}"
        )


def read_document(file: TextFile) -> object:
    """Return the one JSON value of a file. Raises ImportFileError."""
    with file.opened() as stream:
        text = stream.read(MAX_DOCUMENT_CHARACTERS + 1)
    if len(text) > MAX_DOCUMENT_CHARACTERS:
        raise file.error(
            f"it is one JSON value of over {MAX_DOCUMENT_CHARACTERS:,} characters; write it as JSON lines"
        )
    try:
        return _parsed(text)
    except _NoJSONError as error:
        raise file.error(str(error)) from error


def json_source(file: TextFile) -> JsonLinesSource | JsonDocumentSource:
    """Return a `.json` file as what it is: some hold JSON lines all the same. Raises ImportFileError."""
    with file.opened() as stream:
        lines = [line for line in islice(stream, 100) if line.strip()]
    if len(lines) > 1 and all(line.lstrip().startswith("{") for line in lines[:2]):
        try:
            _parsed(lines[0])
        except _NoJSONError:
            return JsonDocumentSource(file)
        return JsonLinesSource(file)
    return JsonDocumentSource(file)


def _columns(rows: Iterator[Row], *, whole: bool) -> list[Column]:
    names: dict[str, None] = {}
    for row in rows if whole else islice(rows, _FIRST_ROWS):
        names |= dict.fromkeys(row.cells)
    return [Column(name) for name in names]


def _is_table(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value[:10])


def _object(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise RowError("is no JSON object")
    return value


def _parsed(text: str) -> object:
    try:
        return read_json(text)
    except TwiceError as error:
        raise _NoJSONError(f"the name {error.name!r} stands in one object twice") from error
    except json.JSONDecodeError as error:
        raise _NoJSONError(f"no JSON: {error.msg} at line {error.lineno} column {error.colno}") from error
    except (ValueError, RecursionError) as error:
        raise _NoJSONError(f"no JSON: {error}") from error
