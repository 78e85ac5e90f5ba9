"""A figure drawn once, and what is made of it: SVG for a page, SVG and PNG as files."""

from __future__ import annotations

from functools import cached_property

from harness.report.document import (
    Alluvial,
    Drawing,
    Figure,
    HeatMap,
    Intervals,
    Joined,
    Lines,
    Scatter,
    Stacked,
)
from harness.report.figures.alluvial import draw_alluvial
from harness.report.figures.canvas import Canvas, quiet_matplotlib
from harness.report.figures.heat_map import draw_heat_map
from harness.report.figures.intervals import draw_intervals, draw_joined
from harness.report.figures.lines import draw_lines
from harness.report.figures.markup import inline_svg, svg_document
from harness.report.figures.scatter import draw_scatter
from harness.report.figures.stacked import draw_stacked


class Drawn:
    """A figure as drawn; each form is made when it is first asked for. Equal figures give equal bytes."""

    def __init__(self, figure: Figure) -> None:
        self._figure = figure

    def svg(self, report_id: str) -> str:
        """Return it to stand in an HTML page, coloured by `--fig-` variables.

        Its ids start with those of the report and of the figure: no two of a page are equal.
        """
        prefix = f"{report_id}-{self._figure.id}"
        return inline_svg(self._markup, prefix, self._figure.title, self._figure.alt)

    def svg_file(self) -> bytes:
        """Return it as an SVG file of its own, in UTF-8 and in light colours."""
        return svg_document(self._markup, "figure", self._figure.title, self._figure.alt).encode()

    def png(self) -> bytes:
        """Return it as a PNG at 200 dpi, in light colours."""
        return self._canvas.to_png()

    @cached_property
    def _canvas(self) -> Canvas:
        with quiet_matplotlib():
            return draw(self._figure.drawing)

    @cached_property
    def _markup(self) -> str:
        return self._canvas.to_svg()


def draw(drawing: Drawing) -> Canvas:
    """Return a drawing on its canvas; whatever is in its texts, nothing is raised."""
    match drawing:
        case Intervals():
            return draw_intervals(drawing)
        case HeatMap():
            return draw_heat_map(drawing)
        case Lines():
            return draw_lines(drawing)
        case Scatter():
            return draw_scatter(drawing)
        case Joined():
            return draw_joined(drawing)
        case Stacked():
            return draw_stacked(drawing)
        case Alluvial():
            return draw_alluvial(drawing)
