"""Decoding of still images, and the deterministic conversions that recipes ask for."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, BinaryIO, Final

from harness.image_structure import BadImageError
from harness.recipes import Recipe, Stage, box_problem, line_width

if TYPE_CHECKING:
    from PIL.Image import Image

_GREEN: Final = (0, 255, 0)


def open_header(data: bytes, mime: str) -> Image:
    """Read an image's header with the one plug-in of its type. Raises BadImageError where it cannot.

    `PIL.Image.open` would try every plug-in, and warn about large images by process-wide state.
    """
    from PIL import BmpImagePlugin, GifImagePlugin, JpegImagePlugin, PngImagePlugin, TiffImagePlugin
    from PIL import WebPImagePlugin as Webp

    readers: dict[str, Callable[[BinaryIO], Image]] = {
        "image/png": PngImagePlugin.PngImageFile,
        "image/jpeg": JpegImagePlugin.JpegImageFile,
        "image/webp": Webp.WebPImageFile,
        "image/gif": GifImagePlugin.GifImageFile,
        "image/bmp": BmpImagePlugin.BmpImageFile,
        "image/tiff": TiffImagePlugin.TiffImageFile,
    }
    try:
        image = readers[mime](io.BytesIO(data))
    except _decoder_errors() as error:
        raise BadImageError(f"it cannot be decoded ({str(error) or type(error).__name__})") from error
    return image


def decode(image: Image) -> None:
    """Decode the pixels of an opened image in place. Raises BadImageError where it cannot, or it moves."""
    try:
        frames = getattr(image, "n_frames", 1)
        if frames == 1:
            image.load()
    except _decoder_errors() as error:
        raise BadImageError(f"it cannot be decoded ({str(error) or type(error).__name__})") from error
    if frames > 1:
        raise BadImageError(f"it holds {frames} frames; give one still image")


def _decoder_errors() -> tuple[type[Exception], ...]:
    """Return what Pillow's plug-ins raise on damaged files; SyntaxError is their word for a broken header."""
    from PIL.Image import DecompressionBombError

    return (
        OSError, ValueError, SyntaxError, LookupError, TypeError, EOFError, OverflowError,
        struct.error, zlib.error, DecompressionBombError,
    )


def convert(data: bytes, mime: str, recipe: Recipe) -> bytes:
    """Return an image as PNG or JPEG bytes. Raises BadImageError where it cannot be decoded.

    `recipe` is one of an image, not of a frame. The rules are those of `harness.recipes`; a changed one needs
    a new version in `RECIPE_VERSIONS`.
    """
    from PIL import ImageOps

    with open_header(data, mime) as source:
        decode(source)
        upright = ImageOps.exif_transpose(source)
        image = _eight_bits(upright)
    for stage in recipe.stages:
        image = _drawn(image, stage.numbers) if stage.kind == "roi" else _fitted(image, stage)
    target = recipe.mime(mime)
    if target == "image/jpeg":
        image = _on_white(image)
    if recipe.max_bytes is not None:
        return _shrunk(image, target, recipe.quality, recipe.max_bytes)
    return _encoded(image, target, recipe.quality)


def _fitted(image: Image, stage: Stage) -> Image:
    size = stage.size(image.width, image.height)
    return image if size is None else _resized(image, size)


def _drawn(image: Image, box: Sequence[int]) -> Image:
    """Return the image in colour with a box in green; its pixels off the line are what they were."""
    problem = box_problem(box, image.width, image.height)
    if problem is not None:
        raise BadImageError(problem)
    drawn = image.convert("RGBA" if image.mode in ("LA", "RGBA") else "RGB").copy()
    x0, y0, x1, y1 = box
    line = line_width(*image.size)
    wide, high = min(line, x1 - x0), min(line, y1 - y0)
    for side in (
        (x0, y0, x1, y0 + high), (x0, y1 - high, x1, y1), (x0, y0, x0 + wide, y1), (x1 - wide, y0, x1, y1)
    ):  # fmt: skip
        drawn.paste(_GREEN, side)
    return drawn


def _shrunk(image: Image, mime: str, quality: int, max_bytes: int) -> bytes:
    """Return an encoding of at most so many bytes, scaled by 3/4 as often as that takes.

    Steps are so coarse that encoders which differ by a few bytes nearly always end at the same size.
    """
    size = image.size
    while True:
        data = _encoded(_resized(image, size), mime, quality)
        if len(data) <= max_bytes:
            return data
        if max(size) == 1:
            raise BadImageError(f"it cannot be brought under {max_bytes:,} bytes; choose a larger bound")
        size = max(1, size[0] * 3 // 4), max(1, size[1] * 3 // 4)


def _resized(image: Image, size: tuple[int, int]) -> Image:
    from PIL.Image import Resampling

    return image if image.size == size else image.resize(size, Resampling.LANCZOS)


def _encoded(image: Image, mime: str, quality: int) -> bytes:
    from PIL import Image

    # A fresh image carries no profile, text or date that would make the bytes depend on metadata.
    clean = Image.frombytes(image.mode, image.size, image.tobytes())
    target = io.BytesIO()
    if mime == "image/png":
        clean.save(target, format="PNG", compress_level=6)
    else:
        clean.save(target, format="JPEG", quality=quality, subsampling=0)
    return target.getvalue()


def _eight_bits(image: Image) -> Image:
    if image.mode in ("L", "LA", "RGB", "RGBA"):
        return image.convert(f"{image.mode}A") if _has_colour_key(image) else image
    if image.mode == "1":
        return image.convert("L")
    if image.mode in ("P", "PA"):
        return image.convert("RGBA" if image.has_transparency_data else "RGB")
    if image.mode in ("CMYK", "YCbCr", "LAB", "HSV", "RGBX"):
        return image.convert("RGB")
    if image.mode == "I" or image.mode.startswith("I;16"):
        return _shifted(image)
    raise BadImageError(f"its pixels ({image.mode}) have no agreed grey scale; convert it to PNG")


def _has_colour_key(image: Image) -> bool:
    return image.mode in ("L", "RGB") and "transparency" in image.info


def _shifted(image: Image) -> Image:
    import numpy as np
    from PIL import Image

    samples = np.asarray(image).astype(np.int64)
    if samples.min() < 0:
        raise BadImageError("it has negative grey values; convert it to PNG")
    shift = max(0, int(samples.max()).bit_length() - 8)
    return Image.fromarray((samples >> shift).astype(np.uint8))


def _on_white(image: Image) -> Image:
    from PIL import Image

    if image.mode not in ("LA", "RGBA"):
        return image
    ground = Image.new("RGBA", image.size, "white")
    flat = Image.alpha_composite(ground, image.convert("RGBA"))
    return flat.convert("L" if image.mode == "LA" else "RGB")
