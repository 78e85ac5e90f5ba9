"""Shares of rows by part: horizontal bars, told apart by hue, lightness and hatch."""

from __future__ import annotations

import math

from harness.report.document import Stacked
from harness.report.figures.canvas import Canvas
from harness.report.figures.palette import HATCHES, SERIES
from harness.report.figures.rows import MARGIN, WIDTH, Swatch, draw_legend, laid_rows
from harness.report.figures.scales import Scale

_BAR = 15.0


def draw_stacked(drawing: Stacked) -> Canvas:
    """Return a bar a row, the parts in order from the left; what a row lacks of 1 stays blank."""
    canvas = Canvas(WIDTH)

    def swatch(at: int) -> Swatch:
        return lambda x, y: part_box(canvas, at, x - 8, y - 6, 20, 12)

    legend = [(name, swatch(at)) for at, name in enumerate(drawing.parts)]
    rows = laid_rows(canvas, drawing.rows, draw_legend(canvas, legend, MARGIN))
    rows.write_names()
    scale = Scale(0.0, 1.0, rows.left, rows.right - 4)
    below = rows.draw_axis(scale, drawing.x_title)
    for at in range(len(drawing.rows)):
        start = 0.0
        for which, shares in enumerate(drawing.parts.values()):
            share = shares[at] if math.isfinite(shares[at]) else 0.0
            if share > 0:
                x, end = scale.at(start), scale.at(start + share)
                part_box(canvas, which, x, rows.middle(at) - _BAR / 2, end - x, _BAR)
                start += share
    canvas.finish(below)
    return canvas


def part_box(canvas: Canvas, at: int, x: float, y: float, width: float, height: float) -> None:
    """Draw a box in the colour and hatch of the part at that place in order."""
    colour, hatch = SERIES[at % len(SERIES)], HATCHES[at % len(HATCHES)]
    canvas.box(x, y, width, height, colour, "paper", hatch)
    if hatch:
        canvas.box(x, y, width, height, "", "paper")
