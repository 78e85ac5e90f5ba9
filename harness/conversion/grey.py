"""From values to 8 bits: windows, tables, and the window of pictures that have none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.conversion.pictures import Array, Picture, Table, View, Window

PERCENTILES: Final = (0.5, 99.5)
_SAMPLE: Final = 4_000_000
"""Values that percentiles are taken of, at most: every k-th of each picture where there are more."""


def grey_levels(picture: Picture, view: View) -> NDArray[np.uint8]:
    """Return a grey picture in 8 bits: 0 black, 255 white, halves rounded up; NaN is the darkest value."""
    match view:
        case Table():
            share = _by_table(picture.values, view)
        case Window():
            share = _by_window(picture.values, view)
    levels = np.floor(np.nan_to_num(share, nan=0.0) * 255 + 0.5).astype(np.uint8)
    return 255 - levels if picture.inverted else levels


def measured(pictures: Iterable[Picture], count: int, *, full: bool) -> Window | None:
    """Return the window from the smallest to the largest value, or between the percentiles.

    `count`: pictures that will come. Padding and what is no number are left out; None where nothing is left.
    One window for all pictures, so that one value is one grey throughout.
    """
    low, high = np.inf, -np.inf
    kept: list[Array] = []
    for picture in pictures:
        values = _measurable(picture)
        if not values.size:
            continue
        if full:
            low, high = min(low, float(values.min())), max(high, float(values.max()))
        else:
            step = -(-picture.values.size * count // _SAMPLE)
            kept.append(values[::step].astype(np.float64))
    if kept:
        low, high = (float(one) for one in np.percentile(np.concatenate(kept), PERCENTILES))
    if low > high:
        return None
    name = "full" if full else "percentile {}-{}".format(*PERCENTILES)
    return Window((low + high) / 2, high - low, "LINEAR_EXACT", name)


def _measurable(picture: Picture) -> Array:
    values = picture.values.ravel()
    if picture.padding is not None:
        low, high = picture.padding
        values = values[(values < low) | (values > high)]
    return values[np.isfinite(values)] if values.dtype.kind == "f" else values


def _by_window(values: Array, window: Window) -> NDArray[np.float64]:
    numbers = values.astype(np.float64)
    centre, width = window.centre, window.width
    if window.function == "SIGMOID":
        with np.errstate(over="ignore"):
            return np.asarray(1 / (1 + np.exp(-4 * (numbers - centre) / width)))
    if window.function == "LINEAR":
        centre, width = centre - 0.5, width - 1
    if width <= 0:
        return np.where(numbers > centre, 1.0, 0.0)
    return np.asarray(np.clip((numbers - centre) / width + 0.5, 0.0, 1.0))


def _by_table(values: Array, table: Table) -> NDArray[np.float64]:
    places = np.clip(np.nan_to_num(values.astype(np.float64)) - table.first, 0, len(table.values) - 1)
    return table.values[places.astype(np.int64)]
