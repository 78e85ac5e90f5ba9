"""Pictures brought to the square of the output: true proportions, black around."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from harness.conversion.recipe import SIZES

_TRUE_RATIOS: Final = (1 / 20, 20.0)
"""A pixel that is longer than this is a mistake of the file rather than a fact."""


def pixel_ratio(spacing: tuple[float, float] | None) -> float | None:
    """Return how many times as high as wide a pixel is: 1 where unknown, None where it cannot be true."""
    if spacing is None:
        return 1.0
    rows, columns = spacing
    if not (math.isfinite(rows) and math.isfinite(columns) and rows > 0 and columns > 0):
        return None
    low, high = _TRUE_RATIOS
    return rows / columns if low <= rows / columns <= high else None


def fitted_size(rows: int, columns: int, ratio: float, size: int | None) -> tuple[int, int]:
    """Return (width, height) of the scaled picture, its longest side `size`.

    None: pixels stay, but where they are not square the coarser direction is stretched.
    """
    width, height = float(columns), rows * ratio
    if size is None and ratio < 1:
        width, height = columns / ratio, float(rows)
    if size is not None:
        scale = size / max(width, height)
        width, height = width * scale, height * scale
    return max(1, math.floor(width + 0.5)), max(1, math.floor(height + 0.5))


def fitted(
    pixels: NDArray[np.uint8], ratio: float, size: int | None, *, even: bool
) -> NDArray[np.uint8]:
    """Return the picture scaled (Lanczos) and centred on a black square of `size`.

    Where pixels stay as they are, only what is needed for `even` sides is added, below and to the right.
    """
    width, height = fitted_size(pixels.shape[0], pixels.shape[1], ratio, size)
    if (height, width) != pixels.shape[:2]:
        image = Image.fromarray(pixels).resize((width, height), Image.Resampling.LANCZOS)
        pixels = np.asarray(image)
    if size is None:
        step = 2 if even else 1
        canvas, top, left = (height + height % step, width + width % step), 0, 0
    else:
        canvas, top, left = (size, size), (size - height) // 2, (size - width) // 2
    if canvas == (height, width):
        return pixels
    laid = np.zeros((*canvas, *pixels.shape[2:]), np.uint8)
    laid[top : top + height, left : left + width] = pixels
    return laid


def too_large(width: int, height: int) -> bool:
    """Return whether a picture is larger than any output may be."""
    return max(width, height) >= SIZES.stop
