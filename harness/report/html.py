"""A report as one HTML page: opens from disk, asks nobody for anything, runs no code, prints.

Everything is within the file: the style, whose digest is all that its content security policy lets in, and
the figures, as SVG. Cells, names and notes are escaped by Jinja2 and by `page_text`, which says what becomes
of characters that a page cannot hold or that nobody sees.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined

from harness.report.document import Facts, Figure, Paragraph, Part, Report, Section, Table
from harness.report.figures.palette import figure_css
from harness.report.page_tables import shown_table
from harness.report.page_text import Html, brief, inline, shown
from harness.report.parts import figures as figures_of
from harness.report.parts import parts

_DEEPEST = 6
"""Levels of headings that HTML has."""

_HEADER_LENGTH = 150
"""Characters of the warnings that stand at the head of every printed page, in one line."""

_STYLES = re.compile(r"<style[^>]*>(.*?)</style>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Contents:
    """What refers to what: numbers of tables and figures by id, in the order in which they are read."""

    tables: Mapping[str, int]
    figures: Mapping[str, int]


def page(report: Report, figures: Mapping[str, str]) -> str:
    """Return a report as one HTML file, in valid UTF-8 whatever its texts hold.

    `figures` are inline SVG by the id of the figure. Raises ValueError for a figure without a drawing, or a
    row that has not a cell for every column.
    """
    drawn = _drawings(report, figures)
    style = _style(report.warnings)
    contents = _Contents(_numbers(report, Table), _numbers(report, Figure))
    template = _environment().get_template("page.html")
    return template.render(
        report=report,
        style=Html(style),
        policy=_policy(style, list(drawn.values())),
        contents=contents,
        drawings=drawn,
    )


def _numbers(report: Report, kind: type[Table] | type[Figure]) -> Mapping[str, int]:
    found = [part.id for part in parts(report) if isinstance(part, kind)]
    return {name: at for at, name in enumerate(found, start=1)}


def _drawings(report: Report, figures: Mapping[str, str]) -> Mapping[str, Html]:
    wanted = [figure.id for figure in figures_of(report)]
    missing = [name for name in wanted if name not in figures]
    if missing:
        raise ValueError(f"no drawing of figure {missing[0]!r}; {len(missing)} of {len(wanted)} are missing")
    return {name: Html(figures[name]) for name in wanted}


def _style(warnings: Sequence[str]) -> str:
    """Return the page's style: the file, the figures' colours, what stands at the head of printed pages."""
    sheet = (files("harness.report") / "page.css").read_text(encoding="utf-8") + figure_css()
    if warnings:
        line = brief(" · ".join(warnings), _HEADER_LENGTH)
        sheet += f"@page {{ @top-left {{ content: {_css_string(line)}; }} }}\n"
    return sheet


def _css_string(text: str) -> str:
    """Return a text as a string of CSS: ASCII, and nothing in it that could end the string or the style."""
    return '"' + "".join(c if c.isascii() and c.isalnum() else f"\\{ord(c):x} " for c in text) + '"'


def _policy(style: str, drawings: Sequence[str]) -> str:
    """Return the content security policy: no source but the styles that are in the page, by their digests.

    Attributes `style` have no digests; they are let in where a drawing has any.
    """
    sheets = dict.fromkeys([style, *(sheet for drawing in drawings for sheet in _STYLES.findall(drawing))])
    digests = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(sheet.encode()).digest()).decode()}'" for sheet in sheets
    )
    attributes = "'unsafe-inline'" if any(' style="' in drawing for drawing in drawings) else "'none'"
    return (
        f"default-src 'none'; style-src-elem {digests}; style-src {digests}; style-src-attr {attributes}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _kind(part: Part) -> str:
    """Return the name of the macro that shows a part."""
    match part:
        case Paragraph():
            return "paragraph"
        case Table():
            return "table"
        case Figure():
            return "figure"
        case Facts():
            return "facts"


def _opens_across(section: Section) -> bool:
    """Return whether a table that is printed across a page comes first, so that the heading goes with it."""
    if section.parts:
        first = section.parts[0]
        return isinstance(first, Table) and shown_table(first).paper != "upright"
    return bool(section.sections) and _opens_across(section.sections[0])


def _heading(depth: int) -> str:
    """Return the element of a heading; sections of a report begin at depth 2."""
    return f"h{min(depth, _DEEPEST)}"


@cache
def _environment() -> Environment:
    made = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        loader=FunctionLoader(_template),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"shown": shown, "inline": inline, "brief": brief, "kind": _kind, "heading": _heading}
    made.filters |= {"view": shown_table, "opens_across": _opens_across}
    return made


def _template(name: str) -> str | None:
    found = files("harness.report") / "templates" / name
    return found.read_text(encoding="utf-8") if found.is_file() else None
