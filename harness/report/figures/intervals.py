"""Values of rows with their intervals: a dot and a whisker a line."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from harness.report.document import Intervals, Joined, Point
from harness.report.figures.canvas import SMALL, Canvas
from harness.report.figures.marks import MARKS, mark, point
from harness.report.figures.rows import MARGIN, WIDTH, draw_legend, kinds_legend, laid_rows
from harness.report.figures.scales import linear


def draw_intervals(drawing: Intervals) -> Canvas:
    """Return rows from the top, each a mark of its kind between the ends of its interval."""
    canvas = Canvas(WIDTH)
    points = drawing.points
    top = kinds_legend(canvas, (one.mark for one in points), MARGIN)
    rows = laid_rows(canvas, [one.name for one in points], top)
    rows.write_names()
    scale = linear(_ends(points), rows.left + 8, rows.right - 4)
    below = rows.draw_axis(scale, drawing.x_title)
    for at, one in enumerate(points):
        y, colour = rows.middle(at), MARKS[one.mark][1]
        if not math.isfinite(one.x):
            canvas.text(rows.left + 8, y + 4, "no value", size=SMALL, colour="soft")
            continue
        if one.low is not None and one.high is not None and math.isfinite(one.low + one.high):
            low, high = scale.at(one.low), scale.at(one.high)
            canvas.line([(low, y), (high, y)], colour, 1.8)
            for end in (low, high):
                canvas.line([(end, y - 4), (end, y + 4)], colour, 1.8)
        mark(canvas, scale.at(one.x), y, one.mark)
    canvas.finish(below)
    return canvas


def draw_joined(drawing: Joined) -> Canvas:
    """Return rows with two marks joined: hollow before, filled after."""
    canvas = Canvas(WIDTH)
    legend = [
        (drawing.before, lambda x, y: point(canvas, x, y, "circle", "vermilion", filled=False)),
        (drawing.after, lambda x, y: point(canvas, x, y, "diamond", "blue", 4.2)),
    ]
    rows = laid_rows(canvas, list(drawing.pairs), draw_legend(canvas, legend, MARGIN))
    rows.write_names()
    values = [one for pair in drawing.pairs.values() for one in pair]
    scale = linear(values, rows.left + 8, rows.right - 4)
    below = rows.draw_axis(scale, drawing.x_title)
    for at, (before, after) in enumerate(drawing.pairs.values()):
        y = rows.middle(at)
        if math.isfinite(before + after):
            canvas.line([(scale.at(before), y), (scale.at(after), y)], "axis", 2.0)
        if math.isfinite(before):
            point(canvas, scale.at(before), y, "circle", "vermilion", filled=False)
        if math.isfinite(after):
            point(canvas, scale.at(after), y, "diamond", "blue", 4.2)
        if not math.isfinite(before) and not math.isfinite(after):
            canvas.text(rows.left + 8, y + 4, "no value", size=SMALL, colour="soft")
    canvas.finish(below)
    return canvas


def _ends(points: Sequence[Point]) -> Iterator[float]:
    for one in points:
        yield from (end for end in (one.x, one.low, one.high) if end is not None)
