"""What a user wants made of the files: the recipe that stands beside every output."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, Final, Literal

from harness.errors import ConfigError

VERSION: Final = 1
"""Raised with every change that makes other pixels, frames or bytes of the same file and the same wishes."""

CRF: Final = 4
"""Of x264: near lossless. The mean error of decoded grey levels is 0.3 of 255 on brain slices, and
0.9 on noise.
"""

SIZES: Final = range(16, 4097)
RATES: Final = range(1, 121)
"""Of `size` in pixels, which are even, and of `fps`."""
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?"
_GIVEN = re.compile(rf"({_NUMBER})/({_NUMBER})", re.IGNORECASE)
_TAG = re.compile(r"tag(?::(\d+))?")

Kind = Literal["auto", "image", "clip"]
Axis = Literal["axial", "coronal", "sagittal"]


@dataclass(frozen=True, slots=True)
class WindowWish:
    """Which values become black and white.

    `auto` is the file's own window, else percentiles; `tag` only the file's own (its `index`-th, from 0).
    """

    kind: Literal["auto", "tag", "given", "full", "percentile"] = "auto"
    index: int = 0
    centre: float = 0.0
    width: float = 0.0

    def text(self) -> str:
        """Return the wish as it is written on the command line."""
        match self.kind:
            case "given":
                return f"{self.centre:g}/{self.width:g}"
            case "tag":
                return f"tag:{self.index}"
            case _:
                return self.kind


@dataclass(frozen=True, slots=True)
class Recipe:
    """The wishes of one call. `size` None: pixels as they are; `phase` None: all; `picks`: which slices."""

    kind: Kind = "auto"
    window: WindowWish = WindowWish()
    size: int | None = 512
    fps: int = 10
    picks: int | Literal["middle", "all"] = "middle"
    axis: Axis = "axial"
    phase: int | None = None

    def to_json(self, kind: Literal["image", "clip"]) -> dict[str, Any]:
        """Return what decides over one output of this kind, and nothing else."""
        found: dict[str, Any] = {"version": VERSION, "kind": kind, "window": self.window.text()}
        found |= {"size": self.size, "axis": self.axis}
        if kind == "clip":
            found |= {"fps": self.fps, "codec": "h264", "profile": "high", "crf": CRF}
        return found


def parse_window(text: str | None) -> WindowWish:
    """Read `--window`. Raises ConfigError with the forms that there are."""
    if text is None:
        return WindowWish()
    if found := _TAG.fullmatch(text):
        return WindowWish("tag", int(found[1] or 0))
    if text == "full":
        return WindowWish("full")
    if text == "percentile":
        return WindowWish("percentile")
    if found := _GIVEN.fullmatch(text):
        centre, width = float(found[1]), float(found[2])
        if math.isfinite(centre) and math.isfinite(width) and width > 0:
            return WindowWish("given", centre=centre, width=width)
    raise ConfigError(
        f"--window {text!r} is none of CENTRE/WIDTH (40/400, a width above 0), tag, tag:N, full, percentile"
    )


def parse_size(text: str) -> int | None:
    """Read `--size`: pixels of the square, or `native`. Raises ConfigError."""
    if text == "native":
        return None
    if text.isdecimal() and int(text) in SIZES and int(text) % 2 == 0:
        return int(text)
    raise ConfigError(
        f"--size {text!r} is neither `native` nor an even number from {SIZES.start} to {SIZES.stop - 1}"
    )


def parse_picks(text: str | None) -> int | Literal["middle", "all"]:
    """Read `--slice`: a number from 0, `middle` or `all`. Raises ConfigError."""
    if text is None or text == "middle":
        return "middle"
    if text == "all":
        return "all"
    return _number("--slice", text, "middle or all")


def parse_phase(text: str) -> int | None:
    """Read `--phase`: a number from 0, or `all`. Raises ConfigError."""
    return None if text == "all" else _number("--phase", text, "all")


def _number(option: str, text: str, others: str) -> int:
    if text.isdecimal() and len(text) <= 6:
        return int(text)
    raise ConfigError(f"{option} {text!r} is neither a number from 0 nor {others}")
