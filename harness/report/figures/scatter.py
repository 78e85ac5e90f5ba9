"""Points of a plane with their names, and the front of those that no other beats."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from harness.report.document import Point, Scatter
from harness.report.figures.canvas import SMALL, Canvas
from harness.report.figures.labels import fitted, text_width
from harness.report.figures.marks import MARKS, mark
from harness.report.figures.rows import MARGIN, WIDTH, kinds_legend
from harness.report.figures.scales import Scale, linear, logarithmic
from harness.report.figures.spread import Plane

_HEIGHT: Final = 440.0
_RIGHT: Final = WIDTH - 80
"""Where the axis ends: names of points there have room beside it."""
_NAME_ROOM: Final = 150.0
_TEXT: Final = 9.5
_ZERO: Final = 34.0
"""Width of the strip left of a logarithmic axis, where values of 0 stand."""


def draw_scatter(drawing: Scatter) -> Canvas:
    """Return the points; on a logarithmic axis those at 0 or below stand apart at the left."""
    canvas = Canvas(WIDTH)
    top = kinds_legend(canvas, (one.mark for one in drawing.points), MARGIN) + 30
    bottom = top + _HEIGHT
    points = [one for one in drawing.points if math.isfinite(one.x) and math.isfinite(one.y)]
    y_scale = linear([end for one in points for end in _ends(one)], bottom, top)
    canvas.text(MARGIN, top - 16, drawing.y_title, room=WIDTH - 2 * MARGIN)
    left = max(text_width(text, SMALL) for _, text in y_scale.ticks(7)) + 20
    zero = drawing.log_x and any(one.x <= 0 for one in points)
    start = left + (_ZERO if zero else 0.0)
    xs = [one.x for one in points]
    scale = logarithmic(xs, start, _RIGHT) if drawing.log_x else linear(xs, start + 8, _RIGHT - 4)
    _draw_frame(canvas, drawing, scale, y_scale, left, zero=zero)
    spots = {
        at: (left + _ZERO / 2 if zero and one.x <= 0 else scale.at(one.x), y_scale.at(one.y))
        for at, one in enumerate(points)
    }
    _draw_front(canvas, drawing.front, points, spots)
    for at, one in enumerate(points):
        _draw_point(canvas, one, spots[at], y_scale)
    if not points:
        canvas.text(left + 8, top + 16, "nothing to show", colour="soft")
    hidden = _write_names(canvas, drawing, points, spots, (left, top - 8, WIDTH - 4, bottom))
    canvas.finish(_draw_notes(canvas, drawing, hidden, bottom + 48))
    return canvas


def _draw_frame(
    canvas: Canvas, drawing: Scatter, scale: Scale, y_scale: Scale, left: float, *, zero: bool
) -> None:
    bottom, top, right = y_scale.start, y_scale.end, _RIGHT
    for value, text in y_scale.ticks(7):
        y = y_scale.at(value)
        canvas.line([(left, y), (right, y)], "grid")
        canvas.text(left - 6, y + 4, text, size=SMALL, colour="soft", align="right")
    marks = [(scale.at(value), text) for value, text in scale.ticks(9)]
    for x, text in [(left + _ZERO / 2, "0"), *marks] if zero else marks:
        canvas.line([(x, top), (x, bottom)], "grid")
        canvas.text(x, bottom + 16, text, size=SMALL, colour="soft", align="center")
    canvas.line([(left, bottom), (right, bottom)], "axis")
    if zero:
        canvas.line([(left + _ZERO, top), (left + _ZERO, bottom)], "axis", 1.0, (2.0, 3.0))
    title = f"{drawing.x_title} (logarithmic)" if drawing.log_x else drawing.x_title
    canvas.text((left + right) / 2, bottom + 36, title, align="center", room=right - left)


def _draw_front(
    canvas: Canvas,
    front: Sequence[str],
    points: Sequence[Point],
    spots: Mapping[int, tuple[float, float]],
) -> None:
    places = {one.name: spots[at] for at, one in enumerate(points)}
    joined = [places[name] for name in front if name in places]
    if len(joined) > 1:
        canvas.line(joined, "green", 1.8, (6.0, 3.0))


def _draw_point(canvas: Canvas, one: Point, spot: tuple[float, float], y_scale: Scale) -> None:
    if len(_ends(one)) == 3:
        ends = [(spot[0], y_scale.at(end)) for end in _ends(one)[1:]]
        canvas.line(ends, MARKS[one.mark][1], 0.9)
    mark(canvas, *spot, one.mark)


def _write_names(
    canvas: Canvas,
    drawing: Scatter,
    points: Sequence[Point],
    spots: Mapping[int, tuple[float, float]],
    frame: tuple[float, float, float, float],
) -> int:
    plane = Plane(frame)
    for x, y in spots.values():
        plane.take((x - 5, y - 5, x + 5, y + 5))
    places = {one.name: spots[at] for at, one in enumerate(points)}
    for before, after in pairwise(places[name] for name in drawing.front if name in places):
        plane.take_line(before, after)
    front, hidden = set(drawing.front), 0
    order = sorted(spots, key=lambda at: (points[at].name not in front, points[at].mark == "model", at))
    for at in order:
        name, (x, y) = fitted(points[at].name, _NAME_ROOM, _TEXT), spots[at]
        wide = text_width(name, _TEXT) + 2
        placed = plane.put(x, y, wide, _TEXT + 1.5) or plane.put(x, y, wide, _TEXT + 1.5, strict=False)
        if placed is None:
            hidden += 1
            continue
        if placed.leader:
            canvas.line([(x, y), placed.leader], "axis", 0.6)
        colour = "ink" if points[at].name in front or points[at].mark != "model" else "soft"
        canvas.text(placed.x + 1, placed.y, name, size=_TEXT, colour=colour)
    return hidden


def _draw_notes(canvas: Canvas, drawing: Scatter, hidden: int, top: float) -> float:
    notes = ["Dashed: the Pareto front."] if len(drawing.front) > 1 else []
    if hidden:
        notes.append(f"{hidden} of the points have no name here for want of room: the table has them.")
    if not notes:
        return top
    canvas.text(MARGIN, top + 8, " ".join(notes), size=SMALL, colour="soft")
    return top + 20


def _ends(one: Point) -> list[float]:
    """Return y, with the ends of its interval where there is one that holds it."""
    if one.low is None or one.high is None or not one.low <= one.y <= one.high:
        return [one.y]
    return [one.y, one.low, one.high]
