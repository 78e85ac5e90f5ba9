"""Media: bytes by digest, their type, and the recipes by which they are sent."""

from __future__ import annotations

import stat
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from harness.canonical import sha256_hex
from harness.errors import MediaChangedError, MediaError, MediaLimitError, MediaReadError
from harness.image_conversion import convert, decode, open_header
from harness.image_structure import BadImageError, Structure, read_structure

if TYPE_CHECKING:
    from harness.settings import ImageLimits

RECIPE_VERSIONS: Final = {"original": 1, "png": 1, "jpeg": 1}
"""Recipe id -> version; both enter the request key, so a changed conversion is a new request.

`original`: the file's bytes. `png`, `jpeg`: see `load`.
"""

MIME_OF_RECIPE: Final = {"png": "image/png", "jpeg": "image/jpeg"}

READER_VERSION: Final = 1
"""Version of what `probe` finds in a file; files that an earlier one read are read anew."""

MAX_PIXELS: Final = 89_478_485
"""Larger images are taken for decompression bombs and never decoded: Pillow's own threshold."""

MAX_BYTES: Final = 512 * 1024 * 1024
"""Larger files are never read into memory."""

_CONTAINER_BYTES: Final = 65_536
"""More than PNG or JPEG ever add to the bare samples of an image that does not compress."""

_OTHER_MODEL: Final = "ask another model, or correct 'image' in this one's settings"


@dataclass(frozen=True, slots=True)
class Media:
    """One image file: identity is `sha256` of its bytes, never its path.

    `size` in bytes, `width` and `height` in pixels. `path` is where it was found; None when the
    case comes from a store's snapshot. `plain` as in `Structure`: whether the samples need no conversion;
    None: not known, the file has to be looked at.
    """

    sha256: str
    mime: str
    size: int
    width: int
    height: int
    path: Path | None = None
    plain: bool | None = field(default=None, compare=False)


def probe(path: Path, *, name: str | None = None) -> Media:
    """Return what a file is, by its bytes and not by its name.

    `name` stands for the path in messages. Raises MediaError for a file that is missing, cut, damaged,
    moving, too large to decode safely, or no image.
    """
    shown = name or str(path)
    data = _read(path, shown)
    try:
        found = _inspect(data)
    except BadImageError as error:
        raise _unusable(shown, error) from error
    return Media(sha256_hex(data), found.mime, len(data), found.width, found.height, path, found.plain)


def mime_as_sent(media: Media, recipe: str) -> str:
    """Return the MIME type of a medium after its recipe."""
    return MIME_OF_RECIPE.get(recipe, media.mime)


def choose_recipe(media: Media, limits: ImageLimits, path: Path) -> str:
    """Return the recipe by which a model takes a medium that lies at `path`.

    `original` where the model takes the type and the samples are plain; else `png` (or `jpeg` where
    that is all it takes): BMP, TIFF, GIF, 16-bit and CMYK are converted. Sizes are checked as sent.
    Raises MediaLimitError for what is beyond the model, MediaError for what no model could take.
    """
    pixels = media.width * media.height
    if limits.max_pixels is not None and pixels > limits.max_pixels:
        raise MediaLimitError(
            f"image {str(path)!r} has {pixels:,} pixels, the model takes {limits.max_pixels:,}; "
            f"{_OTHER_MODEL}"
        )
    if media.mime in limits.mime and (
        _is_plain(media.sha256, path) if media.plain is None else media.plain
    ):
        _check_bytes(media.size, "original", limits, path)
        return "original"
    recipe = _conversion(media, limits, path)
    if limits.max_bytes is not None and 4 * pixels + _CONTAINER_BYTES > limits.max_bytes:
        _check_bytes(_measured(media.sha256, media.mime, recipe, path), recipe, limits, path)
    return recipe


def load(media: Media, recipe: str) -> bytes:
    """Return the bytes to send; blocking, so call it off the event loop.

    `png` and `jpeg` turn the image upright and drop all metadata. Grey of more than 8 bits is shifted
    right until its largest sample fits 8 bits, which keeps zero and all ratios; CMYK becomes RGB;
    `jpeg` (quality 95, no chroma subsampling) lays transparency on white. Raises MediaError where the file
    is gone, has changed since it was probed, or cannot be decoded.
    """
    if recipe not in RECIPE_VERSIONS:
        raise MediaError(f"unknown recipe {recipe!r}; known: {', '.join(RECIPE_VERSIONS)}")
    if media.path is None:
        raise MediaError(f"no file is known for the image with sha256 {media.sha256}; give --data")
    data = _read(media.path, str(media.path))
    if sha256_hex(data) != media.sha256:
        raise MediaChangedError(
            f"image {str(media.path)!r} has changed since it was read; run again to take the new one",
            media.path,
        )
    if recipe == "original":
        return data
    try:
        return convert(data, media.mime, recipe)
    except BadImageError as error:
        raise _unusable(str(media.path), error) from error


def _unusable(shown: str, error: BadImageError) -> MediaError:
    mend = "" if ";" in str(error) else "; replace the file"
    return MediaError(f"cannot use image {shown!r}: {error}{mend}")


def _read(path: Path, shown: str) -> bytes:
    try:
        state = path.stat()
        if not stat.S_ISREG(state.st_mode):
            raise MediaError(f"image {shown!r} is no regular file; name an image file")
        if state.st_size > MAX_BYTES:
            raise MediaError(
                f"image {shown!r} is {state.st_size:,} bytes, {MAX_BYTES:,} are allowed; make it smaller"
            )
        return path.read_bytes()
    except FileNotFoundError as error:
        raise MediaReadError(f"image {shown!r} does not exist; add it or correct the path") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise MediaReadError(f"cannot read image {shown!r}: {reason}; check path and permissions") from error


def _inspect(data: bytes) -> Structure:
    found = read_structure(data)
    _guard(found.width, found.height)
    if found.mime in ("image/png", "image/jpeg", "image/webp"):
        with open_header(data, found.mime) as image:
            size = image.size
        if size != (found.width, found.height):
            raise BadImageError("its headers disagree about its size")
        return found
    # Rare types have no end mark worth trusting, and are converted before sending anyway.
    with open_header(data, found.mime) as image:
        _guard(*image.size)
        decode(image)
        return Structure(found.mime, image.width, image.height, found.plain)


def _guard(width: int, height: int) -> None:
    if width * height > MAX_PIXELS:
        raise BadImageError(
            f"{width} x {height} pixels are too many to decode safely ({MAX_PIXELS:,} are allowed); "
            "scale it down"
        )


def _check_bytes(size: int, recipe: str, limits: ImageLimits, path: Path) -> None:
    if limits.max_bytes is not None and size > limits.max_bytes:
        raise MediaLimitError(
            f"image {str(path)!r} is {size:,} bytes as {recipe!r}, the model takes {limits.max_bytes:,}; "
            f"{_OTHER_MODEL}"
        )


@lru_cache(maxsize=4096)
def _is_plain(sha256: str, path: Path) -> bool:
    """Tell whether the samples need no conversion; `sha256` keys the cache, since paths may change."""
    data = _read(path, str(path))
    try:
        return read_structure(data).plain
    except BadImageError as error:
        raise _unusable(str(path), error) from error


def _conversion(media: Media, limits: ImageLimits, path: Path) -> str:
    for recipe, mime in MIME_OF_RECIPE.items():
        if mime in limits.mime:
            return recipe
    raise MediaLimitError(
        f"image {str(path)!r} is {media.mime}, the model takes {', '.join(limits.mime) or 'no images'}; "
        f"{_OTHER_MODEL}"
    )


@lru_cache(maxsize=1024)
def _measured(sha256: str, mime: str, recipe: str, path: Path) -> int:
    return len(load(Media(sha256, mime, 0, 0, 0, path), recipe))
