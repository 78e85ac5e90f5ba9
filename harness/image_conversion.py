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
    from PIL.TiffImagePlugin import TiffImageFile

_GREEN: Final = (0, 255, 0)
_ORIENTATION: Final = 0x0112
_PHOTOMETRIC: Final = 262
_EXIF_MARKS: Final = (b"eXIf", b"zTXt", b"iTXt", b"tEXt")


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
        raise BadImageError(_why(error)) from error
    if isinstance(image, TiffImagePlugin.TiffImageFile) and _is_misread(image):
        image.close()
        raise BadImageError("its 16-bit grey is stored inverted (WhiteIsZero); convert it to PNG")
    return image


def _is_misread(image: TiffImageFile) -> bool:
    """Tell whether Pillow would show an image inverted: of 16-bit grey it does not heed WhiteIsZero."""
    return image.mode.startswith("I;16") and image.tag_v2.get(_PHOTOMETRIC) == 0


def _why(error: Exception) -> str:
    said = str(error) or type(error).__name__
    if "MAX_TEXT" in said or "text chunks" in said:
        return "its metadata unpack to more than is safe; save it anew without metadata"
    return f"it cannot be decoded ({said})"


def decode(image: Image) -> None:
    """Decode the pixels of an opened image in place. Raises BadImageError where it cannot, or it moves."""
    try:
        frames = getattr(image, "n_frames", 1)
        if frames == 1:
            image.load()
    except _decoder_errors() as error:
        raise BadImageError(_why(error)) from error
    if frames > 1:
        is_tiff = image.format == "TIFF"
        holds = f"it has {frames} pages" if is_tiff else f"it is an animation of {frames} frames"
        raise BadImageError(f"{holds}; give one still image")


def upright_size(data: bytes, mime: str) -> tuple[int, int]:
    """Return width and height of a PNG, JPEG or WebP after its EXIF orientation. Raises BadImageError.

    Decodes nothing but a PNG that says something about itself: Pillow looks for EXIF behind its pixels too.
    """
    with open_header(data, mime) as image:
        width, height = image.size
        if mime == "image/png" and not any(mark in data for mark in _EXIF_MARKS):
            return width, height
        return (height, width) if _orientation(image) in (5, 6, 7, 8) else (width, height)


def _orientation(image: Image) -> int:
    """Return the EXIF orientation of an image, 1 to 8; damaged EXIF says nothing, as for all viewers."""
    try:
        found = image.getexif().get(_ORIENTATION)
    except _decoder_errors():
        return 1
    return found if isinstance(found, int) and 1 <= found <= 8 else 1


def _upright(image: Image) -> Image:
    from PIL.Image import Transpose

    turns = (
        Transpose.FLIP_LEFT_RIGHT, Transpose.ROTATE_180, Transpose.FLIP_TOP_BOTTOM, Transpose.TRANSPOSE,
        Transpose.ROTATE_270, Transpose.TRANSVERSE, Transpose.ROTATE_90,
    )  # fmt: skip
    orientation = _orientation(image)
    return image if orientation == 1 else image.transpose(turns[orientation - 2])


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
    with open_header(data, mime) as source:
        decode(source)
        image = _eight_bits(_upright(source))
    del source  # it may fill hundreds of megabytes
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
    """Draw a box in green, in the image itself where it is in colour; return it."""
    problem = box_problem(box, image.width, image.height)
    if problem is not None:
        raise BadImageError(problem)
    if image.mode in ("L", "LA"):
        image = image.convert("RGB" if image.mode == "L" else "RGBA")
    x0, y0, x1, y1 = box
    line = line_width(*image.size)
    wide, high = min(line, x1 - x0), min(line, y1 - y0)
    for side in (
        (x0, y0, x1, y0 + high), (x0, y1 - high, x1, y1), (x0, y0, x0 + wide, y1), (x1 - wide, y0, x1, y1)
    ):  # fmt: skip
        image.paste(_GREEN, side)
    return image


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
    # A profile, text or date would make the bytes depend on metadata.
    clean = image.copy()
    clean.info = {}
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
    flat = Image.alpha_composite(ground, image if image.mode == "RGBA" else image.convert("RGBA"))
    return flat.convert("L" if image.mode == "LA" else "RGB")
