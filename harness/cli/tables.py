"""Plain tables that fit a terminal."""

from __future__ import annotations

import shutil
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

WIDTH = 80
"""Columns of a table that goes to no terminal."""
GAP = "  "


@dataclass(frozen=True, slots=True)
class Column:
    """One column: `right` aligns numbers; one that may `shrink` is cut with an ellipsis to fit."""

    title: str
    right: bool = False
    shrink: bool = False


def render_table(
    columns: Sequence[Column], rows: Sequence[Sequence[object]], width: int | None = None
) -> str:
    """Return a table of at most `width` columns where the shrinking columns allow it.

    None: the terminal's width, or 80 where there is none. None in a cell is shown as "-".
    """
    cells = [[_text(cell) for cell in row] for row in rows]
    widths = [
        max([display_width(column.title), *(display_width(row[index]) for row in cells)])
        for index, column in enumerate(columns)
    ]
    _shrink(columns, widths, terminal_width() if width is None else width)
    lines = [[column.title for column in columns], ["-" * size for size in widths], *cells]
    return "\n".join(_line(columns, widths, line) for line in lines)


def named_lines(
    columns: Sequence[Column], rows: Sequence[Sequence[object]], width: int | None = None
) -> Iterator[str]:
    """Yield the lines of a table whose first cells are names that people have to type: none is cut.

    A name too long for `width` columns stands whole in a line of its own, above the rest of its row.
    """
    width = terminal_width() if width is None else width
    bare = render_table(columns, [("", *row[1:]) for row in rows], width).split("\n")
    least = display_width(columns[0].title)
    room = max(least, width - max(map(display_width, bare)) + least)
    names = [_text(row[0]) for row in rows]
    short = [name if display_width(name) <= room else "" for name in names]
    shown = [(name, *row[1:]) for name, row in zip(short, rows, strict=True)]
    title, rule, *lines = render_table(columns, shown, width).split("\n")
    yield from (title, rule)
    for name, beside, line in zip(names, short, lines, strict=True):
        if not beside:
            yield name
        yield line


def terminal_width() -> int:
    """Return the width to print for: the terminal's, or 80 where the output is none."""
    return shutil.get_terminal_size((WIDTH, 24)).columns if sys.stdout.isatty() else WIDTH


def display_width(text: str) -> int:
    """Return how many terminal columns a text takes: wide characters two, combining ones none."""
    return sum(_columns_of(character) for character in text)


def cut(text: str, width: int) -> str:
    """Return a text of at most `width` columns, ending in an ellipsis where it was cut."""
    if display_width(text) <= width:
        return text
    kept, used = "", 0
    for character in text:
        used += _columns_of(character)
        if used > width - 1:
            break
        kept += character
    return f"{kept.rstrip()}…"


def _columns_of(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _text(cell: object) -> str:
    if cell is None:
        return "-"
    text = str(cell)
    return "".join(character if character.isprintable() else "�" for character in " ".join(text.split()))


def _shrink(columns: Sequence[Column], widths: list[int], limit: int) -> None:
    """Take the excess from the widest shrinking columns, down to their titles."""
    while sum(widths) + len(GAP) * (len(widths) - 1) > limit:
        candidates = [
            index
            for index, column in enumerate(columns)
            if column.shrink and widths[index] > max(3, display_width(column.title))
        ]
        if not candidates:
            return
        widths[max(candidates, key=lambda index: widths[index])] -= 1


def _line(columns: Sequence[Column], widths: Sequence[int], cells: Sequence[str]) -> str:
    padded = []
    for column, width, cell in zip(columns, widths, cells, strict=True):
        text = cut(cell, width)
        space = " " * (width - display_width(text))
        padded.append(space + text if column.right else text + space)
    return GAP.join(padded).rstrip()
