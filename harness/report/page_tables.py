"""A table as the page shows it: rows by kind, notes by letter, what its numbers count, what fits on paper."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from harness.report.cell_notes import common_n, counted, counting
from harness.report.document import KIND_HEADS, Cell, Column, Table, TableRow

TALL_ROWS = 16
"""Rows from which on the heads of a table stay in view while it is scrolled."""

PORTRAIT_EM = 66.0
LANDSCAPE_EM = 100.0
"""Widths of a table that paper takes, upright and across, in its font size when printed."""

_NAME_EM = 15.0
_TEXT_EM = 16.0
_CHAR_EM = 0.58
_SMALL = 0.85
_PADDING_EM = 1.1


@dataclass(frozen=True, slots=True)
class Note:
    """What is printed below a table; `mark` is the letter by which rows and cells refer to it."""

    mark: str
    text: str


@dataclass(frozen=True, slots=True)
class ShownCell:
    """A cell; `marks` are the letters of its notes, `n` is there where nothing else says it."""

    cell: Cell
    column: Column
    marks: Sequence[str]
    n: int | None


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A row; `n` is that of all its numbers, where no column says it."""

    row: TableRow
    cells: Sequence[ShownCell]
    marks: Sequence[str]
    n: int | None


@dataclass(frozen=True, slots=True)
class Group:
    """Rows of one kind; `title` is empty where a table has no other."""

    title: str
    rows: Sequence[ShownRow]


@dataclass(frozen=True, slots=True)
class ShownTable:
    """A table as the page has it.

    `n` is that of all its numbers, `column_n` that of a column's, where no column "n" says it. `first` has
    where each letter stands first, as (row, cell or -1 for the name, letter): there notes lead back to.
    `paper` is how it is printed: "upright", "across" or "split", in ranges of columns: `splits`.
    """

    table: Table
    groups: Sequence[Group]
    notes: Sequence[Note]
    first: frozenset[tuple[int, int, str]]
    n: int | None
    column_n: Sequence[int | None]
    paper: str
    splits: Sequence[tuple[int, int]]

    @property
    def explained(self) -> Sequence[Column]:
        """The columns whose heads are explained below the table."""
        return [column for column in self.table.columns if column.title and column.title != column.head]

    @property
    def has_intervals(self) -> bool:
        """Whether any number has an interval."""
        return any(cell.interval for row in self.table.rows for cell in row.cells)

    @property
    def tall(self) -> bool:
        """Whether its heads stay in view while it is scrolled."""
        return len(self.table.rows) >= TALL_ROWS


class _Letters:
    """Notes in the order in which they are first read, a letter each."""

    def __init__(self) -> None:
        self.notes: dict[str, Note] = {}

    def of(self, texts: Sequence[str]) -> Sequence[str]:
        """Return the letters of some notes, new ones for those not met before."""
        marks = []
        for text in dict.fromkeys(texts):
            if text.strip():
                note = self.notes.setdefault(text, Note(_letter(len(self.notes)), text))
                marks.append(note.mark)
        return marks


def shown_table(table: Table) -> ShownTable:
    """Return a table with its notes lettered, its rows grouped and its counts in one place.

    Raises ValueError for a row that has not a cell for every column.
    """
    for row in table.rows:
        if len(row.cells) != len(table.columns):
            raise ValueError(
                f"row {row.name[:80]!r} of table {table.id!r} has {len(row.cells)} cells "
                f"for {len(table.columns)} columns"
            )
    letters = _Letters()
    single, column_n = common_n(table)
    rows = [_row(table, row, letters, single, column_n) for row in table.rows]
    kinds = {row.kind for row in table.rows}
    groups = [
        Group(KIND_HEADS[kind] if len(kinds) > 1 else "", list(found))
        for kind, found in groupby(rows, lambda one: one.row.kind)
    ]
    notes = list(letters.notes.values())
    return ShownTable(table, groups, notes, _first(rows), single, column_n, *_paper(table))


def _row(
    table: Table, row: TableRow, letters: _Letters, single: int | None, column_n: Sequence[int | None]
) -> ShownRow:
    marks = letters.of(row.notes)
    own, said = _said(table, row, single, column_n)
    cells = [
        ShownCell(cell, column, letters.of([cell.note]), cell.n if cell.n != n else None)
        for cell, column, n in zip(row.cells, table.columns, said, strict=True)
    ]
    return ShownRow(row, cells, marks, own)


def _said(
    table: Table, row: TableRow, single: int | None, column_n: Sequence[int | None]
) -> tuple[int | None, Sequence[int | None]]:
    """Return the n to be said at the name of a row, and by cell the one that need not be said there."""
    if counting(table) is not None:
        return None, [counted(table, row)] * len(row.cells)
    if single is not None:
        return None, [single] * len(row.cells)
    if any(n is not None for n in column_n):
        return None, column_n
    found = {cell.n for cell in row.cells if cell.n is not None}
    own = found.pop() if len(found) == 1 else None
    return own, [own] * len(row.cells)


def _first(rows: Sequence[ShownRow]) -> frozenset[tuple[int, int, str]]:
    places: dict[str, tuple[int, int, str]] = {}
    for at, row in enumerate(rows):
        for where, marks in enumerate([row.marks, *(cell.marks for cell in row.cells)], start=-1):
            for mark in marks:
                places.setdefault(mark, (at, where, mark))
    return frozenset(places.values())


def _paper(table: Table) -> tuple[str, Sequence[tuple[int, int]]]:
    widths = [_width(table, at) for at in range(len(table.columns))]
    whole = _NAME_EM + sum(widths)
    if whole <= PORTRAIT_EM:
        return "upright", ()
    if whole <= LANDSCAPE_EM or len(widths) < 2:
        return "across", ()
    return "split", list(_splits(widths))


def _splits(widths: Sequence[float]) -> Iterator[tuple[int, int]]:
    """Yield ranges of columns about equally wide, none wider than paper takes unless it is a single one."""
    room = LANDSCAPE_EM - _NAME_EM
    pieces = -(-sum(widths) // room)
    fair = min(room, sum(widths) / pieces + max(widths))
    start, used = 0, 0.0
    for at, width in enumerate(widths):
        if at > start and used + width > fair:
            yield start, at
            start, used = at, 0.0
        used += width
    yield start, len(widths)


def _width(table: Table, at: int) -> float:
    """Return about how wide a column is, in em: its longest word, value or interval."""
    column = table.columns[at]
    words = re.split(r"[\s-]", column.head[:200])
    longest = max(map(len, words)) * _SMALL
    for row in table.rows:
        cell = row.cells[at]
        longest = max(longest, len(cell.text) + (1 if cell.note else 0), len(cell.interval) * _SMALL)
    return min(longest * _CHAR_EM, _TEXT_EM) + _PADDING_EM


def _letter(at: int) -> str:
    """Return the letter of a note by its place: a to z, aa to zz, and so on."""
    name = ""
    at += 1
    while at:
        at, digit = divmod(at - 1, 26)
        name = chr(ord("a") + digit) + name
    return name
