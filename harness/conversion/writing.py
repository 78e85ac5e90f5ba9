"""Outputs as bytes: PNG images, and H.264 clips whose bytes depend on their pixels alone."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from harness.conversion.recipe import CRF

Pixels = NDArray[np.uint8]

# ITU-R BT.601: OpenCV and most players take untold clips for it, so that told and untold agree.
_BT601: Final = 5
_BT601_PRIMARIES: Final = 6
_LIMITED: Final = 1
_OPTIONS: Final = {
    "crf": str(CRF),
    "preset": "medium",
    "profile": "high",
    # No B frames: pictures lie in the file as they are shown, and no edit list moves their times.
    "bf": "0",
    "g": "10",
    "flags": "+bitexact",
    "x264-params": "threads=1:open-gop=0",
}


def write_image(path: Path, pixels: Pixels) -> None:
    """Write a PNG of 8 bits, grey or RGB, without any text."""
    Image.fromarray(pixels).save(path, "PNG", compress_level=6)


def write_clip(path: Path, pictures: Iterator[Pixels], fps: int) -> tuple[int, int, int]:
    """Write an MP4, one picture at a time, and return its width, height and number of pictures.

    High profile, 4:2:0, limited range, closed groups of 10 pictures, no time of day and no name in it, one
    thread: the same pixels become the same bytes under the same libraries. Sides must be even.
    """
    import av

    first = next(pictures)
    height, width = first.shape[:2]
    count = 0
    options = {"movflags": "+faststart", "fflags": "+bitexact"}
    with av.open(str(path), "w", format="mp4", options=options) as container:
        stream = container.add_stream("libx264", rate=fps, options=dict(_OPTIONS))
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        context = stream.codec_context
        context.thread_count = 1
        context.color_range, context.colorspace = _LIMITED, _BT601
        context.color_primaries, context.color_trc = _BT601_PRIMARIES, _BT601_PRIMARIES
        for pixels in _with_first(first, pictures):
            frame = av.VideoFrame.from_ndarray(_planes(pixels), format="yuv420p")
            frame.pts, frame.time_base = count, Fraction(1, fps)
            container.mux(stream.encode(frame))
            count += 1
        container.mux(stream.encode())
    return width, height, count


def _with_first(first: Pixels, others: Iterator[Pixels]) -> Iterator[Pixels]:
    yield first
    yield from others


def _planes(pixels: Pixels) -> Pixels:
    """Return Y, U and V of BT.601, limited range, one below the other: shape (height * 3 / 2, width)."""
    height, width = pixels.shape[:2]
    planes = np.full((height * 3 // 2, width), 128, np.uint8)
    if pixels.ndim == 2:
        planes[:height] = _GREY[pixels]
        return planes
    red, green, blue = (pixels[..., index].astype(np.float32) / 255 for index in range(3))
    luma = 0.299 * red + 0.587 * green + 0.114 * blue
    planes[:height] = _rounded(16 + 219 * luma)
    for place, colour, weight in ((0, blue, 1.772), (1, red, 1.402)):
        difference = (colour - luma) / np.float32(weight)
        quarter = difference.reshape(height // 2, 2, width // 2, 2).mean(axis=(1, 3))
        size = height * width // 4
        rest = planes[height:].reshape(-1)
        rest[place * size : (place + 1) * size] = _rounded(128 + 224 * quarter).reshape(-1)
    return planes


def _rounded(values: NDArray[np.floating]) -> Pixels:
    levels: Pixels = np.floor(values + 0.5).astype(np.uint8)
    return levels


_GREY: Final = _rounded(16 + np.arange(256) * (219 / 255))
