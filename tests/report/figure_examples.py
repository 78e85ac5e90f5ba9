"""Drawings of every kind: of one row, of 33, of none, and with names that try to be code."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from harness.report.document import (
    KIND_HEADS,
    Alluvial,
    Drawing,
    Figure,
    HeatMap,
    Intervals,
    Joined,
    Lines,
    Point,
    RowKind,
    Scatter,
    Stacked,
)

HOSTILE: Sequence[str] = (
    "<script>alert(1)</script>",
    "</style></svg><img src=x onerror=alert(1)>",
    "$x_1$ \\frac{1}{2} %_&#",
    "nul\x00 escape\x1b half\ud800 last\uffff",
    "evil \u202eexe.txt",
    "line\none\r\ntwo\u2028three",
    "\u672c\u5730/\u5927\u6a21\u578b",
    "\u0645\u0631\u062d\u0628\u0627 \u05e9\u05dc\u05d5\u05dd",
    "\U0001f9b7 tooth",
    "",
    "x" * 200_000,
)
NAMES: Sequence[str] = tuple(f"vendor-{at % 7}/model-{at:02}-vision" for at in range(33))
KINDS: Sequence[RowKind] = tuple(KIND_HEADS)


def figure(drawing: Drawing, title: str = "A figure", alt: str = "What it shows.") -> Figure:
    """Return a figure of a drawing."""
    return Figure("figure-1", title, alt, drawing, "table-1")


def drawings(names: Sequence[str], title: str = "share") -> Mapping[str, Drawing]:
    """Return a drawing of each kind, with a row for each name and every title the given one."""
    draw = random.Random(len(names))
    points = [
        Point(name, 0.2 + at / 60, draw.random(), 0.1 + at / 60, 0.3 + at / 60, KINDS[at % 5])
        for at, name in enumerate(names)
    ]
    columns = [f"column {at}" for at in range(8)]
    values = [[None if at == 3 else draw.random() for at in range(8)] for _ in names]
    texts = [["" if value is None else f"{value:.2f}" for value in row] for row in values]
    series = {name: [draw.random(), None, draw.random(), 2.0] for name in names}
    flow = [[[draw.randrange(9) for _ in range(3)] for _ in range(3)] for _ in range(2)]
    return {
        "intervals": Intervals(title, points),
        "heat map": HeatMap(names, columns, values, texts, title, title, 0.0, 1.0),
        "lines": Lines(["1", "2", "3", "4 or more"], series, title, title, diagonal=True),
        "scatter": Scatter(points, title, title, [names[0], names[-1]] if names else []),
        "scatter, logarithmic": Scatter([Point("free", 0.0, 0.5), *points], title, title, log_x=True),
        "joined": Joined({name: (draw.random(), draw.random()) for name in names}, title, "after", title),
        "stacked": Stacked(names, {f"part {at}": [0.07] * len(names) for at in range(14)}, title),
        "alluvial": Alluvial([title, "between", "last"], ["a", "b", title], {name: flow for name in names}),
    }


EVERY: Mapping[str, Drawing] = {
    f"{kind}, {size}": drawing
    for size, names in {"none": (), "one": NAMES[:1], "many": NAMES, "hostile": HOSTILE}.items()
    for kind, drawing in drawings(names, HOSTILE[1] if size == "hostile" else "share").items()
}
"""Kind and size -> drawing."""
