"""All formats of a report say the same, and every text in them is text."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from report.read_back import HAS_PAGE, Seen, csv_rows, from_latex, written
from report.report_examples import HOSTILE, LONG, REPORTS, hostile_report, rich_report, tables_of

from harness.report.cell_notes import table_notes
from harness.report.cells import absent_cell
from harness.report.csv_tables import csv_table
from harness.report.document import Cell, Column, Paragraph, Report, Section, Table, TableRow
from harness.report.json_report import report_json
from harness.report.latex import FLOAT_LINES, latex_document, latex_table
from harness.report.latex_text import LONGEST, latex_text
from harness.report.markdown import markdown, markdown_text
from harness.report.plain_text import visible

TEXTS = ("csv", "json", "markdown", "latex")
FORMATS = (*TEXTS, "html") if HAS_PAGE else TEXTS
NUMBER = re.compile(r"[+-]?[0-9][0-9,.]*|-?")


def a_table(*cells: Cell, rows: int = 1, **changes: Any) -> Table:
    columns = [Column(f"c{at}", f"c {at}") for at in range(len(cells))]
    return replace(Table("t", "T", columns, [TableRow(f"row {at}", cells) for at in range(rows)]), **changes)


def a_report(*tables: Table, **changes: Any) -> Report:
    return replace(Report("R", [Section("s", "S", tables)]), **changes)


def whole(seen: Seen, cell: Cell) -> tuple[str, str]:
    """Return a cell as it was seen, after checking the n that it says of itself."""
    if seen.n is not None:
        assert seen.n == cell.n
    return seen.text, seen.interval


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", REPORTS)
def test_every_number_and_interval_is_the_same_in_every_format(name: str, form: str) -> None:
    report = REPORTS[name]()
    for table in tables_of(report):
        text, read = written(report)[form]
        grid = read(text(table), table)
        assert len(grid.cells) == len(table.rows)
        counted = 0
        for place, row in enumerate(table.rows):
            for cell, seen in zip(row.cells, grid.cells[place], strict=True):
                if NUMBER.fullmatch(cell.text):
                    assert whole(seen, cell) == (cell.text, cell.interval)
                    counted += bool(cell.text)
        assert counted >= len(table.rows)


@pytest.mark.parametrize("form", TEXTS)
def test_hostile_texts_come_back_as_texts(form: str) -> None:
    report = hostile_report()
    (table,) = tables_of(report)
    text, read = written(report)[form]
    grid = read(text(table), table)
    lossless = form in ("csv", "json")
    for row, name, cells in zip(table.rows, grid.names, grid.cells, strict=True):
        for true, seen in ((row.name, name), (row.cells[0].text, cells[0].text)):
            if lossless:
                assert seen == true
            elif form == "latex" and len(true) > LONGEST:
                assert seen.startswith(
                    f"{true[:LONGEST]} [and {len(true) - LONGEST:,} more characters, in report.json]"
                )
            else:
                assert " ".join(seen.split()).startswith(" ".join(visible(true).split()))


@pytest.mark.parametrize("name", REPORTS)
def test_json_holds_everything_that_a_report_does(name: str) -> None:
    report = REPORTS[name]()
    text = report_json(report)
    assert text.isascii() and text.endswith("}\n")
    found = json.loads(text)
    assert (found.pop("format"), found.pop("schema_version")) == ("harness report", 1)
    assert found == plain(report)


def plain(thing: Any) -> Any:
    """Return a report as JSON should have it, cells by the ids of their columns."""
    if isinstance(thing, Table):
        rows = [
            plain(row)
            | {"cells": {one.id: plain(cell) for one, cell in zip(thing.columns, row.cells, strict=True)}}
            for row in thing.rows
        ]
        return own(thing) | {"type": "table", "rows": rows}
    if is_dataclass(thing):
        typed = (
            {}
            if isinstance(thing, Report | Section | TableRow | Cell | Column) or marked(thing)
            else kind(thing)
        )
        return own(thing) | typed
    if isinstance(thing, dict):
        return {name: plain(value) for name, value in thing.items()}
    return [plain(one) for one in thing] if isinstance(thing, list | tuple) else thing


def own(thing: Any) -> dict[str, Any]:
    return {one.name: plain(getattr(thing, one.name)) for one in fields(thing)}


def marked(thing: Any) -> bool:
    return type(thing).__name__ == "Point"


def kind(thing: Any) -> dict[str, str]:
    return {"type": type(thing).__name__.lower()}


def test_json_refuses_what_is_no_number() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        report_json(a_report(a_table(Cell("nan", float("nan")))))


@pytest.mark.parametrize("name", REPORTS)
def test_the_same_report_gives_the_same_bytes(name: str) -> None:
    REPORTS[name].cache_clear()  # type: ignore[attr-defined]
    first, second = REPORTS[name](), REPORTS[name].__wrapped__()  # type: ignore[attr-defined]
    assert first is not second
    for write in (report_json, markdown, latex_document):
        assert write(first) == write(second)
    for one, other in zip(tables_of(first), tables_of(second), strict=True):
        assert csv_table(one, first.warnings) == csv_table(other, second.warnings)
        assert latex_table(one, first.warnings) == latex_table(other, second.warnings)


def test_warnings_stand_in_every_file() -> None:
    report = rich_report()
    (warning,) = report.warnings
    for table in tables_of(report):
        assert {row["warnings"] for row in csv_rows(csv_table(table, report.warnings))} == {warning}
        assert warning in latex_table(table, report.warnings)
    assert warning in latex_document(report)
    assert markdown(report).split("\n\n")[1] == f"> **{warning}**"
    assert json.loads(report_json(report))["warnings"] == [warning]


# CSV


def test_csv_holds_each_number_in_full_beside_what_is_shown() -> None:
    report = rich_report()
    for table in tables_of(report):
        rows = csv_rows(csv_table(table, report.warnings))
        for row, found in zip(table.rows, rows, strict=True):
            assert (found["kind"], found["marked"]) == (row.kind, "true" if row.marked else "false")
            assert found.get("notes", "") == "; ".join(row.notes)
            for column, cell in zip(table.columns, row.cells, strict=True):
                value = found.get(f"{column.id}:value", found[column.id])
                if isinstance(cell.value, int | float):
                    assert float(value) == cell.value
                for end in ("n", "low", "high"):
                    text = found.get(f"{column.id}:{end}", "")
                    assert (float(text) if text else None) == getattr(cell, end)
                assert found.get(f"{column.id}:note", "") == cell.note


@pytest.mark.parametrize("name", REPORTS)
def test_csv_has_no_live_formula(name: str) -> None:
    report = REPORTS[name]()
    for table in tables_of(report):
        for cell in raw_cells(csv_table(table, report.warnings)):
            harmless = re.fullmatch(r"[+-]?[0-9][0-9,.]*(?:(?:-| to )[+-]?[0-9][0-9,.]*)?|-", cell)
            assert harmless or not re.match("[=+\\-@\t\r\uff1d\uff0b\uff0d\uff20]", cell.strip()), cell[:80]


def raw_cells(text: str) -> Iterator[str]:
    import csv
    import io

    csv.field_size_limit(10**9)
    for row in csv.reader(io.StringIO(text, newline=""), strict=True):
        yield from row


@pytest.mark.parametrize(
    "text", ["-0.023", "+0.021", "-0.04 to 0.04", "12", "1,200", "45.0 %", "-", "0.10-0.20"]
)
def test_csv_leaves_shown_numbers_as_they_are(text: str) -> None:
    assert list(raw_cells(csv_table(a_table(Cell(text)))))[-2] == text


@pytest.mark.parametrize(
    "text", ["-1+cmd", "+1+1", "-A1", "--1", "=1", "-1 to A1", "@1", "-2+3", "'1", "1\n=2"]
)
def test_csv_escapes_all_else_that_starts_like_a_formula(text: str) -> None:
    (found,) = csv_rows(csv_table(a_table(Cell(text))))
    assert found["c0"] == text
    raw = list(raw_cells(csv_table(a_table(Cell(text)))))[-2]
    assert raw.startswith("'") or raw == r"1\n=2"


def test_csv_is_one_line_a_row() -> None:
    report = hostile_report()
    (table,) = tables_of(report)
    text = csv_table(table, report.warnings)
    assert text.encode("utf-8").count(b"\n") == len(text.splitlines()) == len(table.rows) + 1


def test_csv_of_pandas_has_numbers() -> None:
    pandas = pytest.importorskip("pandas")
    import io

    frame = pandas.read_csv(io.StringIO(csv_table(tables_of(rich_report())[0])))
    assert frame["exact_match.fine:value"].dtype == float
    assert frame["exact_match.fine:value"][0] == 0.61


def test_csv_of_pandas_has_numbers_beside_rows_without_one() -> None:
    pandas = pytest.importorskip("pandas")
    import io

    rows = [TableRow("a", [Cell("1", 1)]), TableRow("b", [absent_cell()])]
    text = csv_table(Table("t", "T", [Column("rank", "#", numeric=True)], rows))
    assert pandas.read_csv(io.StringIO(text))["rank"][0] == "1"
    assert pandas.read_csv(io.StringIO(text), na_values="-")["rank"][0] == 1  # as docs/report.md says


# Markdown


def test_markdown_shows_plain_texts_without_a_backslash() -> None:
    for text in (
        "0.61",
        "-0.02 to 0.03",
        "openai/gpt-4.1-mini@eu"[:19],
        "exact_match",
        "sha256 abab: 3 of 4 (75 %)",
    ):
        assert markdown_text(text) == text


@pytest.mark.parametrize(
    "text", ["# a", "- a", "+ a", "1. a", "12) a", "---", "===", "> a", "* a", "    a", "\ta", "1."]
)
def test_a_paragraph_is_no_block_of_another_kind(text: str) -> None:
    line = markdown(Report("R", [Section("s", "S", [Paragraph(text)])])).split("\n\n")[-1].rstrip("\n")
    assert not re.match(r" |#|[-+*>] |-{3}|={3}|[0-9]+[.)](?: |$)", line)
    assert re.sub(r"\\(\W)", r"\1", line) == text.strip()


def test_markdown_of_hostile_texts_has_the_lines_that_it_should() -> None:
    """No line break, heading, quote or table of anybody's makes a line of its own."""
    lines = markdown(hostile_report()).split("\n")
    (table,) = tables_of(hostile_report())
    assert sum(line.startswith("|") for line in lines) == len(table.rows) + 2
    assert sum(line.startswith("#") for line in lines) == 2 + len(HOSTILE)
    assert sum(line.startswith("![") for line in lines) == 7
    assert not any(char in line for line in lines for char in "\x00\x0b\x1b\u2028\u202e\ud800")


# LaTeX


def test_latex_of_long_tables_runs_over_pages() -> None:
    cells = [Cell("-0.25", -0.25, 3, -0.5, 0.5, "-0.50 to 0.50")]
    for rows, environment in ((FLOAT_LINES, "tabular"), (FLOAT_LINES + 1, "longtable")):
        table = a_table(*cells, rows=rows)
        text = latex_table(table)
        assert f"\\begin{{{environment}}}" in text
        grid = from_latex(text, table)
        assert list(grid.names) == [row.name for row in table.rows]
        assert {row[0] for row in grid.cells} == {Seen("-0.25", "-0.50 to 0.50")}


def test_latex_of_tables_with_many_notes_or_lines_is_never_cut_at_the_end_of_a_page() -> None:
    few, many = (a_table(Cell("1"), notes=[f"note {at}" for at in range(number)]) for number in (3, 40))
    assert latex_table(few).endswith("\\end{table}\n")
    assert "\\begin{table}" not in latex_table(many) and latex_table(many).count("note ") == 40
    wrapped = a_table(Cell("several words " * 30), rows=20)
    assert "\\begin{longtable}" in latex_table(wrapped)


def test_latex_names_characters_that_a_font_may_lack() -> None:
    assert latex_text("a\u3164") == "a{[}U+3164{]}"
    assert latex_text("患é\u202e") == r"\harnesschar{60A3}{患}\'{e}{[}U+202E{]}"


def test_latex_breaks_long_words_and_cuts_texts_that_no_page_holds() -> None:
    text = latex_text(LONG)
    assert text.count(r"\allowbreak{}") == LONGEST // 25 - 1
    assert text.endswith("{[}and 199,000 more characters, in report.json{]}")


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX is installed")
@pytest.mark.parametrize("name", REPORTS)
def test_latex_can_be_typeset(name: str, tmp_path: Path) -> None:
    report = REPORTS[name]()
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables.tex").write_text(latex_document(report), encoding="utf-8")
    for table in tables_of(report):
        (tmp_path / f"tables/{table.id}.tex").write_text(
            latex_table(table, report.warnings), encoding="utf-8"
        )
    done = subprocess.run(
        [
            "pdflatex",
            "-interaction=nonstopmode",
            "-halt-on-error",
            "-no-shell-escape",
            "-draftmode",
            "tables.tex",
        ],
        cwd=tmp_path,
        capture_output=True,
        timeout=300,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "openin_any": "p"},
    )
    assert done.returncode == 0, done.stdout[-2000:]


# What stands below a table


def test_one_n_is_said_once_below() -> None:
    notes = table_notes(a_table(Cell("0.5", 0.5, 9), Cell("0.6", 0.6, 9), rows=2))
    assert list(notes.general) == ["n = 9 for every number"]
    assert notes.n_of(0, Cell("0.5", 0.5, 9)) is None


def test_an_n_of_most_columns_is_said_with_the_others() -> None:
    cells = [Cell("0.5", 0.5, 9), Cell("0.6", 0.6, 9), Cell("0.7", 0.7, 4000)]
    assert list(table_notes(a_table(*cells, rows=2)).general) == ["n = 9 for every number but: c 2: 4,000"]


def test_an_n_a_column_is_said_once_below() -> None:
    notes = table_notes(a_table(Cell("0.5", 0.5, 9), Cell("0.6", 0.6, 4000), rows=2))
    assert list(notes.general) == ["n by column: c 0: 9; c 1: 4,000"]


def test_else_each_cell_says_its_own_n() -> None:
    table = a_table(Cell("0.5", 0.5, 9000), Cell("0.6", 0.6, 4))
    table = replace(table, rows=[*table.rows, TableRow("other", [Cell("0.1", 0.1, 8), Cell("0.2", 0.2, 4)])])
    assert not table_notes(table).general
    for form in ("markdown", "latex"):
        text, read = written(a_report(table))[form]
        assert [[cell.n for cell in row] for row in read(text(table), table).cells] == [[9000, 4], [8, 4]]


def test_the_n_of_a_rows_column_is_not_said_again() -> None:
    table = a_table(Cell("9", 9), Cell("0.5", 0.5, 9), Cell("0.6", 0.6, 4))
    table = replace(table, columns=[Column("n", "n"), *table.columns[1:]])
    text, read = written(a_report(table))["markdown"]
    assert [cell.n for cell in read(text(table), table).cells[0]] == [None, None, 4]


def test_equal_notes_have_one_number_and_marked_rows_are_explained() -> None:
    table = a_table(Cell("-", note="why"), Cell("-", note="why"), Cell("-", note="else"))
    table = replace(table, rows=[replace(table.rows[0], marked=True, notes=["else"])])
    notes = table_notes(table)
    assert notes.numbered == {"else": 1, "why": 2}
    assert [one for one in notes.general if "(!)" in one]
    assert "row 0 (!)" in markdown(a_report(table)) and "row 0 (!)" in latex_table(table)


def test_a_number_that_needs_its_note_is_marked_in_every_text() -> None:
    doubtful = Cell("0.85", 0.85, 24, 0.87, 1.0, "0.87-1.00", "outside its own interval", "warning")
    table = a_table(doubtful, Cell("0.50", 0.5, 24, 0.4, 0.6, "0.40-0.60"))
    legend = "(!) at a number: not to be read without the note there"
    assert r"**0.85** (!) (0.87-1.00) \[1\] | 0.50 (0.40-0.60)" in markdown(a_report(table))
    assert r"\textbf{0.85} (!) (0.87-1.00)" in latex_table(table)
    assert table_notes(table).general.count(legend) == 1
    unsaid = a_table(replace(doubtful, note=""))
    assert legend not in table_notes(unsaid).general
    assert "(!)" not in markdown(a_report(unsaid))
