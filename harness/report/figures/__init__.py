"""Figures of reports, drawn by matplotlib, which is imported when the first is drawn.

`drawn` draws a figure once for all its forms; `svg`, `svg_file` and `png` are for one form alone.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from harness.report.document import Figure
from harness.report.figures.palette import figure_css

if TYPE_CHECKING:
    from harness.report.figures.forms import Drawn

__all__ = ["drawn", "figure_css", "png", "svg", "svg_file"]


def drawn(figure: Figure) -> Drawn:
    """Return the figure drawn: its `svg(report_id)`, `svg_file()` and `png()` cost one drawing."""
    # Where its cache folder cannot be written, matplotlib says so as it is imported, uses a temporary one and
    # removes that in the end: nothing for the reader of a report.
    log = logging.getLogger("matplotlib")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        from harness.report.figures.forms import Drawn
    finally:
        log.setLevel(level)
    return Drawn(figure)


def svg(figure: Figure, report_id: str) -> str:
    """Return a figure as SVG to stand in an HTML page; its ids start with `report_id` and the figure's id.

    The page's style sheet has `figure_css()`.
    """
    return drawn(figure).svg(report_id)


def svg_file(figure: Figure) -> bytes:
    """Return a figure as an SVG file of its own, which Inkscape and LaTeX's converters open."""
    return drawn(figure).svg_file()


def png(figure: Figure) -> bytes:
    """Return a figure as a PNG at 200 dpi."""
    return drawn(figure).png()
