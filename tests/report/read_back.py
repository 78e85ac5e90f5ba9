"""Readers of the files of a report: what a person sees in each cell, from nothing but the file's text.

They know the formats, not the code that writes them, and raise on what a format does not allow.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from importlib.util import find_spec

from harness.offline.cells import unescape_cell
from harness.report.document import Report, Table

SIZE = 10**9
END = r"[+-]?[0-9][0-9,.]*"
BEHIND = re.compile(
    rf"(?P<text>.*?)(?: \((?P<interval>{END}(?:-| to ){END})?(?:; )?(?:n=(?P<n>[0-9,]+))?\))?"
    r"(?: ?\[(?P<notes>[0-9]+(?:, ?[0-9]+)*)\])?",
    re.DOTALL,
)
"""What stands in a cell of Markdown and LaTeX: a text, its interval and its n, references to notes."""


@dataclass(frozen=True)
class Seen:
    """A cell: its text, its interval, and its n where the cell itself says it."""

    text: str
    interval: str = ""
    n: int | None = None


@dataclass(frozen=True)
class Grid:
    """A table as it is seen: names of rows, and their cells in the order of its columns."""

    names: Sequence[str]
    cells: Sequence[Sequence[Seen]]


Reader = Callable[[str, Table], Grid]


def csv_rows(text: str) -> Sequence[Mapping[str, str]]:
    """Return the rows of a CSV file, unescaped, by their heads."""
    csv.field_size_limit(SIZE)
    head, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    names = [unescape_cell(name) for name in head]
    assert len(set(names)) == len(names)
    return [dict(zip(names, map(unescape_cell, row), strict=True)) for row in rows]


def from_csv(text: str, table: Table) -> Grid:
    rows = csv_rows(text)
    cells = [
        [Seen(row[column.id], row.get(f"{column.id}:interval", "")) for column in table.columns]
        for row in rows
    ]
    return Grid([row[table.names] for row in rows], cells)


def from_json(text: str, table: Table) -> Grid:
    found = [part for part in _parts(json.loads(text)) if part.get("id") == table.id]
    assert len(found) == 1
    rows = found[0]["rows"]
    order = [column["id"] for column in found[0]["columns"]]
    cells = [
        [Seen(cell["text"], cell["interval"]) for cell in map(row["cells"].__getitem__, order)]
        for row in rows
    ]
    return Grid([row["name"] for row in rows], cells)


def _parts(section):  # type: ignore[no-untyped-def]
    yield from section.get("parts", ())
    for inner in section["sections"]:
        yield from _parts(inner)


def from_markdown(text: str, table: Table) -> Grid:
    """Read the table whose CSV is linked above it, by GitHub's rules for tables."""
    lines = text.split("\n")
    start = next(at for at, line in enumerate(lines) if line.endswith(f"[CSV](tables/{table.id}.csv)"))
    block = lines[start + 2 : lines.index("", start + 2)]
    head, rule, *rows = map(_pipes, block)
    assert len(head) == len(rule) == len(table.columns) + 1
    assert all(re.fullmatch(r":--|--:", one) for one in rule)
    for row in rows:
        assert len(row) == len(head)
    return Grid(
        [_markdown(row[0]) for row in rows], [[_seen(_markdown(cell)) for cell in row[1:]] for row in rows]
    )


def _pipes(line: str) -> list[str]:
    """Split a row of a table at its pipes, those with a backslash apart."""
    assert line.startswith("| ") and line.endswith(" |")
    return [cell.strip(" ") for cell in re.findall(r"((?:\\.|[^|\\])*)\|", line[1:])]


def _markdown(cell: str) -> str:
    """Return what is seen of inline Markdown. Raises where a mark would act that is none of the writer's."""
    bare = re.sub(r"(?<!\\)\*{1,2}(?=\S)((?:\\.|[^*\\])+)(?<=\S)\*{1,2}", r"\1", cell)
    assert not re.search(r"(?<!\\)(?:\\\\)*[`*<>\[\]~&$]", re.sub(r"\\[^\\]", "", bare.replace(r"\\", ""))), (
        cell[:200]
    )
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", bare)


def from_latex(text: str, table: Table) -> Grid:
    """Read the rows between the first rule and the last, by TeX's rules for groups and commands."""
    body = text[text.rindex("\\endfoot") :] if "\\endfoot" in text else text[text.index("\\midrule") :]
    end = body.index("\\end{longtable}") if "\\endfoot" in text else body.index("\\bottomrule")
    names, cells = [], []
    for line in body[:end].split("\n"):
        if not line.endswith(r"\\") or line.startswith(r"\multicolumn"):
            assert not line or line.startswith("\\"), line[:200]
            continue
        name, *found = [_latex(cell) for cell in _ampersands(line[: -len(r"\\")])]
        assert len(found) == len(table.columns)
        names.append(name)
        cells.append([_seen(cell) for cell in found])
    return Grid(names, cells)


def _ampersands(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)&", line)]


ONE = {
    "textbackslash": "\\", "textasciicircum": "^", "textasciitilde": "~", "textless": "<", "textgreater": ">",
    "textbar": "|", "textasciigrave": "`", "textendash": "\u2013", "textemdash": "\u2014", "allowbreak": "",
}  # fmt: skip
TAKING = re.compile(r"\\(textsuperscript|textbf|ensuremath|symbol|harnesschar)(?![A-Za-z])")
PLAIN = re.compile(r"[^\\{}$&#%_^~]")


def _latex(cell: str) -> str:
    """Return what is seen of a cell. Raises on any command but those that print a character or a mark."""
    found, at = "", 0
    while at < len(cell):
        if known := TAKING.match(cell, at):
            argument, at = _argument(cell, known.end())
            match known[1]:
                case "textsuperscript":
                    found += f"[{argument}]"
                case "symbol":
                    found += chr(int(argument))
                case "harnesschar":
                    char, at = _argument(cell, at)
                    assert len(char) == 1 and f"{ord(char):04X}" == argument
                    found += char
                case _:
                    found += _latex(argument)
        elif word := re.compile(r"\\([A-Za-z]+)\{\}").match(cell, at):
            found, at = found + ONE[word[1]], word.end()
        elif sign := re.compile(r"\\([{}$&#%_])").match(cell, at):
            found, at = found + sign[1], sign.end()
        elif accent := re.compile(r"\\([`'^~\"=.ruvHc])\{\\?([A-Za-z])\}").match(cell, at):
            found, at = found + accent[2], accent.end()
        elif cell[at] == "{":
            inner, at = _argument(cell, at)
            found += _latex(inner)
        else:
            assert PLAIN.fullmatch(cell[at]), cell[max(at - 80, 0) : at + 80]
            found, at = found + cell[at], at + 1
    return found


def _argument(text: str, at: int) -> tuple[str, int]:
    assert text[at] == "{"
    depth = 0
    for place in range(at, len(text)):
        if text[place - 1] == "\\" and text[place - 2 : place] != "\\\\":
            continue
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[at + 1 : place], place + 1
    raise AssertionError(f"a group is not closed: {text[at : at + 80]}")


def _seen(text: str) -> Seen:
    """Take a cell apart: what stands in brackets behind a number is its interval and its n."""
    found = BEHIND.fullmatch(text)
    assert found
    return Seen(
        found["text"], found["interval"] or "", int(found["n"].replace(",", "")) if found["n"] else None
    )


def from_html(text: str, table: Table) -> Grid:
    """Read the first table within the element that has the table's id, without what is for ears alone."""
    reader = _Page(table.id)
    reader.feed(text)
    reader.close()
    return Grid([row[0].text for row in reader.rows], [row[1:] for row in reader.rows])


@dataclass
class _Cell:
    text: list[str] = field(default_factory=list)
    small: list[list[str]] = field(default_factory=list)

    def seen(self) -> Seen:
        beside = ["".join(one) for one in self.small]
        counts = [int(one[2:].replace(",", "")) for one in beside if one.startswith("n ")]
        intervals = [one for one in beside if not one.startswith("n ")]
        return Seen("".join(self.text), "".join(intervals), counts[0] if counts else None)


class _Page(HTMLParser):
    """Gathers the rows of one table; `rows` have the name first."""

    UNREAD = frozenset(["flag", "unsighted", "cut"])
    VOID = frozenset(["wbr", "br", "img", "meta", "link", "input", "hr"])

    def __init__(self, identity: str) -> None:
        super().__init__(convert_charrefs=True)
        self.rows: list[list[Seen]] = []
        self._identity = identity
        self._state = "before"
        self._open: list[tuple[str, frozenset[str]]] = []
        self._cell: _Cell | None = None
        self._row: list[Seen] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("id") == self._identity:
            self._state = "at"
        if tag == "table" and self._state == "at":
            self._state = "in"
        if tag not in self.VOID:
            self._open.append((tag, frozenset((given.get("class") or "").split())))
        if self._state == "in" and tag in ("td", "th") and given.get("scope") not in ("col", "rowgroup"):
            self._cell = _Cell()
        if tag == "small" and self._cell is not None:
            self._cell.small.append([])

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass
        if tag in ("td", "th") and self._cell is not None:
            self._row.append(self._cell.seen())
            self._cell = None
        if tag == "tr" and self._row:
            self.rows.append(self._row)
            self._row = []
        if tag == "table" and self._state == "in":
            self._state = "after"

    def handle_data(self, data: str) -> None:
        if self._cell is None or any(
            tag in ("sup", "summary") or self.UNREAD & kinds for tag, kinds in self._open
        ):
            return
        if any(tag == "small" for tag, _ in self._open):
            self._cell.small[-1].append(data)
        else:
            self._cell.text.append(data)


HAS_PAGE = find_spec("harness.report.html") is not None


def written(report: Report) -> Mapping[str, tuple[Callable[[Table], str], Reader]]:
    """Return format -> how to get the text that a table of the report stands in, and its reader."""
    from harness.report.csv_tables import csv_table
    from harness.report.json_report import report_json
    from harness.report.latex import latex_table
    from harness.report.markdown import markdown
    from harness.report.parts import figures

    found: dict[str, tuple[Callable[[Table], str], Reader]] = {
        "csv": (lambda table: csv_table(table, report.warnings), from_csv),
        "json": (lambda _: report_json(report), from_json),
        "markdown": (lambda _: markdown(report), from_markdown),
        "latex": (lambda table: latex_table(table, report.warnings), from_latex),
    }
    if HAS_PAGE:
        from harness.report.html import page

        drawings = {figure.id: "<svg></svg>" for figure in figures(report)}
        found["html"] = (lambda _: page(report, drawings), from_html)
    return found
