"""Recipes: how the bytes of an image become those that are sent. Default: they are sent as they are.

| recipe | what is sent |
|---|---|
| `original` | the file's bytes; an image that the model cannot take so is not sent at all |
| `convert` | the same, but what the model cannot take so as PNG (JPEG, where it takes no PNG) |
| `png`, `jpeg`, `jpeg:quality=Q` | every image, encoded anew; quality 1 to 100, 95 unless given |
| `fit:max_side=N` | as `convert`; an image with a longer side is scaled down to N pixels there |
| `fit:max_pixels=N` | as `convert`; an image with more pixels is scaled down to at most N |
| `fit:max_bytes=N` | as `convert`; an image of more bytes is encoded anew, and scaled by 3/4 until it fits |

A benchmark has two more, by which an image becomes the one that a case is about:

| recipe | what is sent |
|---|---|
| `frame:index=N` | one frame of a video, counted from 0 in the order of display, as JPEG (quality 95) |
| `roi:box=X0,Y0,X1,Y1` | the image with that box drawn on it in green (0, 255, 0) |

All but `original` lose something, and say so here: they turn the image upright (EXIF orientation), drop all
metadata and colour profiles, reduce grey of more than 8 bits to 8 by a shift that keeps zero and all ratios,
turn CMYK, YCbCr and LAB into RGB, and palettes into RGB or RGBA. JPEG lays transparency on white and is lossy
(no chroma subsampling). `fit` and `roi` keep JPEG for JPEG (quality 95), make PNG of all else; `fit` scales
by Lanczos, `roi` turns grey into RGB.

A box is counted in pixels of the image upright and before anything is scaled. It covers the columns X0 up to,
not including, X1, and the rows likewise (0 <= X0 < X1 <= width). The line lies inside it and is
`max(2, round(longest side of the image / 256))` pixels wide; a box no wider than two lines is all green.

Recipes joined by `+` are stages of one: done from left to right, encoded once at the end (a frame is decoded
from its JPEG for them). Their order is frame, roi, fit, then one of png and jpeg; `fit:max_bytes` comes after
other fits and is about the bytes that are sent.

`convert` is a wish, not a recipe of its own, and `fit` is done only where needed: what is recorded, and
enters the request key, is what was done to each image: `original` where nothing was.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from math import isqrt
from typing import Final, Literal, TypeAlias

from harness.errors import MediaError
from harness.nearest import nearest

Kind: TypeAlias = Literal["frame", "roi", "fit", "convert", "png", "jpeg"]

RECIPE_VERSIONS: Final = {"original": 1, "png": 1, "jpeg": 1, "fit": 1, "roi": 1, "frame": 1}
"""Kind of stage -> version, 1 to 99; recipe and version enter the request key, so a changed rule is a new
request."""

ORIGINAL: Final = "original"
DEFAULT_QUALITY: Final = 95
_MIME: Final[Mapping[str, str]] = {"png": "image/png", "jpeg": "image/jpeg", "frame": "image/jpeg"}
_COUNT: Final = r"[1-9][0-9]{0,11}"
_PLACE: Final = rf"(?:0|-?{_COUNT})"
_VALUES: Final[Mapping[tuple[str, str], str]] = {
    ("frame", "index"): rf"0|{_COUNT}",
    ("roi", "box"): rf"{_PLACE}(?:,{_PLACE}){{3}}",
    ("fit", "max_side"): _COUNT,
    ("fit", "max_pixels"): _COUNT,
    ("fit", "max_bytes"): _COUNT,
    ("convert", ""): "",
    ("png", ""): "",
    ("jpeg", ""): "",
    ("jpeg", "quality"): "[1-9][0-9]?|100",
}
"""Kind and option -> what may be its value."""
_STAGE: Final = re.compile(r"(\w+)(?::(\w+)=(.+))?")
_WISHES: Final = (
    "original", "convert", "png", "jpeg", "jpeg:quality=Q", "fit:max_side=N", "fit:max_pixels=N",
    "fit:max_bytes=N",
)  # fmt: skip
_KNOWN: Final = (*_WISHES, "roi:box=X0,Y0,X1,Y1", "frame:index=N")


@dataclass(frozen=True, slots=True)
class Stage:
    """One thing that is done to an image. `option` names what `numbers` are."""

    kind: Kind
    option: str = ""
    numbers: tuple[int, ...] = ()

    def __str__(self) -> str:
        """Return its one spelling, under which it is recorded."""
        return f"{self.kind}:{self.option}={','.join(map(str, self.numbers))}" if self.option else self.kind

    @property
    def bound(self) -> int:
        """What a `fit` keeps to, in what its option says."""
        return self.numbers[0]

    @property
    def rank(self) -> int:
        """Its place among the stages of a recipe."""
        return 3 if self.option == "max_bytes" else {"frame": 0, "roi": 1, "fit": 2}.get(self.kind, 4)

    def mime(self, source: str) -> str:
        """Return the MIME type that an image of type `source` has afterwards."""
        if self.kind in ("fit", "roi"):
            return source if source == "image/jpeg" else "image/png"
        return _MIME.get(self.kind, source)

    def size(self, width: int, height: int) -> tuple[int, int] | None:
        """Return the size in pixels of an image afterwards; None where only encoding can tell."""
        longest = max(width, height)
        if self.kind != "fit" or (self.option == "max_side" and longest <= self.bound):
            return width, height
        if self.option == "max_side":
            return _scaled(width, height, self.bound, longest)
        if self.option == "max_bytes":
            return None
        if width * height <= self.bound:
            return width, height
        narrow = max(1, min(self.bound, isqrt(self.bound * width // height)))
        return narrow, max(1, min(self.bound // narrow, isqrt(self.bound * height // width)))


@dataclass(frozen=True, slots=True)
class Recipe:
    """A recipe, parsed: its stages in order, none where the bytes are sent as they are."""

    stages: tuple[Stage, ...] = ()

    def __str__(self) -> str:
        """Return its one spelling, under which it is recorded."""
        return "+".join(map(str, self.stages)) or ORIGINAL

    def then(self, *stages: Stage) -> Recipe:
        """Return this recipe with more stages. Raises MediaError where they cannot follow."""
        return _ordered(Recipe((*self.stages, *stages)))

    @property
    def frame(self) -> int | None:
        """The index of the frame that it takes of a video; None: it is about an image."""
        return self.stages[0].bound if self.stages and self.stages[0].kind == "frame" else None

    @property
    def after_frame(self) -> Recipe:
        """What is done to the frame."""
        return Recipe(self.stages[1:]) if self.frame is not None else self

    @property
    def is_wish(self) -> bool:
        """Whether it only wishes: `convert` says nothing of what is done to an image."""
        return any(stage.kind == "convert" for stage in self.stages)

    @property
    def quality(self) -> int:
        """The quality of a JPEG that it makes."""
        return next((one.numbers[0] for one in self.stages if one.option == "quality"), DEFAULT_QUALITY)

    @property
    def max_bytes(self) -> int | None:
        """How many bytes it may come to at most, where it says so."""
        return next((stage.bound for stage in self.stages if stage.option == "max_bytes"), None)

    def mime(self, source: str) -> str:
        """Return the MIME type that an image (of a video: a frame) of type `source` has afterwards."""
        return reduce(lambda mime, stage: stage.mime(mime), self.stages, source)

    def size(self, width: int, height: int) -> tuple[int, int] | None:
        """Return the size in pixels of an image afterwards; None where only encoding can tell.

        A video whose size is not known is 0 x 0.
        """
        size = None if self.frame is not None and 0 in (width, height) else (width, height)
        for stage in self.stages:
            size = None if size is None else stage.size(*size)
        return size


def _scaled(width: int, height: int, part: int, whole: int) -> tuple[int, int]:
    """Return a size times part / whole, rounded to the nearest pixel, at least 1 x 1."""
    wide, high = ((2 * side * part + whole) // (2 * whole) for side in (width, height))
    return max(1, wide), max(1, high)


@lru_cache(maxsize=4096)
def read_recipe(text: str) -> Recipe:
    """Return the recipe that a text names. Raises MediaError with the known ones."""
    return Recipe() if text == ORIGINAL else _ordered(Recipe(tuple(map(_stage, text.split("+")))))


def read_wish(text: str) -> Recipe:
    """Return a recipe that a user may wish for all images of a run. Raises MediaError with the known ones."""
    recipe = read_recipe(text)
    for stage in recipe.stages:
        if stage.kind in ("frame", "roi"):
            raise MediaError(
                f"{str(stage)!r} cannot hold for all images of a run: the benchmark says it of each; choose "
                f"{', '.join(_WISHES)}"
            )
    return recipe


def chained(base: str, wish: str) -> str:
    """Return the recipe that does `base`, and then what is wished. Raises MediaError where that cannot be."""
    return str(read_recipe(base).then(*read_recipe(wish).stages))


def _stage(text: str) -> Stage:
    found = _STAGE.fullmatch(text)
    kind, option, value = found.groups("") if found else ("", "", "")
    pattern = _VALUES.get((kind, option))
    if pattern is None or re.fullmatch(pattern, value) is None:
        raise MediaError(f"unknown recipe {text!r}{nearest(text, _KNOWN)}; known: {', '.join(_KNOWN)}")
    numbers = tuple(map(int, value.split(","))) if value else ()
    if option == "quality" and numbers == (DEFAULT_QUALITY,):
        return Stage("jpeg")
    return Stage(kind, option, numbers)  # type: ignore[arg-type] # a key of _VALUES


def _ordered(recipe: Recipe) -> Recipe:
    """Return the recipe. Raises MediaError where its stages stand in an order that means nothing."""
    ranks = [stage.rank for stage in recipe.stages]
    if ranks != sorted(ranks) or any(ranks.count(once) > 1 for once in (0, 3, 4)):
        raise MediaError(
            f"the stages of the recipe {str(recipe)!r} cannot follow each other so; put them in the order "
            "frame, roi, fit, fit:max_bytes, then one of png, jpeg and convert"
        )
    return recipe


def recipe_version(recipe: str, versions: Mapping[str, int] = RECIPE_VERSIONS) -> int:
    """Return the version of the rules of a recipe. Raises ValueError for what is none.

    That of several stages has two decimal digits for each of them, so that it changes with each and never
    otherwise: 10203 where the first has version 1, the second 2, the third 3.
    """
    version = 0
    for stage in recipe.split("+"):
        kind = stage.partition(":")[0]
        if kind not in versions:
            raise ValueError(f"unknown recipe {recipe!r}; known: {', '.join(sorted(versions))}")
        version = 100 * version + versions[kind]
    return version


def roi_recipe(box: Sequence[int]) -> str:
    """Return the recipe that draws a box (x0, y0, x1, y1); `box_problem` tells whether the image has it."""
    return str(Stage("roi", "box", tuple(box)))


def box_problem(box: Sequence[int], width: int, height: int) -> str | None:
    """Return what is wrong with a box on an upright image of that size in pixels; None where nothing is."""
    x0, y0, x1, y1 = box
    shown = f"the box {x0},{y0},{x1},{y1} (x0,y0,x1,y1)"
    if x1 <= x0 or y1 <= y0:
        return f"{shown} is empty, on {width} x {height} pixels; x1 has to be above x0, and y1 above y0"
    if x0 < 0 or y0 < 0 or x1 > width or y1 > height:
        return f"{shown} leaves the image, which has {width} x {height} pixels; correct the box"
    return None


def line_width(width: int, height: int) -> int:
    """Return how wide the line of a box is on an image of that size, in pixels."""
    return max(2, round(max(width, height) / 256))
