"""What a model takes of the media of a request, checked before anything is sent.

What is beyond a limit raises MediaLimitError, whose sentence names limit, model, the figure and the way out;
its `limit` is the setting's name, by which such cases are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal

from harness.errors import MediaLimitError
from harness.image_structure import read_structure
from harness.media import Media, is_plain, load
from harness.recipes import ORIGINAL, Recipe, Stage, chained, read_recipe
from harness.settings import ImageLimits, ManyImages, VideoLimits

IMAGE_MIME: Final = ("image/png", "image/jpeg", "image/webp")
"""What is taken for an image that a model reads, where its settings say nothing."""

_SIDE: Final = "pixels on its longest side"
_CONTAINER_BYTES: Final = 65_536
"""More than PNG or JPEG ever add to the bare samples of an image that does not compress."""


@dataclass(frozen=True, slots=True)
class AsSent:
    """An image as it is sent, in bytes and pixels; None where no limit needs it and nobody has looked."""

    recipe: str
    size: int | None
    pixels: tuple[int, int] | None


def base64_bytes(size: int) -> int:
    """Return how many bytes of base64 text so many bytes make."""
    return (size + 2) // 3 * 4


def most_bytes(width: int, height: int) -> int:
    """Return more bytes than an image of that size is ever encoded to."""
    return 4 * width * height + _CONTAINER_BYTES


def choose_recipe(
    media: Media,
    limits: ImageLimits,
    path: Path,
    wish: str = ORIGINAL,
    *,
    base: str = ORIGINAL,
    model: str = "the model",
    among: int = 1,
) -> AsSent:
    """Return how a model gets an image that lies at `path`, by the recipe that was wished for.

    `base` is what is done to the image whoever gets it, before that; with a frame, `media` is its video.
    `among` is how many images its request has. May read the image. Raises MediaLimitError for what is beyond
    the model, MediaError for what no model could take.
    """
    judge = _Judge(media, limits, path, model, among)
    recipe = judge.applied(read_recipe(chained(base, wish)))
    judge.check_type(recipe)
    return judge.measured(recipe)


def check_video(media: Media, limits: VideoLimits, model: str) -> None:
    """Raise MediaLimitError for a video that is beyond a model."""
    shown = f"video {_shown(media)}"
    if limits.mime is not None and media.mime not in limits.mime:
        raise MediaLimitError(
            f"{shown} is {media.mime}, {model} takes {', '.join(limits.mime) or 'none'} (video.mime); "
            "convert the file, or leave the model out",
            limit="video.mime",
        )
    if limits.max_bytes is not None and media.size > limits.max_bytes:
        raise MediaLimitError(
            f"{shown} has {media.size:,} bytes, {model} takes {limits.max_bytes:,} (video.max_bytes); make "
            "the file smaller, or leave the model out",
            limit="video.max_bytes",
        )


def check_request_bytes(size: int, limit: int | None, model: str) -> None:
    """Raise MediaLimitError for a request whose body is larger than a model takes."""
    if limit is not None and size > limit:
        raise MediaLimitError(
            f"the request has {size:,} bytes in all, {model} takes {limit:,} (max_request_bytes); "
            "shrink images with --image-recipe, make videos smaller, or leave the model out",
            limit="max_request_bytes",
        )


@dataclass(frozen=True, slots=True)
class _Judge:
    media: Media
    limits: ImageLimits
    path: Path
    model: str
    among: int

    @property
    def taken(self) -> tuple[str, ...]:
        return IMAGE_MIME if self.limits.mime is None else self.limits.mime

    @property
    def plain(self) -> bool:
        return is_plain(self.media.sha256, self.path) if self.media.plain is None else self.media.plain

    def applied(self, wish: Recipe) -> Recipe:
        """Return what is done to this image: what nothing need be done to goes as it is."""
        done, form = Recipe(), [stage for stage in wish.stages if stage.kind in ("png", "jpeg")]
        for stage in wish.stages:
            if self._is_needed(stage, done, form):
                done = done.then(stage)
        if self.conversion is None or self._is_sendable(done):
            return done
        lenient = any(stage.kind in ("fit", "convert") for stage in wish.stages)
        fitted = any(stage.kind == "fit" for stage in done.stages)
        return done.then(Stage(self.conversion)) if lenient and not fitted else done

    def _is_needed(self, stage: Stage, before: Recipe, form: Sequence[Stage]) -> bool:
        if stage.kind != "fit":
            return stage.kind != "convert"
        if stage.option == "max_bytes":
            return self._has_more_bytes(before.then(*form), stage.bound)
        size = before.size(self.media.width, self.media.height) or self._encoded(before)[1:]
        return stage.size(*size) != size

    def _is_sendable(self, recipe: Recipe) -> bool:
        return recipe.mime(self.media.mime) in self.taken and (bool(recipe.stages) or self.plain)

    def _has_more_bytes(self, recipe: Recipe, bound: int) -> bool:
        """Tell whether an image has more bytes; one that cannot be sent as it is counts as too large."""
        if not recipe.stages:
            return self.media.size > bound or not self._is_sendable(recipe)
        pixels = recipe.size(self.media.width, self.media.height)
        return (pixels is None or most_bytes(*pixels) > bound) and self._encoded(recipe)[0] > bound

    def _encoded(self, recipe: Recipe) -> tuple[int, int, int]:
        return encoded_size(self.media.sha256, self.media.mime, str(recipe), self.path)

    @property
    def many(self) -> ManyImages | None:
        """What holds because the request has so many images."""
        many = self.limits.many
        return many if many is not None and self.among > many.more_than else None

    @property
    def conversion(self) -> Literal["png", "jpeg"] | None:
        """What the model takes of that which we can make of any image."""
        if "image/png" in self.taken:
            return "png"
        return "jpeg" if "image/jpeg" in self.taken else None

    def check_type(self, recipe: Recipe) -> None:
        mime = recipe.mime(self.media.mime)
        if mime not in self.taken:
            how = mime if not recipe.stages else f"{mime} by the recipe {str(recipe)!r}"
            way = None if self.conversion is None else "convert"
            raise self._beyond("mime", f"is {how}", ", ".join(self.taken) or "no images", way)
        if not recipe.stages and not self.plain:
            raise self._beyond(
                "samples", "has 16-bit, CMYK or other samples that models read unlike each other",
                "8-bit grey, palette and RGB", "convert",
            )  # fmt: skip

    def measured(self, recipe: Recipe) -> AsSent:
        """Return the image's figures as sent, all limits checked; encoded here only where one needs it."""
        media, limits, text = self.media, self.limits, str(recipe)
        pixels = recipe.size(media.width, media.height)
        size = None if recipe.stages else media.size
        most = None if pixels is None else most_bytes(*pixels)
        if size is None and self._needs_encoding(pixels, most):
            size, *found = self._encoded(recipe)
            pixels = (found[0], found[1])
        if pixels is not None:
            self._check("max_pixels", pixels[0] * pixels[1], limits.max_pixels, "pixels", recipe)
            self._check("max_side", max(pixels), limits.max_side, _SIDE, recipe)
            many = self.many
            if many is not None:
                what = f"{_SIDE}, in a request with more than {many.more_than} images"
                self._check("many.max_side", max(pixels), many.max_side, what, recipe)
        if size is not None:
            self._check("max_bytes", size, limits.max_bytes, "bytes", recipe)
            self._check(
                "max_base64_bytes", base64_bytes(size), limits.max_base64_bytes, "bytes as base64", recipe
            )
        return AsSent(text, size, pixels)

    def _needs_encoding(self, pixels: tuple[int, int] | None, most: int | None) -> bool:
        limits = self.limits
        if pixels is None and (limits.max_pixels or limits.max_side or self.many):
            return True
        bounds = [limits.max_bytes, limits.max_base64_bytes and limits.max_base64_bytes // 4 * 3]
        return any(bound is not None and (most is None or most > bound) for bound in bounds)

    def _check(self, name: str, found: int, limit: int | None, what: str, recipe: Recipe) -> None:
        if limit is None or found <= limit:
            return
        shown = what if not recipe.stages else f"{what} as {str(recipe)!r}"
        bound, number = (
            ("max_bytes", limit // 4 * 3)
            if name == "max_base64_bytes"
            else (name.removeprefix("many."), limit)
        )
        raise self._beyond(name, f"has {found:,} {shown}", f"{limit:,}", f"fit:{bound}={number}")

    def _beyond(self, name: str, has: str, takes: str, recipe: str | None) -> MediaLimitError:
        way = "" if recipe is None else f"choose --image-recipe {recipe}, or "
        return MediaLimitError(
            f"image {_shown(self.media)} {has}, {self.model} takes {takes} (image.{name}); "
            f"{way}leave the model out",
            limit=f"image.{name}",
        )


def _shown(media: Media) -> str:
    return repr(str(media.path)) if media.path is not None else f"with sha256 {media.sha256[:12]}"


@lru_cache(maxsize=1024)
def encoded_size(sha256: str, mime: str, recipe: str, path: Path) -> tuple[int, int, int]:
    """Return bytes, width and height of an image after a recipe; reads, encodes and drops it."""
    data = load(Media(sha256, mime, 0, 0, 0, path), recipe)
    found = read_structure(data)
    return len(data), found.width, found.height
