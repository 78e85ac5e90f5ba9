r"""Tables of a report as LaTeX, with booktabs: one file a table, and a document of all of them.

A table's file is read by `\input` in a paper, whose preamble needs the packages of `PACKAGES`. A table that
is wider than the line is made as narrow. It is a float unless it has more notes than `FLOAT_NOTES`; one of
more lines than `FLOAT_LINES` runs over pages (longtable, which wants one column of text). A number's interval
stands in brackets behind it, notes below by number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from harness.report.cell_notes import MARK, TableNotes, is_marked, table_notes
from harness.report.document import KIND_HEADS, Cell, Report, Table, TableRow
from harness.report.latex_text import DEFINITION, LONGEST, latex_text
from harness.report.parts import tables
from harness.report.plain_text import visible

PACKAGES: Final = ("array", "booktabs", "graphicx", "longtable")
"""What a preamble has to load; all are in every LaTeX."""
FLOAT_LINES: Final = 45
"""A table of more lines is no float: it may run over pages."""
FLOAT_NOTES: Final = 12
"""A table with more lines of notes stays where it is read: a float is cut at the end of its page."""

_WIDE: Final = 40
"""Columns with a longer text than this many characters have a width, and break their lines."""
_CODE_POINT: Final = len("U+4E00")
_PARAGRAPH: Final = r">{\raggedright\arraybackslash}p{5cm}"
_NEGATIVE: Final = re.compile(r"-(?=[0-9])")
_UNNAMED: Final = ("model", "other")
"""Kinds of rows that stand without a head."""


def latex_table(table: Table, warnings: Sequence[str] = ()) -> str:
    """Return the file of one table, which ends in a line feed."""
    notes = table_notes(table)
    long = sum(_lines(row) for row in table.rows) > FLOAT_LINES
    lines = [
        f"% Needs {', '.join(PACKAGES)}.",
        DEFINITION,
        *(_longtable(table, notes, warnings) if long else _one_page(table, notes, warnings)),
    ]
    return "\n".join(lines) + "\n"


def latex_document(report: Report) -> str:
    """Return a document that reads the file of every table, to be typeset in the report's folder."""
    lines = [
        r"\documentclass{article}",
        r"\usepackage[a3paper,landscape,margin=15mm]{geometry}",
        *(rf"\usepackage{{{name}}}" for name in PACKAGES),
        r"\begin{document}",
        DEFINITION,
        rf"\section*{{{latex_text(report.title)}}}",
        *_warned(report.warnings),
    ]
    for table in tables(report):
        lines += [rf"\input{{tables/{table.id}}}", r"\clearpage"]
    return "\n".join([*lines, r"\end{document}"]) + "\n"


def _one_page(table: Table, notes: TableNotes, warnings: Sequence[str]) -> Iterator[str]:
    below = list(_below(notes))
    floats = len(below) <= FLOAT_NOTES
    yield r"\begin{table}" if floats else r"\par\begingroup\expandafter\def\csname @captype\endcsname{table}"
    yield r"\centering\small"
    yield _caption(table)
    yield from _warned(warnings)
    yield r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
    yield rf"\begin{{tabular}}{{{_layout(table)}}}"
    yield r"\toprule"
    yield _head(table)
    yield r"\midrule"
    yield from _rows(table, notes)
    yield r"\bottomrule"
    yield r"\end{tabular}}"
    yield from below
    yield r"\end{table}" if floats else r"\par\endgroup"


def _longtable(table: Table, notes: TableNotes, warnings: Sequence[str]) -> Iterator[str]:
    yield r"\begingroup\small\setlength{\LTcapwidth}{\linewidth}"
    yield from _warned(warnings)
    yield rf"\begin{{longtable}}{{{_layout(table)}}}"
    yield rf"{_caption(table)}\\"
    head = [r"\toprule", _head(table), r"\midrule"]
    yield from [*head, r"\endfirsthead", *head, r"\endhead", r"\bottomrule", r"\endfoot"]
    yield from _rows(table, notes)
    yield r"\end{longtable}"
    yield from _below(notes)
    yield r"\endgroup"


def _warned(warnings: Sequence[str]) -> Iterator[str]:
    for warning in warnings:
        yield rf"{{\bfseries {latex_text(warning)}\par}}"


def _caption(table: Table) -> str:
    text = f"{table.title}. {table.caption}" if table.caption else table.title
    return rf"\caption{{{latex_text(text)}}}\label{{tab:{table.id}}}"


def _layout(table: Table) -> str:
    names = [table.names, *(row.name for row in table.rows)]
    found = [_PARAGRAPH if any(_width(name) > _WIDE for name in names) else "l"]
    for at, column in enumerate(table.columns):
        wide = any(_width(row.cells[at].text) > _WIDE for row in table.rows)
        found.append(_PARAGRAPH if wide else "r" if column.numeric else "l")
    return "".join(found)


def _lines(row: TableRow) -> int:
    """Return about how many lines a row takes."""
    return max(-(-_width(text) // _WIDE) or 1 for text in (row.name, *(cell.text for cell in row.cells)))


def _width(text: str) -> int:
    """Return about how many characters a text takes; one beyond ASCII may become its code point."""
    line = visible(text[:LONGEST])
    return len(line) if line.isascii() else sum(1 if char.isascii() else _CODE_POINT for char in line)


def _head(table: Table) -> str:
    aligned = [("r" if column.numeric else "l", column.head) for column in table.columns]
    cells = [latex_text(table.names)]
    cells += [rf"\multicolumn{{1}}{{{side}}}{{{latex_text(head)}}}" for side, head in aligned]
    return _line(cells)


def _rows(table: Table, notes: TableNotes) -> Iterator[str]:
    placed = enumerate(table.rows)
    for at, (kind, rows) in enumerate(groupby(placed, key=lambda one: one[1].kind)):
        if at:
            yield r"\midrule"
        if kind not in _UNNAMED:
            head = KIND_HEADS[kind].lower()
            yield rf"\multicolumn{{{len(table.columns) + 1}}}{{l}}{{\itshape {head}}} \\"
        for place, row in rows:
            yield _row(place, row, notes)


def _row(place: int, row: TableRow, notes: TableNotes) -> str:
    mark = f" {MARK}" if row.marked else ""
    name = f"{latex_text(row.name)}{mark}{_reference(notes.at_row(row))}"
    return _line([name, *(_cell(cell, notes.n_of(place, cell), notes) for cell in row.cells)])


def _cell(cell: Cell, n: int | None, notes: TableNotes) -> str:
    text = _number(cell.text)
    shown = rf"\textbf{{{text}}}" if cell.tone == "warning" else text
    shown += f" {MARK}" if is_marked(cell) else ""
    beside = [_number(cell.interval)] if cell.interval else []
    beside += [] if n is None else [f"n{{=}}{n:,}"]
    behind = f" ({'; '.join(beside)})" if beside else ""
    return f"{shown}{behind}{_reference(notes.at_cell(cell))}"


def _number(text: str) -> str:
    """Return a text of a cell, a minus before a number as such."""
    if _NEGATIVE.match(text):
        return r"\ensuremath{-}" + latex_text(text[1:])
    return latex_text(text)


def _reference(numbers: Sequence[int]) -> str:
    return rf"\textsuperscript{{{','.join(map(str, numbers))}}}" if numbers else ""


def _line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _below(notes: TableNotes) -> Iterator[str]:
    lines = [f"{_reference([number])}{latex_text(note)}" for note, number in notes.numbered.items()]
    lines += [latex_text(note) for note in notes.general]
    if lines:
        yield r"\par\smallskip\begingroup\footnotesize\raggedright"
        yield from (rf"{line}\par" for line in lines)
        yield r"\endgroup"
