"""Shapes of points: one for each kind of row, one for each series."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from matplotlib.path import Path

from harness.report.document import RowKind
from harness.report.figures.canvas import Canvas

MARKS: Final[Mapping[RowKind, tuple[str, str, bool]]] = {
    "model": ("circle", "blue", True),
    "rater": ("diamond", "purple", True),
    "baseline": ("square", "soft", False),
    "published": ("triangle", "vermilion", False),
    "other": ("cross", "soft", True),
}
"""Kind of row -> shape, colour, whether it is filled."""

SHAPES: Final = ("circle", "square", "triangle", "diamond", "down", "plus", "cross", "star")
"""Shapes of series, in order."""


def mark(canvas: Canvas, x: float, y: float, kind: RowKind, size: float = 4.5) -> None:
    """Draw the mark of a kind of row around a spot."""
    shape, colour, filled = MARKS[kind]
    point(canvas, x, y, shape, colour, size, filled=filled)


def point(
    canvas: Canvas, x: float, y: float, shape: str, colour: str, size: float = 4.5, *, filled: bool = True
) -> None:
    """Draw a shape of about `size` pixels in radius, filled or hollow."""
    path = _path(shape, x, y, size)
    if filled:
        canvas.path(path, colour, "paper", 1.0)
    else:
        canvas.path(path, "paper", colour, 1.6)


def _path(shape: str, x: float, y: float, size: float) -> Path:
    if shape == "circle":
        return Path.circle((x, y), size)
    spots = [(x + size * dx, y + size * dy) for dx, dy in _CORNERS[shape]]
    return Path([*spots, spots[0]], closed=True)


def _ray(angle: float, radius: float) -> tuple[float, float]:
    return radius * math.sin(angle), -radius * math.cos(angle)


_PLUS: Final = [
    (0.35 * a, 0.35 * b) if long == 0 else ((0.35 * a, 1.2 * b) if long == 1 else (1.2 * a, 0.35 * b))
    for a, b, order in ((1, -1, (1, 0, 2)), (1, 1, (2, 0, 1)), (-1, 1, (1, 0, 2)), (-1, -1, (2, 0, 1)))
    for long in order
]
_CORNERS: Final[Mapping[str, Sequence[tuple[float, float]]]] = {
    "square": [(-0.88, -0.88), (0.88, -0.88), (0.88, 0.88), (-0.88, 0.88)],
    "diamond": [(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)],
    "triangle": [(0.0, -1.2), (1.15, 0.85), (-1.15, 0.85)],
    "down": [(0.0, 1.2), (1.15, -0.85), (-1.15, -0.85)],
    "plus": _PLUS,
    "cross": [((dx - dy) * 0.75, (dx + dy) * 0.75) for dx, dy in _PLUS],
    "star": [_ray(math.pi * at / 5, 1.4 if at % 2 == 0 else 0.6) for at in range(10)],
}
