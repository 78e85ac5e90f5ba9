"""What figures with a line a row share: names at the left, an axis below, marks of kinds, a legend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from harness.report.document import RowKind
from harness.report.figures.canvas import SMALL, Canvas
from harness.report.figures.labels import fitted, text_width
from harness.report.figures.marks import MARKS, mark
from harness.report.figures.scales import Scale

WIDTH: Final = 720.0
ROW: Final = 22.0
MARGIN: Final = 12.0
NAME_ROOM: Final = 250.0
_MANY_ROWS: Final = 15

Swatch = Callable[[float, float], None]
"""Draws what a legend explains, around a spot."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Places of rows: names end at `left`, values lie between `left` and `right`, from `top` downwards."""

    canvas: Canvas
    names: Sequence[str]
    left: float
    right: float
    top: float

    @property
    def bottom(self) -> float:
        """Return where the last row ends."""
        return self.top + ROW * max(len(self.names), 1)

    def middle(self, at: int) -> float:
        """Return the height of the middle of a row."""
        return self.top + ROW * (at + 0.5)

    def write_names(self) -> None:
        """Write the names, on a band at every second row."""
        for at, name in enumerate(self.names):
            if at % 2 == 0:
                self.canvas.box(0, self.top + ROW * at, self.canvas.width, ROW, "band")
            shown_at = self.left - 10
            self.canvas.text(shown_at, self.middle(at) + 4, name, align="right", room=shown_at - 4)
        if not self.names:
            self.canvas.text(MARGIN, self.middle(0) + 4, "nothing to show", colour="soft")

    def draw_axis(self, scale: Scale, title: str) -> float:
        """Draw the axis below, and above where there are many rows; return the height below it."""
        ticks = scale.ticks(8)
        for value, text in ticks:
            x = scale.at(value)
            self.canvas.line([(x, self.top), (x, self.bottom)], "grid")
            self.canvas.text(x, self.bottom + 16, text, size=SMALL, colour="soft", align="center")
            if len(self.names) > _MANY_ROWS:
                self.canvas.text(x, self.top - 6, text, size=SMALL, colour="soft", align="center")
        self.canvas.line([(self.left, self.bottom), (self.right, self.bottom)], "axis")
        middle = (self.left + self.right) / 2
        self.canvas.text(middle, self.bottom + 35, title, align="center", room=self.right - self.left)
        return self.bottom + 46


def laid_rows(canvas: Canvas, names: Sequence[str], top: float) -> Rows:
    """Return where rows of these names go, below `top`."""
    widest = max((text_width(fitted(one, NAME_ROOM, 12), 12) for one in names), default=0.0)
    over = 20.0 if len(names) > _MANY_ROWS else 4.0
    return Rows(canvas, names, max(widest + 18, 60.0), canvas.width - 24, top + over)


def draw_legend(canvas: Canvas, entries: Iterable[tuple[str, Swatch]], top: float) -> float:
    """Draw entries from the left, in as many lines as they need; return the height below them."""
    x, y = MARGIN, top + 11.0
    for label, swatch in entries:
        shown = fitted(label, 260, SMALL)
        wide = text_width(shown, SMALL) + 48
        if x + wide > canvas.width and x > MARGIN:
            x, y = MARGIN, y + 18
        swatch(x + 8, y)
        canvas.text(x + 27, y + 4, shown, size=SMALL, colour="soft")
        x += wide
    return y + 13


def kinds_legend(canvas: Canvas, kinds: Iterable[RowKind], top: float) -> float:
    """Explain the marks of these kinds, if there are two or more; return the height below."""
    there = set(kinds)
    found = [kind for kind in MARKS if kind in there]
    if len(found) < 2:
        return top

    def swatch(kind: RowKind) -> Swatch:
        return lambda x, y: mark(canvas, x, y, kind)

    return draw_legend(canvas, [(kind, swatch(kind)) for kind in found], top)
