"""Values by row and column as a map of nine steps of one hue, each cell with its text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from harness.report.document import HeatMap
from harness.report.figures.canvas import SIZE, SMALL, Canvas
from harness.report.figures.labels import fitted, text_width
from harness.report.figures.palette import STEPS
from harness.report.figures.rows import MARGIN, NAME_ROOM, WIDTH

_CELL_HEIGHT: Final = 22.0
_LEAST_CELL: Final = 30.0
_MOST_CELL: Final = 92.0
_HEAD_ROOM: Final = 170.0
_TURN: Final = 50.0
_TEXT: Final = 10.0


def draw_heat_map(drawing: HeatMap) -> Canvas:
    """Return the map; it is as wide as its columns need, and cells without a value are hatched."""
    left = max((text_width(fitted(one, NAME_ROOM, SIZE), SIZE) for one in drawing.rows), default=40.0) + 18
    cell = _cell_width(drawing, left)
    heads = [fitted(one, _HEAD_ROOM, SMALL) for one in drawing.columns]
    widths = [text_width(one, SMALL) for one in heads]
    turned = any(width > cell - 4 for width in widths)
    slant = math.radians(_TURN)
    up = max((width * math.sin(slant) for width in widths), default=0.0) if turned else 0.0
    over = max(
        (width * math.cos(slant) - cell * (len(heads) - at - 0.5) for at, width in enumerate(widths)),
        default=0.0,
    )
    right = left + cell * max(len(heads), 1)
    canvas = Canvas(max(math.ceil(right + 16 + (max(over, 0.0) if turned else 0.0)), WIDTH / 2))
    top = MARGIN + 14 + up + (12 if turned else 22)
    canvas.text(left, MARGIN + 8, drawing.x_title, room=canvas.width - left, colour="soft")
    for at, head in enumerate(heads):
        x = left + cell * (at + 0.5)
        turn = _TURN if turned else 0.0
        canvas.text(x, top - 7, head, size=SMALL, rotation=turn, align="left" if turned else "center")
    _draw_cells(canvas, drawing, left, top, cell)
    bottom = top + _CELL_HEIGHT * max(len(drawing.rows), 1)
    canvas.finish(_draw_key(canvas, drawing, left, bottom + 14))
    return canvas


def step_of(value: float, low: float, high: float) -> int:
    """Return the step of the scale that a value is on, 0 to 8; one beyond an end is on the last."""
    if not high > low:
        return 0
    return min(max(int((value - low) / (high - low) * STEPS), 0), STEPS - 1)


def _cell_width(drawing: HeatMap, left: float) -> float:
    widest = max((text_width(fitted(t, 80, _TEXT), _TEXT) for row in drawing.texts for t in row), default=0.0)
    shared = (WIDTH - left - 16) / max(len(drawing.columns), 1)
    return max(min(shared, _MOST_CELL), widest + 8, _LEAST_CELL)


def _draw_cells(canvas: Canvas, drawing: HeatMap, left: float, top: float, cell: float) -> None:
    if not drawing.rows:
        canvas.text(left, top + 15, "nothing to show", colour="soft")
    for at, name in enumerate(drawing.rows):
        y = top + _CELL_HEIGHT * at
        canvas.text(left - 10, y + 15, name, align="right", room=left - 14)
        for column, (value, text) in enumerate(zip(drawing.values[at], drawing.texts[at], strict=True)):
            x = left + cell * column
            if value is None or not math.isfinite(value):
                _draw_empty(canvas, x, y, cell)
                ink = "ink"
            else:
                step = step_of(value, drawing.low, drawing.high)
                canvas.box(x, y, cell, _CELL_HEIGHT, f"heat-{step}", "paper")
                ink = f"heat-ink-{step}"
            canvas.text(x + cell / 2, y + 15, text, size=_TEXT, colour=ink, align="center", room=cell - 4)


def _draw_empty(canvas: Canvas, x: float, y: float, cell: float) -> None:
    canvas.box(x, y, cell, _CELL_HEIGHT, "empty", "quiet", "///")
    canvas.box(x, y, cell, _CELL_HEIGHT, "", "paper")


def _draw_key(canvas: Canvas, drawing: HeatMap, left: float, top: float) -> float:
    wide = 20.0
    ends: Sequence[str] = [f"{one:.4g}" for one in (drawing.low, drawing.high)]
    before = text_width(ends[0], SMALL) + 6
    canvas.text(left, top + 12, ends[0], size=SMALL, colour="soft")
    for step in range(STEPS):
        canvas.box(left + before + wide * step, top, wide, 15, f"heat-{step}", "paper")
    x = left + before + wide * STEPS + 6
    x += canvas.text(x, top + 12, ends[1], size=SMALL, colour="soft") + 14
    x += canvas.text(x, top + 12, drawing.value_title, size=SMALL, room=max(canvas.width - x - 8, 40)) + 16
    if any(value is None for row in drawing.values for value in row):
        if x + 90 > canvas.width:
            x, top = left, top + 22
        canvas.box(x, top, wide, 15, "empty", "quiet", "///")
        canvas.text(x + wide + 6, top + 12, "no value", size=SMALL, colour="soft")
    return top + 28
