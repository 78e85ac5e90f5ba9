"""What must stand below a printed table so that its numbers can be read: notes, and the n of each number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.report.document import Cell, Table, TableRow

MARK: Final = "(!)"
"""Stands at the name of a row, and at a number, that must not be read without its notes."""
MARK_LEGEND: Final = f"{MARK} not to be read without the notes at its name"
CELL_LEGEND: Final = f"{MARK} at a number: not to be read without the note there"
_N_COLUMN: Final = "n"


@dataclass(frozen=True, slots=True)
class TableNotes:
    """The notes of a table: `general` ones first, heads explained, then `numbered` ones, by their numbers."""

    general: Sequence[str]
    numbered: Mapping[str, int]
    _own_n: Mapping[int, int | None] | None
    """Place of a row -> the n that its other cells need not say; None: no cell says its own."""

    def at_row(self, row: TableRow) -> Sequence[int]:
        """Return the numbers of a row's notes."""
        return [self.numbered[note] for note in row.notes if note]

    def at_cell(self, cell: Cell) -> Sequence[int]:
        """Return the number of a cell's note, if it has one."""
        return [self.numbered[cell.note]] if cell.note else []

    def n_of(self, place: int, cell: Cell) -> int | None:
        """Return the n that a cell of the row at that place has to say; None where it is said already."""
        if self._own_n is None or cell.n is None or cell.n == self._own_n[place]:
            return None
        return cell.n


def table_notes(table: Table) -> TableNotes:
    """Return what stands below a table.

    One n of all numbers, or one a column, is said once, below; else a cell says its n where it is another
    than that of the row's column "n".
    """
    said = _said_once(table)
    general = [note for note in (*table.notes, said) if note]
    general += [MARK_LEGEND] if any(row.marked for row in table.rows) else []
    general += [CELL_LEGEND] if any(is_marked(cell) for row in table.rows for cell in row.cells) else []
    general += [f"{column.head}: {column.title}" for column in table.columns if column.title]
    texts = (note for row in table.rows for note in (*row.notes, *(cell.note for cell in row.cells)) if note)
    numbered = {note: at for at, note in enumerate(dict.fromkeys(texts), 1)}
    own = None if said is not None else {at: counted(table, row) for at, row in enumerate(table.rows)}
    return TableNotes(general, numbered, own)


def is_marked(cell: Cell) -> bool:
    """Tell whether a number must not be read without its note."""
    return cell.tone == "warning" and bool(cell.note)


def counting(table: Table) -> int | None:
    """Return the place of the column that says what the numbers of a row count."""
    return next((at for at, column in enumerate(table.columns) if column.id == _N_COLUMN), None)


def common_n(table: Table) -> tuple[int | None, Sequence[int | None]]:
    """Return the n of all numbers, else that of each column where no column has more than one.

    None for all where a column counts the rows' own, or where they differ within a column.
    """
    by_column = [{row.cells[at].n for row in table.rows} - {None} for at in range(len(table.columns))]
    every = set().union(*by_column) if by_column else set()
    none = [None] * len(by_column)
    if counting(table) is not None:
        return None, none
    if len(every) == 1:
        return every.pop(), none
    if all(len(found) <= 1 for found in by_column):
        return None, [next(iter(found), None) for found in by_column]
    return None, none


def counted(table: Table, row: TableRow) -> int | None:
    """Return what the column "n" says of a row; None where there is none, or it is empty."""
    place = counting(table)
    value = None if place is None else row.cells[place].value
    return value if isinstance(value, int) else None


def _said_once(table: Table) -> str | None:
    """Return the n of a whole table, or those of its columns, in words; "" where no number has one."""
    if all(cell.n is None for row in table.rows for cell in row.cells):
        return ""
    single, by_column = common_n(table)
    if single is not None:
        return f"n = {single:,} for every number"
    named = [(column.head, n) for column, n in zip(table.columns, by_column, strict=True) if n is not None]
    if not named:
        return None
    most, times = Counter(n for _, n in named).most_common(1)[0]
    if times <= len(named) / 2:
        return "n by column: " + "; ".join(f"{head}: {n:,}" for head, n in named)
    others: dict[int, list[str]] = {}
    for head, n in named:
        if n != most:
            others.setdefault(n, []).append(head)
    told = "; ".join(f"{', '.join(heads)}: {n:,}" for n, heads in others.items())
    return f"n = {most:,} for every number but: {told}"
