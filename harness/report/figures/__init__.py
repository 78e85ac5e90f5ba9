"""Figures of reports, drawn by matplotlib, which is imported when the first is drawn."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from harness.report.document import Figure
from harness.report.figures.palette import figure_css

if TYPE_CHECKING:
    from harness.report.figures.forms import Drawn

__all__ = ["drawn", "figure_css"]


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
