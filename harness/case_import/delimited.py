"""CSV and TSV as rows: cells keep every character that their quoting says, an empty one is None."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from harness.case_import.row import Column, Row
from harness.case_import.text_file import TextFile
from harness.errors import ConfigError

if TYPE_CHECKING:
    from _csv import Reader

MAX_CELL_CHARACTERS: Final = 100_000_000
"""Longest cell: 75 MB of an image in base64."""

_NAMES: Final = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


@dataclass(frozen=True, slots=True)
class DelimitedSource:
    """A CSV or TSV file with names in its first line. Blank lines are no rows."""

    file: TextFile
    delimiter: str

    def __post_init__(self) -> None:
        """Refuse a delimiter that is no single character. Raises ConfigError."""
        if len(self.delimiter) != 1 or self.delimiter in '"\r\n':
            raise ConfigError(f"--delimiter must be one character, got {self.delimiter!r}")

    @property
    def kind(self) -> str:
        """What it is, in words."""
        return "TSV" if self.delimiter == "\t" else "CSV"

    @property
    def folder(self) -> Path:
        """The folder below which paths in it lead."""
        return self.file.path.parent

    def columns(self, *, whole: bool = False) -> list[Column]:
        """Return the columns of the first line. Raises ImportFileError."""
        with self.file.opened() as stream:
            return [Column(name, "text") for name in self._head(self._reader(stream))]

    def rows(self, wanted: Collection[str] | None = None) -> Iterator[Row]:
        """Yield the rows after the first line. Raises ImportFileError where the quoting goes wrong."""
        with self.file.opened() as stream:
            reader = self._reader(stream)
            names = self._head(reader)
            began = reader.line_num + 1
            number = 0
            for cells in self._checked(reader):
                line, began = began, reader.line_num + 1
                if cells:
                    number += 1
                    yield _row(number, line, names, cells)

    def _reader(self, stream: IO[str]) -> Reader:
        csv.field_size_limit(MAX_CELL_CHARACTERS)
        return csv.reader(self._without_nul(stream), delimiter=self.delimiter, strict=True)

    def _without_nul(self, stream: IO[str]) -> Iterator[str]:
        for number, line in enumerate(stream, start=1):
            if "\0" in line:
                raise self.file.error(
                    f"line {number:,} holds a NUL character and is no text; export the table again"
                )
            yield line

    def _checked(self, reader: Reader) -> Iterator[list[str]]:
        try:
            yield from reader
        except csv.Error as error:
            raise self.file.error(self._quoting(reader.line_num, str(error))) from error

    def _quoting(self, line: int, fault: str) -> str:
        if "field larger" in fault:
            fault = f"a cell of more than {MAX_CELL_CHARACTERS:,} characters"
        return (
            f"line {line:,}: {fault}; look for a double quote that is never closed; write one inside of a "
            'cell twice ("")'
        )

    def _head(self, reader: Reader) -> list[str]:
        names = next(self._checked(reader), None)
        if not names:
            raise self.file.error("its first line is empty; the names of the columns belong there")
        if len(names) == 1:
            for other, called in _NAMES.items():
                if other != self.delimiter and other in names[0]:
                    raise self.file.error(
                        f"its cells seem to be separated by {called}; give --delimiter "
                        f"{'TAB' if other == chr(9) else repr(other)}"
                    )
        for name in names:
            if names.count(name) > 1:
                raise self.file.error(f"the column {name!r} stands in its first line twice; rename one")
        return names


def _row(number: int, line: int, names: list[str], cells: list[str]) -> Row:
    if len(cells) != len(names):
        fault = f"has {len(cells)} cells, and the first line has {len(names)}; quote cells with separators"
        return Row(number, {}, line, fault)
    return Row(number, {name: cell or None for name, cell in zip(names, cells, strict=True)}, line)
