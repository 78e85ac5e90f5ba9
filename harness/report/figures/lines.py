"""Series over ordered groups; where there are many, the first are coloured and the others grey."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from harness.report.document import Lines
from harness.report.figures.canvas import SMALL, Canvas
from harness.report.figures.labels import fitted, text_width
from harness.report.figures.marks import SHAPES, point
from harness.report.figures.palette import SERIES
from harness.report.figures.rows import MARGIN, WIDTH
from harness.report.figures.scales import Scale, linear
from harness.report.figures.spread import apart

_MOST: Final = 8
"""Series that are all coloured; of more, `_SHOWN` are."""
_SHOWN: Final = 6
_HEIGHT: Final = 300.0
_NAME_ROOM: Final = 210.0
_EQUAL: Final = "equal"

Series = Mapping[str, Sequence[float | None]]


def draw_lines(drawing: Lines) -> Canvas:
    """Return the series, each named at its end; the groups stand at equal distances."""
    canvas = Canvas(WIDTH)
    shown = coloured(drawing)
    names = [*shown, _EQUAL] if drawing.diagonal else shown
    room = max((text_width(fitted(one, _NAME_ROOM, SMALL), SMALL) for one in names), default=0.0)
    top, bottom, right = MARGIN + 30, MARGIN + 30 + _HEIGHT, WIDTH - room - 46
    values = [one for series in drawing.series.values() for one in series if one is not None]
    numbers = [_number(label) for label in drawing.x_labels] if drawing.diagonal else []
    scale = linear([*values, *(one for one in numbers if one is not None)], bottom, top)
    left = _draw_frame(canvas, drawing, scale, right)
    step = (right - left) / max(len(drawing.x_labels), 1)
    xs = [left + step * (at + 0.5) for at in range(len(drawing.x_labels))]
    if not drawing.series:
        canvas.text(left + 8, top + 16, "nothing to show", colour="soft")
    for at, label in enumerate(drawing.x_labels):
        canvas.text(xs[at], bottom + 17, label, size=SMALL, colour="soft", align="center", room=step - 4)
    for name, series in drawing.series.items():
        if name not in shown:
            _draw_series(canvas, scale, xs, series, "quiet")
    ends = [_draw_series(canvas, scale, xs, numbers, "soft", dashed=True)] if drawing.diagonal else []
    for at, name in enumerate(shown):
        ends.append(_draw_series(canvas, scale, xs, drawing.series[name], SERIES[at % 8], SHAPES[at % 8]))
    _name_ends(canvas, drawing, shown, ends, right)
    canvas.text((left + right) / 2, bottom + 37, drawing.x_title, align="center", room=right - left)
    canvas.finish(_draw_note(canvas, drawing, shown, bottom + 48))
    return canvas


def coloured(drawing: Lines) -> Sequence[str]:
    """Return the series that are named and coloured: all, or of more than eight the six best.

    Best is the highest mean over the groups, or with a diagonal the least mean distance from it.
    """
    if len(drawing.series) <= _MOST:
        return list(drawing.series)
    numbers = [_number(label) if drawing.diagonal else math.inf for label in drawing.x_labels]
    return sorted(drawing.series, key=lambda name: _distance(drawing.series[name], numbers))[:_SHOWN]


def _distance(series: Sequence[float | None], numbers: Sequence[float | None]) -> float:
    found = [
        -value if number == math.inf else abs(value - number)
        for value, number in zip(series, numbers, strict=True)
        if value is not None and number is not None
    ]
    return sum(found) / len(found) if found else math.inf


def _number(label: str) -> float | None:
    try:
        number = float(label)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _draw_frame(canvas: Canvas, drawing: Lines, scale: Scale, right: float) -> float:
    ticks = scale.ticks(7)
    left = max((text_width(text, SMALL) for _, text in ticks), default=0.0) + 20
    for value, text in ticks:
        y = scale.at(value)
        canvas.line([(left, y), (right, y)], "grid")
        canvas.text(left - 6, y + 4, text, size=SMALL, colour="soft", align="right")
    canvas.line([(left, scale.start), (right, scale.start)], "axis")
    canvas.text(MARGIN, MARGIN + 8, drawing.y_title, room=WIDTH - 2 * MARGIN)
    return left


def _draw_series(
    canvas: Canvas,
    scale: Scale,
    xs: Sequence[float],
    series: Sequence[float | None],
    colour: str,
    shape: str = "",
    *,
    dashed: bool = False,
) -> tuple[float, float] | None:
    spots = [
        None if value is None or not math.isfinite(value) else (x, scale.at(value))
        for x, value in zip(xs, series, strict=True)
    ]
    for before, after in pairwise(spots):
        if before is not None and after is not None:
            dashes = (4.0, 3.0) if dashed else ()
            canvas.line([before, after], colour, 2.0 if shape else 1.2, dashes)
    found = [spot for spot in spots if spot is not None]
    for x, y in found:
        if shape:
            point(canvas, x, y, shape, colour)
        elif not dashed:
            point(canvas, x, y, "circle", colour, 2.4)
    return found[-1] if found else None


def _name_ends(
    canvas: Canvas,
    drawing: Lines,
    shown: Sequence[str],
    ends: Sequence[tuple[float, float] | None],
    right: float,
) -> None:
    looks = [(name, SERIES[at % 8], SHAPES[at % 8]) for at, name in enumerate(shown)]
    if drawing.diagonal:
        looks.insert(0, (_EQUAL, "soft", ""))
    named = [(look, end) for look, end in zip(looks, ends, strict=True) if end is not None]
    heights = apart([end[1] for _, end in named], 17.0, MARGIN + 30, MARGIN + 30 + _HEIGHT)
    for ((name, colour, shape), end), y in zip(named, heights, strict=True):
        canvas.line([(end[0] + 6, end[1]), (right + 10, y)], colour, 0.8, (1.5, 2.0))
        if shape:
            point(canvas, right + 18, y, shape, colour)
        else:
            canvas.line([(right + 11, y), (right + 25, y)], colour, 1.2, (4.0, 3.0))
        canvas.text(right + 28, y + 4, name, size=SMALL, room=_NAME_ROOM)


def _draw_note(canvas: Canvas, drawing: Lines, shown: Sequence[str], top: float) -> float:
    others = len(drawing.series) - len(shown)
    if not others:
        return top
    best = "nearest to the dashed line" if drawing.diagonal else "highest"
    note = f"Coloured: the {len(shown)} {best} on average over the groups; grey: the other {others}."
    canvas.text(MARGIN, top + 8, note, size=SMALL, colour="soft")
    return top + 20
