"""A report as Markdown with GitHub's tables: every text is text, none is HTML, a link or a heading.

The file stands in the report's folder: its figures and tables are links to the files beside it. A number's
interval stands in brackets behind it, notes below their table by number, those of rows and cells alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from harness.report.cell_notes import MARK, TableNotes, is_marked, table_notes
from harness.report.document import Cell, Facts, Figure, Paragraph, Part, Report, Section, Table, TableRow
from harness.report.parts import sections
from harness.report.plain_text import visible

_SPECIAL: Final = re.compile(
    r"[\\`*\[\]<>|~&$#]"
    # Within a word of letters and digits it is no emphasis.
    r"|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])"
    # Addresses would become links, and names of people or of emoji something else.
    r"|:(?=//)|(?<=www)\.|@|:(?=[\w+-]+:)",
    re.IGNORECASE,
)
_BLOCK: Final = re.compile(r"([+=-]|[0-9]{1,9}(?=[.)]( |$)))")
"""What makes a list, a rule, or a title of the line above, at the start of a line."""
_DEEPEST: Final = 6


def markdown(report: Report) -> str:
    """Return a report as Markdown text that ends in a line feed."""
    return "\n\n".join(_blocks(report)) + "\n"


def markdown_text(text: str) -> str:
    """Return a text as Markdown that shows it within a line: every mark escaped that would act."""
    return _SPECIAL.sub(r"\\\g<0>", visible(text).strip())


def _line(text: str) -> str:
    """Return a text that begins a line likewise."""
    found = markdown_text(text)
    start = _BLOCK.match(found)
    if start is None:
        return found
    cut = start.end() - (not start[0].isdigit())
    return f"{found[:cut]}\\{found[cut:]}"


def _bold(text: str) -> str:
    found = markdown_text(text)
    return f"**{found}**" if found else ""


def _blocks(report: Report) -> Iterator[str]:
    yield f"# {markdown_text(report.title)}"
    for warning in report.warnings:
        yield f"> {_bold(warning)}"
    for level, section in sections(report):
        yield from _section(level, section)


def _section(level: int, section: Section) -> Iterator[str]:
    yield f"{'#' * min(level + 1, _DEEPEST)} {markdown_text(section.title)}"
    for part in section.parts:
        yield from _part(part)


def _part(part: Part) -> Iterator[str]:
    match part:
        case Paragraph(text=text, tone="plain"):
            yield _line(text)
        case Paragraph(text=text, tone=tone):
            yield f"> **{tone.capitalize()}:** {markdown_text(text)}"
        case Table():
            yield from _table(part)
        case Figure():
            yield f"![{markdown_text(part.alt)}](figures/{part.id}.svg)"
            caption = f" {markdown_text(part.caption)}" if part.caption else ""
            yield f"**{markdown_text(part.title)}.**{caption} [Its numbers](tables/{part.table}.csv)"
        case Facts():
            yield _bold(part.title)
            yield "\n".join(f"- {_bold(term)}: {markdown_text(said)}" for term, said in part.items)


def _table(table: Table) -> Iterator[str]:
    notes = table_notes(table)
    caption = f" {markdown_text(table.caption)}" if table.caption else ""
    yield f"**{markdown_text(table.title)}.**{caption} [CSV](tables/{table.id}.csv)"
    heads = [markdown_text(table.names), *(markdown_text(column.head) for column in table.columns)]
    rules = [":--", *("--:" if column.numeric else ":--" for column in table.columns)]
    rows = [_row(at, row, notes) for at, row in enumerate(table.rows)]
    yield "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, rules, *rows))
    lines = [f"- {_reference([number])}: {markdown_text(note)}" for note, number in notes.numbered.items()]
    lines += [f"- {_line(note)}" for note in notes.general]
    if lines:
        yield "\n".join(lines)


def _row(at: int, row: TableRow, notes: TableNotes) -> Sequence[str]:
    kind = "" if row.kind in ("model", "other") else f"*{row.kind}*"
    mark = MARK if row.marked else ""
    name = _spaced(markdown_text(row.name), kind, mark, _reference(notes.at_row(row)))
    return [name, *(_cell(cell, notes.n_of(at, cell), notes.at_cell(cell)) for cell in row.cells)]


def _cell(cell: Cell, n: int | None, numbers: Sequence[int]) -> str:
    shown = _bold(cell.text) if cell.tone == "warning" else markdown_text(cell.text)
    beside = [markdown_text(cell.interval)] if cell.interval else []
    beside += [] if n is None else [f"n={n:,}"]
    mark = MARK if is_marked(cell) else ""
    return _spaced(shown, mark, f"({'; '.join(beside)})" if beside else "", _reference(numbers))


def _reference(numbers: Sequence[int]) -> str:
    return rf"\[{', '.join(map(str, numbers))}\]" if numbers else ""


def _spaced(*texts: str) -> str:
    return " ".join(text for text in texts if text)
