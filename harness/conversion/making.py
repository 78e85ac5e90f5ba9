"""One output made of one stack: window, proportions, encoding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from harness.conversion.fitting import fitted, fitted_size, pixel_ratio, too_large
from harness.conversion.grey import grey_levels
from harness.conversion.pictures import Picture, Stack, fault
from harness.conversion.recipe import Recipe
from harness.conversion.windowing import Measures, Windowing
from harness.conversion.writing import Pixels, write_clip, write_image
from harness.errors import ConversionError, HarnessError


@dataclass(frozen=True, slots=True)
class Made:
    """What became of a stack; `window` is None for colour, `ratio` a source pixel's height over its width."""

    kind: Literal["image", "clip"]
    width: int
    height: int
    frames: int
    bytes: int
    window: dict[str, Any] | None
    ratio: float
    notes: tuple[str, ...]


def make(
    path: Path,
    stack: Stack,
    kind: Literal["image", "clip"],
    indices: list[int],
    recipe: Recipe,
    measures: Measures,
) -> Made:
    """Write the pictures at `indices` of a stack to a file. Raises ConversionError naming the source."""
    drawing = _Drawing(stack, kind, recipe, measures)
    try:
        if kind == "clip":
            width, height, count = write_clip(path, drawing.pictures(indices), recipe.fps)
        else:
            (pixels,) = drawing.pictures(indices)
            write_image(path, pixels)
            (height, width), count = pixels.shape[:2], 1
        written = path.stat().st_size
    except OSError as error:
        told = f"cannot write in {str(path.parent)!r}: {error.strerror}; make room and go on"
        raise HarnessError(told) from error
    if count != len(indices):
        raise ConversionError(f"{str(stack.sources[0].path)!r}: {count} pictures came of {len(indices)}")
    return Made(kind, width, height, count, written, drawing.window, drawing.ratio, drawing.notes())


class _Drawing:
    """Pictures of a stack in 8 bits and in their final size, one at a time."""

    def __init__(
        self, stack: Stack, kind: Literal["image", "clip"], recipe: Recipe, measures: Measures
    ) -> None:
        self._stack = stack
        self._recipe = recipe
        self._even = kind == "clip"
        self._windowing = Windowing(stack, recipe.window, measures, fixed=kind == "clip")
        self.window: dict[str, Any] | None = None
        self.ratio = 1.0

    def pictures(self, indices: list[int]) -> Iterator[Pixels]:
        """Yield the pictures at these places."""
        for picture in self._stack.pictures(indices):
            yield self._drawn(picture)

    def notes(self) -> tuple[str, ...]:
        """Return what is to be told of the windows."""
        return self._windowing.notes()

    def _drawn(self, picture: Picture) -> Pixels:
        self.ratio = pixel_ratio(picture.spacing) or 1.0
        rows, columns = picture.values.shape[:2]
        width, height = fitted_size(rows, columns, self.ratio, self._recipe.size)
        if too_large(width, height):
            told = f"it becomes {width}x{height} pixels, more than 4096; give --size 512, say"
            raise fault(self._stack.sources[0], told)
        if picture.colour:
            pixels = picture.values
        else:
            view = self._windowing.view(picture)
            self.window = view.to_json()
            pixels = grey_levels(picture, view)
        return fitted(pixels, self.ratio, self._recipe.size, even=self._even)
