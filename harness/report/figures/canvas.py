"""A sheet of marks and texts in pixels from the top left, which matplotlib writes as SVG and as PNG.

Nothing of matplotlib's state is changed: what users set (a matplotlibrc, rcParams) does not reach figures,
and no figure reaches theirs. Colours are names of `palette.py`.
"""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Final, Literal, TypeAlias

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.text import Text
from matplotlib.transforms import Affine2D

from harness.report.figures.labels import fitted, printable, text_width
from harness.report.figures.palette import light

Align: TypeAlias = Literal["left", "center", "right"]
Spot: TypeAlias = tuple[float, float]

SIZE: Final = 12.0
"""Size of text in pixels; notes and cells are a little smaller."""
SMALL: Final = 10.5
_PNG_DPI: Final = 200
_PX_PER_INCH: Final = 72
_FONTS: Final = (
    "DejaVu Sans",
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans SC",
    "Source Han Sans SC",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "Droid Sans Fallback",
    "PingFang SC",
    "Hiragino Sans GB",
    "Microsoft YaHei",
    "SimHei",
    "Arial Unicode MS",
    "Unifont",
)
"""Fonts of a PNG: what one has no glyph for comes from the next that this machine has, else is a box."""


class Canvas:
    """What is drawn so far; `finish` gives it its height. Later marks lie over earlier ones."""

    def __init__(self, width: float) -> None:
        self.width = width
        self.height = 0.0
        self._artists: list[Artist] = []
        self._turned = Affine2D()

    def line(
        self, spots: Sequence[Spot], colour: str, width: float = 1.0, dashes: Sequence[float] = ()
    ) -> None:
        """Draw through all spots; `dashes` are lengths of marks and gaps in pixels."""
        xs, ys = zip(*spots, strict=True)
        drawn = Line2D(xs, ys, color=light(colour), linewidth=width, solid_capstyle="butt")
        if dashes:
            drawn.set_linestyle((0, [one / width for one in dashes]))
        self._artists.append(drawn)

    def box(
        self, x: float, y: float, width: float, height: float, fill: str, edge: str = "", hatch: str = ""
    ) -> None:
        """Draw a rectangle whose top left is at x, y; hatches have the colour of the edge."""
        spots = [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]
        self.path(Path([*spots, spots[0]], closed=True), fill, edge, hatch=hatch)

    def path(
        self,
        path: Path,
        fill: str = "",
        edge: str = "",
        edge_width: float = 1.0,
        hatch: str = "",
        alpha: float = 1.0,
    ) -> None:
        """Draw a path in pixels."""
        self._artists.append(
            PathPatch(
                path,
                facecolor=light(fill) if fill else "none",
                edgecolor=light(edge) if edge else "none",
                linewidth=edge_width if edge and not hatch else 0.0,
                hatch=hatch or None,
                alpha=None if alpha == 1.0 else alpha,
                joinstyle="miter",
            )
        )

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = SIZE,
        colour: str = "ink",
        align: Align = "left",
        rotation: float = 0.0,
        room: float = 0.0,
    ) -> float:
        """Write a line whose baseline is at y, shortened to `room` if that is given; return its width."""
        shown = fitted(text, room, size) if room else printable(text)
        if not shown.strip():
            return 0.0
        written = Text(x, y, shown, color=light(colour), fontsize=size, fontfamily=_families())
        written.set(horizontalalignment=align, verticalalignment="baseline")
        written.set(rotation=rotation, rotation_mode="anchor", parse_math=False, usetex=False)
        self._artists.append(written)
        return text_width(shown, size)

    def finish(self, height: float) -> None:
        """Set the height; nothing is drawn after."""
        self.height = height
        self._turned.scale(1.0, -1.0).translate(0.0, height).scale(1.0 / _PX_PER_INCH)

    def to_svg(self) -> str:
        """Return what matplotlib writes, with text as text. Raises nothing for glyphs that no font has."""
        with quiet_matplotlib():
            out, figure = io.StringIO(), self._figure()
            figure.patch.set_visible(False)
            figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
        return out.getvalue()

    def to_png(self) -> bytes:
        """Return a PNG on white, 200 pixels for 72 of ours, without a note of what wrote it."""
        with quiet_matplotlib():
            out = io.BytesIO()
            self._figure().savefig(
                out, format="png", dpi=_PNG_DPI, facecolor=light("paper"), metadata={"Software": None}
            )
        return out.getvalue()

    def _figure(self) -> Figure:
        figure = Figure(figsize=(self.width / _PX_PER_INCH, self.height / _PX_PER_INCH), dpi=_PX_PER_INCH)
        transform = self._turned + figure.dpi_scale_trans
        for artist in self._artists:
            if artist.get_figure() is not None:
                artist.remove()
            artist.set_zorder(1.0)
            artist.set_transform(transform)
            figure.add_artist(artist)
        return figure


@contextmanager
def quiet_matplotlib() -> Iterator[None]:
    """Draw with matplotlib's own defaults, without warnings of missing glyphs and lines in its log.

    The log tells that a cache folder cannot be written (matplotlib then makes a temporary one, and removes
    it) and which fonts are missing: nothing that the reader of a report has to act on.
    """
    log = logging.getLogger("matplotlib")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with mpl.rc_context(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"Glyph .* missing from", UserWarning)
            _set_defaults()
            yield
    finally:
        log.setLevel(level)


def _set_defaults() -> None:
    kept = {"backend", "backend_fallback", "interactive", "toolbar", "timezone"}
    mpl.rcParams.update({name: one for name, one in mpl.rcParamsDefault.items() if name not in kept})
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "harness", "hatch.linewidth": 1.0})


@cache
def _families() -> list[str]:
    there = {font.name for font in fontManager.ttflist}
    return [name for name in _FONTS if name in there]
