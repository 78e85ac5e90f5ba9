"""SVG as pages and files want it, made of what matplotlib writes.

What goes: its own style sheet, its metadata, ids that nothing refers to, sizes in points, names of fonts.
What comes: a title and a description, ids with a prefix, colours that follow the page's theme.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final
from xml.etree import ElementTree as ET

from harness.report.figures.labels import printable
from harness.report.figures.palette import light, variable

_SVG: Final = "{http://www.w3.org/2000/svg}"
_XLINK: Final = "{http://www.w3.org/1999/xlink}"
_DROPPED: Final = {f"{_SVG}metadata", f"{_SVG}style"}
_LONG_NUMBER: Final = re.compile(r"-?\d+\.\d{3,}")
_REFERENCE: Final = re.compile(r"(?:url\(#|^#)([\w-]+)")
_NO_TURN: Final = re.compile(r"rotate\(-?0 [^)]*\)")
_FONTS: Final = "'DejaVu Sans', Verdana, 'Noto Sans CJK SC', sans-serif"
_LEAST_SHARE: Final = 0.85
"""Of the drawn width, on a screen: text of 10 pixels."""
_MOST_ALT: Final = 2000

Colour = Callable[[str], str]


def inline_svg(drawn: str, prefix: str, title: str, alt: str) -> str:
    """Return the figure to stand in a page: it takes the page's font and its `--fig-` colours.

    `prefix` makes its ids unique in the page. The width follows the page, up to the drawn one and down to
    where text is still readable: what holds it scrolls sideways.
    """
    tree = _Tree(drawn, prefix, lambda colour: variable(colour) or colour)
    width = tree.box[2]
    widths = f"width: 100%; min-width: {float(width) * _LEAST_SHARE:g}px; max-width: {width}px"
    style = f"display: block; {widths}; height: auto; font-family: inherit"
    return tree.written({"class": "figure-drawing", "style": style}, title, alt)


def svg_document(drawn: str, prefix: str, title: str, alt: str) -> str:
    """Return the figure as a file of its own, on white, in the light colours."""
    tree = _Tree(drawn, prefix, lambda colour: colour)
    _, _, width, height = tree.box
    attributes = {
        "xmlns": "http://www.w3.org/2000/svg",
        "xmlns:xlink": "http://www.w3.org/1999/xlink",
        "width": width,
        "height": height,
        "style": f"font-family: {_FONTS}",
    }
    paper = f'<rect width="{width}" height="{height}" style="fill: {light("paper")}"/>'
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tree.written(attributes, title, alt, paper) + "\n"


class _Tree:
    def __init__(self, drawn: str, prefix: str, colour: Colour) -> None:
        self._root = ET.fromstring(drawn)
        self._prefix = prefix
        self._colour = colour
        self.box = self._root.attrib["viewBox"].split()
        self._wanted = {
            found[1]
            for element in self._root.iter()
            for name, value in element.attrib.items()
            if name in ("style", f"{_XLINK}href", "clip-path")
            for found in _REFERENCE.finditer(value)
        }

    def written(self, attributes: Mapping[str, str], title: str, alt: str, first: str = "") -> str:
        named = f"{self._prefix}-title"
        told = f"{self._prefix}-desc"
        head = {
            **attributes,
            "viewBox": " ".join(self.box),
            "role": "img",
            "aria-labelledby": f"{named} {told}",
        }
        parts = [
            f"<svg{_attributes(head)}>",
            f"<title{_attributes({'id': named})}>{_escaped(_shown(title))}</title>",
            f"<desc{_attributes({'id': told})}>{_escaped(_shown(alt))}</desc>",
            first,
            '<g style="stroke-linejoin: round; stroke-linecap: butt">',
            *(piece for child in self._root for piece in self._pieces(child)),
            "</g></svg>",
        ]
        return "".join(parts)

    def _pieces(self, element: ET.Element) -> Iterator[str]:
        if element.tag in _DROPPED:
            return
        tag = element.tag.removeprefix(_SVG)
        attributes = dict(self._changed(element))
        inner = [piece for child in element for piece in self._pieces(child)]
        text = element.text or ""
        if tag == "text":
            yield f"<text{_attributes(attributes)}>{_escaped(text)}</text>"
        elif tag == "g" and not attributes:
            yield from inner
        elif inner:
            yield f"<{tag}{_attributes(attributes)}>{''.join(inner)}</{tag}>"
        elif tag not in ("g", "defs"):
            yield f"<{tag}{_attributes(attributes)}/>"

    def _changed(self, element: ET.Element) -> Iterator[tuple[str, str]]:
        style = element.get("style", "")
        for name, value in element.attrib.items():
            name = name.replace(_XLINK, "xlink:")
            if name == "id":
                if value in self._wanted:
                    yield name, f"{self._prefix}-{value}"
            elif name in ("fill", "stroke"):
                style = f"{style}; {name}: {value}"
            elif name == "transform":
                if turned := _short(_NO_TURN.sub("", value)):
                    yield name, turned
            elif name != "style":
                yield name, self._referring(_short(value))
        if style := self._style(style):
            yield "style", style

    def _style(self, style: str) -> str:
        found = [one.partition(":")[::2] for one in style.split(";") if one.strip()]
        return "; ".join(
            f"{name.strip()}: {self._coloured(value.strip())}"
            for name, value in found
            if name.strip() != "font-family"
        )

    def _coloured(self, value: str) -> str:
        return self._colour(value) if value.startswith("#") else self._referring(value)

    def _referring(self, value: str) -> str:
        return _REFERENCE.sub(lambda found: found[0].replace("#", f"#{self._prefix}-"), value)


def _shown(text: str) -> str:
    cut = text if len(text) <= _MOST_ALT else f"{text[:_MOST_ALT]}\u2026"
    return printable(cut)


def _short(value: str) -> str:
    return " ".join(_LONG_NUMBER.sub(lambda found: f"{float(found[0]):.2f}", value).split())


def _attributes(values: Mapping[str, str]) -> str:
    return "".join(f' {name}="{_escaped(value)}"' for name, value in values.items())


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
