"""How counts move between levels from stage to stage: ribbons, a panel a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from matplotlib.path import Path

from harness.report.document import Alluvial
from harness.report.figures.canvas import SMALL, Align, Canvas
from harness.report.figures.labels import text_width
from harness.report.figures.palette import SERIES
from harness.report.figures.rows import MARGIN, WIDTH, Swatch, draw_legend
from harness.report.figures.stacked import part_box

_FEW: Final = 6
"""Panels that are drawn two in a line; of more, three are."""
_NODE: Final = 13.0
_GAP: Final = 6.0

Flow = Sequence[Sequence[Sequence[int]]]


@dataclass(frozen=True, slots=True)
class _Panel:
    canvas: Canvas
    x: float
    y: float
    width: float
    height: float
    size: float

    def stage_x(self, at: int, stages: int) -> float:
        return self.x + (self.width - _NODE) * at / max(stages - 1, 1)


def draw_alluvial(drawing: Alluvial) -> Canvas:
    """Return the panels; a panel's heights are shares of its own total, which its title has."""
    canvas = Canvas(WIDTH)

    def swatch(at: int) -> Swatch:
        return lambda x, y: part_box(canvas, at, x - 8, y - 6, 20, 12)

    top = draw_legend(canvas, [(name, swatch(at)) for at, name in enumerate(drawing.levels)], MARGIN) + 8
    few = len(drawing.panels) <= _FEW
    across = min(2 if few else 3, max(len(drawing.panels), 1))
    gap = 30.0 if few else 20.0
    width = min((WIDTH - 2 * MARGIN - gap * (across - 1)) / across, 420.0)
    height = 190.0 if few else 104.0
    line = height + (66.0 if few else 52.0)
    for at, (name, flow) in enumerate(drawing.panels.items()):
        x, y = MARGIN + (width + gap) * (at % across), top + line * (at // across)
        total = _total(flow)
        count = f"n = {total}"
        if few:
            canvas.text(x, y + 12, name, room=width - text_width(count, SMALL) - 12)
            canvas.text(x + width, y + 12, count, size=SMALL, colour="soft", align="right")
        else:
            canvas.text(x, y + 12, name, size=9.5, room=width)
            canvas.text(x, y + 24, count, size=9.0, colour="soft")
        start = y + (22 if few else 31)
        panel = _Panel(canvas, x, start, width, height, SMALL if few else 8.5)
        _draw_panel(panel, drawing, flow, total)
    lines = -(-len(drawing.panels) // across)
    note = f"Numbers and heights count {drawing.unit}." if drawing.panels else "nothing to show"
    canvas.text(MARGIN, top + line * lines + 8, note, size=SMALL, colour="soft")
    canvas.finish(top + line * lines + 20)
    return canvas


def _total(flow: Flow) -> int:
    return max((sum(map(sum, step)) for step in flow), default=0)


def _nodes(flow: Flow, stage: int, levels: int) -> Sequence[int]:
    """Return how many stand on each level of a stage: the larger of what comes and what goes."""
    comes = [sum(row[at] for row in flow[stage - 1]) if stage else 0 for at in range(levels)]
    goes = [sum(flow[stage][at]) if stage < len(flow) else 0 for at in range(levels)]
    return [max(pair) for pair in zip(comes, goes, strict=True)]


def _draw_panel(panel: _Panel, drawing: Alluvial, flow: Flow, total: int) -> None:
    stages, levels = len(drawing.stages), len(drawing.levels)
    if not total:
        panel.canvas.text(panel.x, panel.y + 20, "nothing to show", size=panel.size, colour="soft")
        return
    nodes = [_nodes(flow, stage, levels) for stage in range(stages)]
    unit = (panel.height - _GAP * (levels - 1)) / max(map(sum, nodes))
    tops = []
    for counts in nodes:
        y, found = panel.y, []
        for count in counts:
            found.append(y)
            y += count * unit + (_GAP if count else 0.0)
        tops.append(found)
    for stage, step in enumerate(flow):
        _draw_ribbons(panel, step, tops[stage], tops[stage + 1], stage, stages, unit)
    for stage, name in enumerate(drawing.stages):
        _draw_nodes(panel, nodes[stage], tops[stage], stage, stages, unit)
        _write_stage(panel, name, stage, stages)


def _draw_ribbons(
    panel: _Panel,
    step: Sequence[Sequence[int]],
    left_tops: Sequence[float],
    right_tops: Sequence[float],
    stage: int,
    stages: int,
    unit: float,
) -> None:
    x0, x1 = panel.stage_x(stage, stages) + _NODE, panel.stage_x(stage + 1, stages)
    filled = list(right_tops)
    for level, row in enumerate(step):
        y0 = left_tops[level]
        for to, count in enumerate(row):
            if count:
                thick = count * unit
                ribbon = _ribbon(x0, y0, x1, filled[to], thick)
                panel.canvas.path(ribbon, SERIES[level % len(SERIES)], alpha=0.42)
                y0 += thick
                filled[to] += thick


def _ribbon(x0: float, y0: float, x1: float, y1: float, thick: float) -> Path:
    middle = (x0 + x1) / 2
    spots = [
        (x0, y0), (middle, y0), (middle, y1), (x1, y1),
        (x1, y1 + thick), (middle, y1 + thick), (middle, y0 + thick), (x0, y0 + thick), (x0, y0),
    ]  # fmt: skip
    move, line, curve, close = Path.MOVETO, Path.LINETO, Path.CURVE4, Path.CLOSEPOLY
    return Path(spots, [move, curve, curve, curve, line, curve, curve, curve, close])


def _draw_nodes(
    panel: _Panel, counts: Sequence[int], tops: Sequence[float], stage: int, stages: int, unit: float
) -> None:
    x = panel.stage_x(stage, stages)
    last = stage == stages - 1
    for level, count in enumerate(counts):
        if not count:
            continue
        thick = count * unit
        part_box(panel.canvas, level, x, tops[level], _NODE, thick)
        if thick >= panel.size * 0.9:
            side = x - 4 if last else x + _NODE + 4
            y = tops[level] + thick / 2 + panel.size * 0.35
            panel.canvas.text(side, y, str(count), size=panel.size, align="right" if last else "left")


def _write_stage(panel: _Panel, name: str, stage: int, stages: int) -> None:
    x = panel.stage_x(stage, stages)
    align: Align = "center"
    if stage == 0:
        align = "left"
    elif stage == stages - 1:
        x, align = x + _NODE, "right"
    else:
        x += _NODE / 2
    room = panel.width / max(stages, 1) - 4
    y = panel.y + panel.height + panel.size + 4
    panel.canvas.text(x, y, name, size=panel.size, colour="soft", room=room, align=align)
