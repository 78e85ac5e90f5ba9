"""The page of a report as a file: whole, closed to the outside, texts as text, numbers as in the data."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import pytest
from report.page_parsing import SVG, Element, parsed, wide_report
from report.report_examples import (
    HOSTILE,
    LONG,
    REPORTS,
    SYNTHETIC,
    figures_of,
    hostile_report,
    rich_report,
    tables_of,
)

from harness.report.document import (
    Cell,
    Column,
    Facts,
    Figure,
    Paragraph,
    Report,
    Section,
    Stacked,
    Table,
    TableRow,
)
from harness.report.html import page
from harness.report.page_tables import LANDSCAPE_EM, shown_table
from harness.report.page_text import PRINTED_LENGTH, brief, inline, shown

PAGES = {**REPORTS, "wide": wide_report}
TAGS = {
    *(
        "html",
        "head",
        "meta",
        "title",
        "link",
        "style",
        "body",
        "a",
        "header",
        "nav",
        "main",
        "footer",
        "section",
    ),
    *(
        "div",
        "p",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "ol",
        "ul",
        "li",
        "dl",
        "dt",
        "dd",
        "details",
        "summary",
    ),
    *("table", "caption", "thead", "tbody", "tr", "th", "td", "figure", "figcaption", "svg", "rect"),
    *("b", "bdi", "small", "span", "sup", "wbr"),
}


def drawings(report: Report) -> Mapping[str, str]:
    return {figure.id: SVG.format(id=figure.id) for figure in figures_of(report)}


def tree_of(report: Report) -> Element:
    return parsed(page(report, drawings(report)))


def one_table(*rows: TableRow, columns: int = 2, first: str = "a") -> Table:
    heads = [Column(first if not at else f"c{at}", f"head {at}") for at in range(columns)]
    return Table("t", "title", heads, rows)


def alone(table: Table) -> Element:
    return tree_of(Report("r", [Section("s", "section", [table])]))


def without_marks(cell: Element) -> str:
    """Return the text of a cell without marks of notes, small print and flags."""
    kept = [
        one if isinstance(one, str) else one.text
        for one in cell.inner
        if isinstance(one, str) or (one.name not in {"sup", "small"} and "flag" not in one.classes
                                    and "unsighted" not in one.classes)
    ]  # fmt: skip
    return "".join(kept)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_valid_text_and_nests(name: str) -> None:
    html = page(PAGES[name](), drawings(PAGES[name]()))
    assert html.startswith('<!doctype html>\n<html lang="en">')
    assert not set(html) & {"\0", "\r", "\x1b", "\u202e", "\u2028"}
    assert html.encode().decode() == html
    assert {one.name for one in parsed(html).all()} <= TAGS


@pytest.mark.parametrize("name", PAGES)
def test_equal_reports_give_equal_pages(name: str) -> None:
    report = PAGES[name]()
    assert page(report, drawings(report)) == page(replace(report, title=report.title), drawings(report))


@pytest.mark.parametrize("name", PAGES)
def test_the_policy_lets_in_the_style_and_nothing_else(name: str) -> None:
    tree = tree_of(PAGES[name]())
    (policy,) = (
        one.attributes["content"] or ""
        for one in tree.all("meta")
        if one.attributes.get("http-equiv") == "Content-Security-Policy"
    )
    (style,) = tree.all("style")
    digest = base64.b64encode(hashlib.sha256(style.text.encode()).digest()).decode()
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == rules["style-src-attr"] == rules["base-uri"] == "'none'"
    assert rules["style-src-elem"] == f"'sha256-{digest}'"
    assert "script-src" not in rules
    assert "url(" not in style.text
    assert "@import" not in style.text


def test_the_policy_lets_in_what_drawings_are_styled_by() -> None:
    report = rich_report()
    styled = drawings(report) | {
        figures_of(report)[
            0
        ].id: '<svg role="img"><style>text{fill:red}</style><rect style="fill: red"/></svg>'
    }
    html = page(report, styled)
    digest = base64.b64encode(hashlib.sha256(b"text{fill:red}").digest()).decode()
    assert f"&#39;sha256-{digest}&#39;" in html
    assert "style-src-attr &#39;unsafe-inline&#39;" in html


@pytest.mark.parametrize("name", PAGES)
def test_every_link_has_its_place_and_every_id_is_one(name: str) -> None:
    tree = tree_of(PAGES[name]())
    ids = [one.attributes["id"] for one in tree.all() if "id" in one.attributes]
    assert len(ids) == len(set(ids))
    links = [one.attributes["href"] or "" for one in tree.all("a")]
    assert {link[1:] for link in links if link.startswith("#")} - set(ids) == set()
    files = {f"{kind}.{suffix}" for kind, suffixes in _files(PAGES[name]()).items() for suffix in suffixes}
    assert {link for link in links if not link.startswith("#")} == files


def _files(report: Report) -> Mapping[str, tuple[str, str]]:
    found = {f"tables/{table.id}": ("csv", "tex") for table in tables_of(report)}
    return found | {f"figures/{figure.id}": ("svg", "png") for figure in figures_of(report)}


@pytest.mark.parametrize("name", PAGES)
def test_headings_go_down_one_level_at_a_time(name: str) -> None:
    tree = tree_of(PAGES[name]())
    levels = [int(one.name[1]) for one in tree.all("h1", "h2", "h3", "h4", "h5", "h6")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert all(one.text.strip() for one in tree.all("h1", "h2", "h3", "h4", "h5", "h6"))


def test_deep_sections_end_at_the_last_level_of_headings() -> None:
    section = Section("s7", "title 7", [Facts("f", "facts", [("term", "text")])])
    for depth in range(6, 0, -1):
        section = Section(f"s{depth}", f"title {depth}", [], [section])
    tree = tree_of(Report("r", [section]))
    headings = [one.name for one in tree.all("h1", "h2", "h3", "h4", "h5", "h6")]
    assert headings == ["h1", "h2", "h3", "h4", "h5", "h6", "h6", "h6", "h6"]


def test_tables_have_captions_scopes_and_a_way_to_scroll_them() -> None:
    tree = tree_of(rich_report())
    for table in tables_of(rich_report()):
        block = tree.by_id(table.id)
        (region,) = (one for one in block.all("div") if one.attributes.get("role") == "region")
        assert region.attributes["tabindex"] == "0"
        assert region.attributes["aria-label"]
        (inner,) = region.all("table")
        assert table.title in next(inner.all("caption")).text
        scopes = [one.attributes["scope"] for one in inner.all("th")]
        assert scopes.count("col") == len(table.columns) + 1
        assert scopes.count("row") == len(table.rows)


@pytest.mark.parametrize("make", [rich_report, wide_report])
def test_every_number_is_the_text_of_its_cell(make: object) -> None:
    report = rich_report() if make is rich_report else wide_report()
    tree = tree_of(report)
    compared = 0
    for table in tables_of(report):
        body = [
            row for row in next(tree.by_id(table.id).all("table")).all("tr") if "group" not in row.classes
        ]
        rows = [list(row.all("td")) for row in body[1:]] if table.rows else []
        for row, cells in zip(table.rows, rows, strict=True):
            for cell, shown_cell in zip(row.cells, cells, strict=True):
                if len(cell.text) <= 300:
                    assert without_marks(shown_cell) == cell.text
                small = [one.text for one in shown_cell.all("small") if not one.text.startswith("n ")]
                assert small == ([cell.interval] if cell.interval else [])
                compared += 1
    assert compared > 300


def escaped(char: str) -> str:
    if char == "\r":
        return "\\r"
    return f"\\u{ord(char):04x}" if ord(char) <= 0xFFFF else f"\\U{ord(char):08x}"


def test_every_hostile_text_is_shown_as_text() -> None:
    tree = tree_of(hostile_report())
    names = [one for one in tree.by_id("hostile-table").all("th") if one.attributes["scope"] == "row"]
    for text, cell in zip(HOSTILE.values(), names, strict=True):
        if text != LONG:
            assert without_marks(cell) == re.sub(
                "[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u200b\u200f\u2028\u2029\u202c\u202e\u2067\u2069\ufeff"
                "\ufffe\uffff\U0010ffff\ud800-\udfff]",
                lambda found: escaped(found[0]),
                text,
            )
    facts = [one.text for one in tree.by_id("hostile-facts").all("dd")]
    assert facts[:5] == list(HOSTILE.values())[:5]


def test_what_may_run_from_right_to_left_is_isolated() -> None:
    assert inline("שלום 1") == '<bdi class="t">שלום 1</bdi>'
    assert inline("a\u202eb") == '<bdi class="t">a<span class="unseen">\\u202e</span>b</bdi>'
    assert inline("two  blanks") == '<bdi class="t">two  blanks</bdi>'
    assert inline("\U000e0041") == '<bdi class="t"><span class="unseen">\\U000e0041</span></bdi>'
    assert inline("\ufdd0") == '<bdi class="t"><span class="unseen">\\ufdd0</span></bdi>'
    assert inline("0.612") == "0.612"
    assert inline("👨\u200d👩 क्\u200cष") == '<bdi class="t">👨\u200d👩 क्\u200cष</bdi>'


def test_a_text_may_be_broken_after_a_slash_but_never_within_an_escape() -> None:
    assert inline("vendor/model<b>/x") == '<bdi class="t">vendor/<wbr>model&lt;b&gt;/<wbr>x</bdi>'
    marked = inline("a/\0/b\0/c and more and more")
    assert parsed(marked).text == "a/\\u0000/b\\u0000/c and more and more"


def test_a_long_text_is_collapsed_with_its_length() -> None:
    found = parsed(shown(LONG, 300))
    assert next(found.all("summary")).text == "all 200,000 characters"
    (whole,) = (one for one in found.all("div") if "whole" in one.classes)
    assert whole.text == LONG
    assert len(found.text) < 200_000 + 200
    assert "longest" in next(found.all("details")).classes
    assert "longest" not in next(parsed(shown("x" * PRINTED_LENGTH, 300)).all("details")).classes
    assert not list(parsed(shown("x" * 300, 300)).all("details"))


def test_titles_are_one_line_that_is_never_blank() -> None:
    assert brief(" two\n lines\0 ") == "two lines\\u0000"
    assert brief(" \n ") == "(untitled)"
    assert brief("x" * 100, 10) == "xxxxxxxxxx…"
    assert brief(LONG, 10) == "xxxxxxxxxx… (200,000 characters)"
    assert len(brief("a" + " " * 5_000 + "b", 10)) < 50


def test_a_cell_without_a_value_is_told_from_one_that_holds_a_dash() -> None:
    table = one_table(TableRow("x", [Cell("", note="no case"), Cell("-")]))
    empty, dash = alone(table).by_id("t").all("td")
    assert "empty" in empty.classes
    assert (without_marks(empty), without_marks(dash)) == ("", "-")
    assert "empty" not in dash.classes


def test_notes_are_lettered_as_they_are_read_and_said_once() -> None:
    table = one_table(
        TableRow("x", [Cell("-", note="none"), Cell("1")], notes=["of the row"]),
        TableRow(
            "y", [Cell("-", note="none"), Cell("2", note="other")], notes=["of the row", "its own", " "]
        ),
    )
    block = alone(table).by_id("t")
    notes = [(next(one.all("a")).text, next(one.all("div")).text) for one in block.all("li")]
    assert notes == [("a", "of the row"), ("b", "none"), ("c", "its own"), ("d", "other")]
    marks = [one.text for one in block.all("sup")]
    assert marks == ["a", "b", "ac", "b", "d"]
    firsts = [one.attributes["id"] for one in block.all("a") if "-mark-" in (one.attributes.get("id") or "")]
    assert firsts == ["t-mark-a", "t-mark-b", "t-mark-c", "t-mark-d"]


def test_notes_beyond_the_alphabet_go_on_with_two_letters() -> None:
    rows = [TableRow(f"r{at}", [Cell("1")], notes=[f"note {at}"]) for at in range(704)]
    marks = [note.mark for note in shown_table(one_table(*rows, columns=1)).notes]
    assert [marks[at] for at in (0, 25, 26, 51, 52, 701, 702)] == ["a", "z", "aa", "az", "ba", "zz", "aaa"]
    assert len(set(marks)) == 704


def test_a_marked_row_says_so_without_colour() -> None:
    table = one_table(TableRow("x", [Cell("1"), Cell("2")], notes=["why"], marked=True))
    (name,) = (one for one in alone(table).by_id("t").all("th") if one.attributes["scope"] == "row")
    assert name.text == "!to be read with its notes: xa"


def test_rows_stand_under_the_heads_of_their_kinds() -> None:
    row = TableRow("x", [Cell("1"), Cell("2")])
    kinds = one_table(row, replace(row, kind="rater"), replace(row, kind="published"))
    heads = [one.text for one in alone(kinds).by_id("t").all("th") if one.attributes["scope"] == "rowgroup"]
    assert heads == ["Models", "Raters", "Published figures"]
    assert "rowgroup" not in str(alone(one_table(row)))


def small_print(table: Table) -> list[str]:
    return [one.text for one in alone(table).by_id("t").all("small")]


def test_an_n_that_all_numbers_share_is_said_once() -> None:
    table = one_table(
        TableRow("x", [Cell("1", 1, 1250), Cell("2", 2, 1250)]), TableRow("y", [Cell("-"), Cell("")])
    )
    assert small_print(table) == []
    assert "n = 1,250 for every number." in alone(table).by_id("t").text


def test_an_n_of_a_column_stands_at_its_head() -> None:
    row = TableRow("x", [Cell("1", 1, 40), Cell("2", 2, 1250)])
    assert small_print(one_table(row, row)) == ["n 40", "n 1,250"]


def test_an_n_of_a_row_stands_at_its_name() -> None:
    rows = [
        TableRow("x", [Cell("1", 1, 40), Cell("2", 2, 40)]),
        TableRow("y", [Cell("1", 1, 41), Cell("2", 2, 41)]),
    ]
    assert small_print(one_table(*rows)) == ["n 40", "n 41"]


def test_an_n_of_one_number_stands_below_it() -> None:
    rows = [
        TableRow("x", [Cell("1", 1, 40), Cell("2", 2, 50)]),
        TableRow("y", [Cell("1", 1, 41), Cell("2", 2, 41)]),
    ]
    assert small_print(one_table(*rows)) == ["n 40", "n 50", "n 41"]


def test_beside_a_column_n_only_other_counts_are_said() -> None:
    row = TableRow("x", [Cell("40", 40), Cell("1", 1, 40), Cell("2", 2, 7)])
    assert small_print(one_table(row, columns=3, first="n")) == ["n 7"]
    unsaid = TableRow("x", [Cell("-"), Cell("1", 1, 40), Cell("2", 2, 40)])
    assert small_print(one_table(unsaid, columns=3, first="n")) == ["n 40", "n 40"]


def test_a_table_that_no_paper_takes_is_printed_in_pieces_with_every_column_once() -> None:
    table = tables_of(wide_report())[0]
    view = shown_table(table)
    assert view.paper == "split"
    covered = [at for start, end in view.splits for at in range(start, end)]
    assert covered == list(range(len(table.columns)))
    block = tree_of(wide_report()).by_id("wide")
    pieces = [one for one in block.all("div") if "piece" in one.classes]
    assert len(pieces) == len(view.splits) == 3
    assert all(one.attributes["aria-hidden"] == "true" and not list(one.all("a")) for one in pieces)
    for (start, end), piece in zip(view.splits, pieces, strict=True):
        rows = [row for row in piece.all("tr") if list(row.all("td"))]
        for row, printed in zip(table.rows, rows, strict=True):
            assert [without_marks(one) for one in printed.all("td")] == [c.text for c in row.cells[start:end]]


def test_a_heading_is_printed_with_the_table_that_it_opens() -> None:
    table = replace(tables_of(wide_report())[0], id="wide")
    deep = Section("deep", "deep", [table])
    report = Report(
        "r",
        [
            Section("outer", "outer", [], [deep]),
            Section("told", "told", [Paragraph("first"), replace(table, id="x")]),
        ],
    )
    heads = [one.classes for one in tree_of(report).all("div") if "head" in one.classes]
    assert heads == [["head", "across"], ["head", "across"], ["head"]]


def test_a_single_column_is_never_split_however_wide() -> None:
    row = TableRow("x", [Cell("word " * 10_000)])
    assert shown_table(one_table(row, columns=1)).paper == "upright"
    many = shown_table(one_table(TableRow("x", [Cell("w" * 99)] * 12), columns=12))
    assert max(end - start for start, end in many.splits) * 17 <= LANDSCAPE_EM


def test_warnings_stand_on_top_and_at_the_head_of_every_printed_page() -> None:
    warnings = [SYNTHETIC, 'a "second" \\ </style> 中']
    html = page(Report("r", [Section("s", "t", [Paragraph("p")])], warnings), {})
    banners = [one.text for one in parsed(html).all("div") if "banner" in one.classes]
    assert banners == warnings
    (content,) = re.findall(r'@top-left \{ content: "([^"]*)"', html)
    told = re.sub(r"\\([0-9a-f]+) ", lambda found: chr(int(found[1], 16)), content)
    assert told == f"{SYNTHETIC} · {warnings[1]}"
    assert "@top-left { content" not in page(Report("r", []), {})


def test_a_figure_leads_to_the_table_of_its_numbers() -> None:
    report = rich_report()
    tree = tree_of(report)
    numbers = [table.id for table in tables_of(report)]
    for at, figure in enumerate(figures_of(report), start=1):
        block = tree.by_id(figure.id)
        caption = next(block.all("figcaption"))
        assert caption.text.startswith(f"Figure {at}. {figure.title}.")
        link = next(caption.all("a"))
        assert link.attributes["href"] == f"#{figure.table}"
        assert link.text == f"Table {numbers.index(figure.table) + 1}"
        assert len(list(block.all("svg"))) == 1


@pytest.mark.parametrize("caption", ["Rows: domains", "Rows: domains."])
def test_a_caption_ends_before_the_table_of_the_numbers_is_named(caption: str) -> None:
    table = tables_of(rich_report())[0]
    figure = Figure("f", "title", "alt", Stacked(["a"], {"p": [1.0]}, "x"), table.id, caption)
    tree = parsed(page(Report("r", [Section("s", "t", [table, figure])]), {"f": "<svg></svg>"}))
    text = " ".join(next(tree.by_id("f").all("figcaption")).text.split())
    assert text.startswith("Figure 1. title. Rows: domains. Its numbers are in Table 1.")


def test_a_figure_without_a_drawing_is_refused() -> None:
    figure = Figure("f", "title", "alt", Stacked(["a"], {"p": [1.0]}, "x"), "t")
    with pytest.raises(ValueError, match="no drawing of figure 'f'; 1 of 1 are missing"):
        page(Report("r", [Section("s", "t", [figure])]), {})


def test_a_row_that_lacks_a_cell_is_refused() -> None:
    with pytest.raises(ValueError, match="row 'x' of table 't' has 1 cells for 2 columns"):
        alone(one_table(TableRow("x", [Cell("1")])))
