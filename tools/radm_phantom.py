"""Phantom slices for the RadM sample: a stack of ellipses, with bright or dark spots where a finding is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from opg_phantom import write_text

SIDE: Final = 160
"""Width and height in pixels."""
EDGE: Final = 0.02
"""Softness of edges, in half widths."""

Field: TypeAlias = NDArray[np.float64]
Ellipse: TypeAlias = tuple[float, float, float, float, int]
"""Centre, half axes (the picture goes from -1 to 1) and grey."""

VIEWS: Final[Mapping[str, tuple[Ellipse, ...]]] = {
    "chest": (
        (0, 0, 0.9, 0.66, 150), (-0.48, 0, 0.36, 0.46, 35), (0.48, 0, 0.34, 0.46, 35),
        (0.04, -0.06, 0.24, 0.24, 175), (0.12, 0.28, 0.08, 0.08, 220), (0, 0.5, 0.12, 0.1, 235),
    ),
    "abdomen": (
        (0, 0, 0.92, 0.68, 140), (-0.4, -0.05, 0.42, 0.42, 165), (0.6, -0.04, 0.18, 0.26, 170),
        (0.2, -0.24, 0.22, 0.14, 120), (-0.5, 0.36, 0.13, 0.16, 185), (0.5, 0.36, 0.13, 0.16, 185),
        (0.06, 0.24, 0.07, 0.07, 215), (0, 0.5, 0.12, 0.11, 235),
    ),
    "head": (
        (0, 0, 0.74, 0.88, 235), (0, 0, 0.66, 0.8, 130), (-0.12, -0.06, 0.07, 0.24, 45),
        (0.12, -0.06, 0.07, 0.24, 45), (0, 0, 0.012, 0.72, 105),
    ),
    "neck": (
        (0, 0, 0.72, 0.66, 140), (0, -0.28, 0.11, 0.13, 10), (0, 0.24, 0.17, 0.15, 235),
        (0, 0.24, 0.06, 0.06, 90), (-0.3, -0.06, 0.07, 0.07, 205), (0.3, -0.06, 0.07, 0.07, 205),
    ),
    "breast": (
        (0, 0.25, 0.74, 0.95, 95), (0, 0.2, 0.44, 0.6, 150), (-0.15, 0.3, 0.16, 0.3, 170),
        (0.22, 0.4, 0.14, 0.3, 165),
    ),
    "bone": (
        (0, 0, 0.5, 1.3, 70), (0, 0, 0.2, 1.3, 235), (0, 0, 0.13, 1.2, 170), (0, -0.8, 0.28, 0.24, 215),
        (0, 0.8, 0.3, 0.26, 215),
    ),
}  # fmt: skip
"""View -> what a slice through its middle shows, from the outside in."""


def draw_slice(draw: Mapping[str, Any], depth: float, *, seed: int, gain: float = 1.0) -> NDArray[np.uint8]:
    """Return one slice, (160, 160): `depth` 0 is the middle of the stack, -1 and 1 are its ends.

    The finding is there from -0.4 to 0.4. `gain` brightens what is bright already, as contrast agent would.
    """
    field = np.zeros((SIDE, SIDE))
    body = (1 - 0.5 * depth * depth) ** 0.5
    for x, y, across, along, grey in VIEWS[draw["view"]]:
        _lay(field, (x * body, y * body, across * body, along * body, grey))
    here = 1 - (depth / 0.4) ** 2
    if here > 0:
        for x, y, across, along, grey in draw["spots"]:
            _lay(field, (x * body, y * body, across * here**0.5, along * here**0.5, grey))
    field = np.where(field > 160, 160 + (field - 160) * gain, field)
    field += np.random.Generator(np.random.PCG64(seed)).normal(0, 3, field.shape)
    write_text(field, "SYNTHETIC", (8, SIDE - 12), dot=1)
    pixels: NDArray[np.uint8] = np.clip(np.rint(field), 0, 255).astype(np.uint8)
    return pixels


def draw_stack(
    draw: Mapping[str, Any], slices: int, *, seed: int, gain: float = 1.0
) -> Sequence[NDArray[np.uint8]]:
    """Return a whole stack from end to end."""
    depths = np.linspace(-1, 1, slices).tolist()
    return [draw_slice(draw, depth, seed=seed + place, gain=gain) for place, depth in enumerate(depths)]


def _lay(field: Field, ellipse: tuple[float, float, float, float, float]) -> None:
    x, y, across, along, grey = ellipse
    ys, xs = np.mgrid[-1 : 1 : SIDE * 1j, -1 : 1 : SIDE * 1j]
    least = max(min(across, along), 1e-6)
    inside = 1 - np.hypot((xs - x) / max(across, 1e-6), (ys - y) / max(along, 1e-6))
    cover = np.clip(inside * least / min(EDGE, least) + 0.5, 0, 1)
    field += (grey - field) * cover
