"""Recipes: how the bytes of an image become those that are sent. Default: they are sent as they are.

| recipe | what is sent |
|---|---|
| `original` | the file's bytes; an image that the model cannot take so is not sent at all |
| `convert` | the same, but what the model cannot take so as PNG (JPEG, where it takes no PNG) |
| `png`, `jpeg`, `jpeg:quality=Q` | every image, encoded anew; quality 1 to 100, 95 unless given |
| `fit:max_side=N` | as `convert`; an image with a longer side is scaled down to N pixels there |
| `fit:max_pixels=N` | as `convert`; an image with more pixels is scaled down to at most N |
| `fit:max_bytes=N` | as `convert`; an image of more bytes is encoded anew, and scaled by 3/4 until it fits |

All but `original` lose something, and say so here: they turn the image upright (EXIF orientation), drop all
metadata and colour profiles, reduce grey of more than 8 bits to 8 by a shift that keeps zero and all ratios,
turn CMYK, YCbCr and LAB into RGB, and palettes into RGB or RGBA. JPEG lays transparency on white and is lossy
(no chroma subsampling). `fit` keeps JPEG for JPEG (quality 95), makes PNG of all else, scales by Lanczos.

`convert` is a wish, not a recipe of its own: what is recorded, and enters the request key, is what was done
to each image: `original` where nothing was.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import isqrt
from typing import Final, Literal, TypeAlias

from harness.errors import MediaError
from harness.nearest import nearest

Kind: TypeAlias = Literal["original", "convert", "png", "jpeg", "fit"]

RECIPE_VERSIONS: Final = {"original": 1, "png": 1, "jpeg": 1, "fit": 1}
"""Kind of recipe -> version; recipe and version enter the request key, so a changed rule is a new request."""

ORIGINAL: Final = "original"
DEFAULT_QUALITY: Final = 95
_MIME: Final[Mapping[str, str]] = {"png": "image/png", "jpeg": "image/jpeg"}
_FORM: Final = re.compile(r"(\w+)(?::(\w+)=([1-9]\d{0,11}))?")
_BOUNDS: Final = ("max_side", "max_pixels", "max_bytes")
_KNOWN: Final = (
    "original", "convert", "png", "jpeg", "jpeg:quality=Q", *(f"fit:{bound}=N" for bound in _BOUNDS)
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Recipe:
    """A recipe, parsed. `bound` names what `fit` keeps to `number`; a `jpeg` may have a quality there."""

    kind: Kind
    bound: str = ""
    number: int = 0

    def __str__(self) -> str:
        """Return its one spelling, under which it is recorded."""
        return f"{self.kind}:{self.bound}={self.number}" if self.bound else self.kind

    @property
    def quality(self) -> int:
        """The quality of a JPEG that it makes."""
        return self.number if self.bound == "quality" else DEFAULT_QUALITY

    def mime(self, source: str) -> str:
        """Return the MIME type that an image of type `source` has afterwards."""
        if self.kind == "fit":
            return source if source == "image/jpeg" else "image/png"
        return _MIME.get(self.kind, source)

    def size(self, width: int, height: int) -> tuple[int, int] | None:
        """Return the size in pixels of an image afterwards; None where only encoding can tell."""
        longest = max(width, height)
        if self.kind != "fit" or (self.bound == "max_side" and longest <= self.number):
            return width, height
        if self.bound == "max_side":
            return _scaled(width, height, self.number, longest)
        if self.bound == "max_bytes":
            return None
        if width * height <= self.number:
            return width, height
        narrow = max(1, min(self.number, isqrt(self.number * width // height)))
        return narrow, max(1, min(self.number // narrow, isqrt(self.number * height // width)))


def _scaled(width: int, height: int, part: int, whole: int) -> tuple[int, int]:
    """Return a size times part / whole, rounded to the nearest pixel, at least 1 x 1."""
    wide, high = ((2 * side * part + whole) // (2 * whole) for side in (width, height))
    return max(1, wide), max(1, high)


@lru_cache(maxsize=256)
def read_recipe(text: str) -> Recipe:
    """Return the recipe that a text names. Raises MediaError with the known ones."""
    found = _FORM.fullmatch(text)
    kind, bound, digits = found.groups("") if found else ("", "", "")
    number = int(digits or 0)
    if kind in ("original", "convert", "png", "jpeg") and not bound:
        return Recipe(kind)  # type: ignore[arg-type] # just compared
    if kind == "jpeg" and bound == "quality" and number <= 100:
        return Recipe("jpeg") if number == DEFAULT_QUALITY else Recipe("jpeg", bound, number)
    if kind == "fit" and bound in _BOUNDS:
        return Recipe("fit", bound, number)
    raise MediaError(f"unknown recipe {text!r}{nearest(text, _KNOWN)}; known: {', '.join(_KNOWN)}")


def recipe_version(recipe: str, versions: Mapping[str, int] = RECIPE_VERSIONS) -> int:
    """Return the version of the rules of a recipe. Raises ValueError for what is none."""
    kind = recipe.partition(":")[0]
    if kind not in versions:
        raise ValueError(f"unknown recipe {recipe!r}; known: {', '.join(sorted(versions))}")
    return versions[kind]
