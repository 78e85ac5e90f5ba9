"""Pages of reports read back by the standard library's parser, and a report of very wide tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser

from report.report_examples import NAMES, number

from harness.report.document import Cell, Column, Paragraph, Report, Section, Table, TableRow

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 300" role="img" aria-labelledby="{id}-title">'
    '<title id="{id}-title">A drawing</title>'
    '<rect width="639" height="299" fill="none" stroke="currentColor"/></svg>'
)
VOID = {"meta", "link", "br", "wbr", "img", "hr", "input"}


@dataclass(slots=True)
class Element:
    """An element with what is in it, in order."""

    name: str
    attributes: dict[str, str | None]
    inner: list[Element | str] = field(default_factory=list)

    def all(self, *names: str) -> Iterator[Element]:
        """Yield every element of these names within it, in order."""
        for one in self.inner:
            if isinstance(one, Element):
                if not names or one.name in names:
                    yield one
                yield from one.all(*names)

    @property
    def text(self) -> str:
        """All text within it."""
        return "".join(one if isinstance(one, str) else one.text for one in self.inner)

    @property
    def classes(self) -> Sequence[str]:
        return (self.attributes.get("class") or "").split()

    def by_id(self, identity: str) -> Element:
        """Return the one element of that id."""
        (found,) = (one for one in self.all() if one.attributes.get("id") == identity)
        return found


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open = [Element("", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs))
        assert len(element.attributes) == len(attrs), f"an attribute twice at {tag}"
        self.open[-1].inner.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].inner.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].name == tag, f"</{tag}> closes <{self.open[-1].name}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].inner.append(data)


def parsed(html: str) -> Element:
    """Return a page as a tree; fails on tags that do not nest."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert len(reader.open) == 1
    return reader.open[0]


@cache
def wide_report() -> Report:
    """Return a report of tables that no phone and no paper takes whole, and of an empty one."""
    labels = ("Periodontics", "Oral medicine", "Caries, deep", "Implant")
    columns = [Column(f"f1.{at}", f"{labels[at % 4]} {at}", "F1" if at < 3 else "") for at in range(26)]
    rows = [
        TableRow(name, [number((at * 7 + place) % 90 / 100, 250 + at % 3, 0.05) for place in range(26)])
        for at, name in enumerate(NAMES[:9])
    ]
    wide = Table("wide", "F1 of every label", columns, rows, caption="Labels in the order of the paper.")
    across = Table("across", "Fewer labels", columns[:11], [TableRow(r.name, r.cells[:11]) for r in rows])
    none = Table("none", "Nothing", columns[:2], [])
    words = [
        TableRow(
            "quoted",
            [Cell("word " * 70), Cell("0.91", 0.91, 300, 0.9, 0.92, "0.90-0.92", "too high", "warning")],
        )
    ]
    told = Table("wide-text", "Words", [Column("t", "text", numeric=False), Column("s", "share")], words)
    section = Section("labels", "By label", [Paragraph("Before it. " * 40), wide, across, none, told])
    return Report("Wide tables", [section], ["SYNTHETIC DATA", 'A second one: "x" </style> \\ 中'])
