"""What must stand below a printed table so that its numbers can be read: notes, and the n of each number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.report.document import Cell, Table, TableRow

MARK: Final = "(!)"
"""Stands at the name of a row that must not be read without its notes."""
MARK_LEGEND: Final = f"{MARK} not to be read without the notes at its name"
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
    general += [f"{column.head}: {column.title}" for column in table.columns if column.title]
    texts = (note for row in table.rows for note in (*row.notes, *(cell.note for cell in row.cells)) if note)
    numbered = {note: at for at, note in enumerate(dict.fromkeys(texts), 1)}
    own = None if said is not None else {at: _own_n(table, row) for at, row in enumerate(table.rows)}
    return TableNotes(general, numbered, own)


def _said_once(table: Table) -> str | None:
    """Return the n of a whole table, or those of its columns, in words; "" where no number has one."""
    by_column = [{cell.n for cell in cells if cell.n is not None} for cells in _columns(table)]
    every = set().union(*by_column) if by_column else set()
    if not every:
        return ""
    if any(column.id == _N_COLUMN for column in table.columns):
        return None
    if len(every) == 1:
        return f"n = {every.pop():,} for every number"
    if any(len(found) > 1 for found in by_column):
        return None
    named = zip(table.columns, by_column, strict=True)
    return "n: " + "; ".join(f"{column.head} {found.pop():,}" for column, found in named if found)


def _columns(table: Table) -> Iterator[Sequence[Cell]]:
    for at in range(len(table.columns)):
        yield [row.cells[at] for row in table.rows]


def _own_n(table: Table, row: TableRow) -> int | None:
    for column, cell in zip(table.columns, row.cells, strict=True):
        if column.id == _N_COLUMN and isinstance(cell.value, int):
            return cell.value
    return None
