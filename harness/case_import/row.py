"""One row of a table, and what a source of rows offers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


class CellError(ValueError):
    """A cell cannot become what its field wants; the message follows the field's name, as in "is empty"."""


class RowError(ValueError):
    """A row is no row of its table; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row: `number` counts data rows from 1, `line` is where it begins in a text file.

    `cells`: column -> value, None where it is empty; a column that the row does not have is left out.
    `fault`: why the row cannot be read at all.
    """

    number: int
    cells: Mapping[str, object]
    line: int | None = None
    fault: str | None = None

    @property
    def place(self) -> str:
        """Return how messages name it."""
        return f"row {self.number}" if self.line is None else f"row {self.number} (line {self.line})"


@dataclass(frozen=True, slots=True)
class Column:
    """One column, with its type in words; None: the values themselves have to tell."""

    name: str
    type: str | None = None


class Source(Protocol):
    """Rows of a file or folder, read one after the other, in memory that does not grow with them.

    Raises ImportFileError for what cannot be read.
    """

    @property
    def kind(self) -> str:
        """What it is, in words: "CSV"."""
        ...

    @property
    def folder(self) -> Path:
        """The folder below which paths in it lead."""
        ...

    def columns(self, *, whole: bool = False) -> list[Column]:
        """Return its columns; `whole`: those that only a later row has, too."""
        ...

    def rows(self, wanted: Collection[str] | None = None) -> Iterator[Row]:
        """Yield its rows in order; `wanted`: columns that are looked at, None for all."""
        ...
