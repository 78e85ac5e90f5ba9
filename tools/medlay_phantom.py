"""Draws small pictures that only look like medical images: one manner for each of the eight modalities.

Each is a function of a seed, the lesion's centre and its radius, all lengths as shares of the side. SYNTHETIC
is burned into each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray
from opg_phantom import write_text
from PIL import Image

SIDE: Final = 320
GREEN: Final = (0, 255, 0)

Field = NDArray[np.float64]
"""Brightness of (SIDE, SIDE), or colours of (SIDE, SIDE, 3), 0 to 255."""

_YS, _XS = np.mgrid[0:SIDE, 0:SIDE] / SIDE


def draw_picture(modality: str, centre: tuple[float, float], radius: float, seed: int) -> Image.Image:
    """Return the picture of one case."""
    generator = np.random.Generator(np.random.PCG64(seed))
    field = _MANNERS[modality](generator, _blob(centre, radius))
    if field.ndim == 2:
        field = np.repeat(field[:, :, np.newaxis], 3, axis=2)
    _write_mark(field)
    return Image.fromarray(np.clip(np.rint(field), 0, 255).astype(np.uint8))


def draw_box(picture: Image.Image, box: tuple[int, int, int, int]) -> None:
    """Draw a green box of two pixels' width inside the edges of `box` (x0, y0, x1, y1)."""
    left, top, right, bottom = box
    pixels = np.array(picture)
    for rows, columns in (
        (slice(top, top + 2), slice(left, right)),
        (slice(bottom - 2, bottom), slice(left, right)),
        (slice(top, bottom), slice(left, left + 2)),
        (slice(top, bottom), slice(right - 2, right)),
    ):
        pixels[rows, columns] = GREEN
    picture.paste(Image.fromarray(pixels))


def _blob(centre: tuple[float, float], radius: float, squash: float = 1.0) -> Field:
    """Return 1 in the middle of an ellipse and 0 outside, with a soft rim."""
    distance = np.hypot(_XS - centre[0], (_YS - centre[1]) / squash) / radius
    return np.clip((1 - distance) * 6, 0, 1)


def _noise(generator: np.random.Generator, step: int) -> Field:
    """Return smooth noise about 0 with grains of `step` pixels."""
    count = SIDE // step + 2
    coarse = generator.normal(0, 1, (count, count))
    places = np.arange(SIDE) / step
    low = places.astype(int)
    share = places - low
    rows = coarse[low] * (1 - share)[:, np.newaxis] + coarse[low + 1] * share[:, np.newaxis]
    return rows[:, low] * (1 - share) + rows[:, low + 1] * share


def _tinted(base: Field, dark: tuple[int, int, int], bright: tuple[int, int, int]) -> Field:
    """Return the colours between two, by shares from 0 to 1."""
    shares = np.clip(base, 0, 1)[:, :, np.newaxis]
    return np.asarray(np.array(dark) * (1 - shares) + np.array(bright) * shares, dtype=np.float64)


def _mri(generator: np.random.Generator, lesion: Field) -> Field:
    skull, brain = _blob((0.5, 0.5), 0.4, 1.15), _blob((0.5, 0.5), 0.36, 1.15)
    spaces = _blob((0.46, 0.47), 0.05, 2.2) + _blob((0.54, 0.47), 0.05, 2.2)
    folds = 0.5 + 0.5 * np.sin(38 * np.hypot(_XS - 0.5, _YS - 0.5) + 1.5 * _noise(generator, 20))
    field = 165 * skull - 60 * brain + 30 * folds * brain - 70 * np.clip(spaces, 0, 1) * brain
    return field + 120 * lesion * brain + 4 * _noise(generator, 4)


def _ct(generator: np.random.Generator, lesion: Field) -> Field:
    body = _blob((0.5, 0.52), 0.44, 0.78)
    organs = (
        ((0.33, 0.45), 0.17, 70), ((0.66, 0.44), 0.08, 55), ((0.36, 0.66), 0.06, 60),
        ((0.64, 0.66), 0.06, 60),
    )  # fmt: skip
    field = 70 * body
    for centre, radius, brightness in organs:
        field += brightness * _blob(centre, radius)
    field += 150 * _blob((0.5, 0.72), 0.06) - 60 * _blob((0.52, 0.4), 0.05)
    return field - 60 * lesion * body + 5 * _noise(generator, 3)


def _x_ray(generator: np.random.Generator, lesion: Field) -> Field:
    lungs = _blob((0.32, 0.48), 0.19, 1.6) + _blob((0.68, 0.48), 0.19, 1.6)
    ribs = np.clip(np.sin(52 * (_YS + 0.5 * (_XS - 0.5) ** 2)), 0, 1) ** 3
    field = 150 - 95 * np.clip(lungs, 0, 1) + 28 * ribs + 60 * _blob((0.55, 0.62), 0.15)
    return field + 30 * _blob((0.5, 0.5), 0.05, 8.0) + 75 * lesion + 5 * _noise(generator, 5)


def _pet(generator: np.random.Generator, lesion: Field) -> Field:
    body = _blob((0.5, 0.55), 0.24, 1.9)
    field = 245 - 70 * body - 60 * _blob((0.5, 0.2), 0.1) - 50 * _blob((0.5, 0.8), 0.07)
    return field - 150 * lesion + 6 * _noise(generator, 10)


def _pathology(generator: np.random.Generator, lesion: Field) -> Field:
    field = _tinted(0.6 + 0.2 * _noise(generator, 16), (226, 160, 196), (248, 222, 236))
    nuclei = np.zeros((SIDE, SIDE))
    for x, y in generator.random((330, 2)):
        column, row = int(x * SIDE), int(y * SIDE)
        crowded = lesion[min(row, SIDE - 1), min(column, SIDE - 1)] > 0.5
        nuclei = np.maximum(nuclei, _blob((x, y), 0.02 if crowded else 0.011))
    for _ in range(90):
        row, column = _inside(generator, lesion)
        nuclei = np.maximum(nuclei, _blob((column / SIDE, row / SIDE), 0.016, 1.3))
    return field - nuclei[:, :, np.newaxis] * np.array([130, 110, 60])


def _inside(generator: np.random.Generator, lesion: Field) -> tuple[int, int]:
    places = np.argwhere(lesion > 0.3)
    row, column = places[int(generator.random() * len(places))]
    return int(row), int(column)


def _dermoscopy(generator: np.random.Generator, lesion: Field) -> Field:
    field = _tinted(0.6 + 0.15 * _noise(generator, 12), (206, 150, 120), (238, 196, 170))
    network = 0.75 + 0.25 * np.sin(90 * _XS + _noise(generator, 14)) * np.sin(90 * _YS)
    return field - (lesion * network)[:, :, np.newaxis] * np.array([120, 115, 95])


def _endoscopy(generator: np.random.Generator, lesion: Field) -> Field:
    distance = np.hypot(_XS - 0.5, _YS - 0.5)
    rings = 0.5 + 0.5 * np.sin(55 * distance + 1.2 * _noise(generator, 40))
    field = _tinted(np.clip(1.9 * distance, 0, 1) * (0.75 + 0.25 * rings), (60, 12, 14), (236, 136, 116))
    field += lesion[:, :, np.newaxis] * np.array([70, 60, 55])
    return field * (distance < 0.48)[:, :, np.newaxis]


def _ultrasound(generator: np.random.Generator, lesion: Field) -> Field:
    angle, depth = np.arctan2(_XS - 0.5, _YS + 0.05), np.hypot(_XS - 0.5, _YS + 0.05)
    fan = (np.abs(angle) < 0.6) & (depth > 0.16) & (depth < 0.98)
    speckle = np.abs(_noise(generator, 3)) * (0.8 + 0.3 * np.sin(26 * depth))
    return (25 + 85 * speckle * (1 - 0.9 * lesion) + 60 * _blob((0.5, 0.72), 0.2, 0.12)) * fan


_MANNERS: Final[Mapping[str, Callable[[np.random.Generator, Field], Field]]] = {
    "MRI": _mri, "CT": _ct, "X-Ray": _x_ray, "PET": _pet, "Pathology": _pathology, "Dermoscopy": _dermoscopy,
    "Endoscopy": _endoscopy, "Ultrasound": _ultrasound,
}  # fmt: skip


def _write_mark(field: Field) -> None:
    """Write SYNTHETIC on a dark strip at the lower edge."""
    field[SIDE - 20 :] = 16
    write_text(field, "SYNTHETIC", (8, SIDE - 17), dot=2)
