"""Clips made with PyAV whose every frame says which one it is, and the pixels that they were made of."""

from __future__ import annotations

import io
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from random import Random
from tempfile import NamedTemporaryFile
from typing import Any

import av
import numpy as np
import numpy.typing as npt
from PIL import Image

SIZE = (96, 64)
BITS = 12
"""Of a frame's number: as many stripes in the upper half of its picture, white for 1."""

Grey = npt.NDArray[np.uint8]


UNEVEN = tuple(accumulate(Random(1).choices(range(20, 300), k=39), initial=0))

ISO: dict[str, dict[str, Any]] = {
    "B-frames": {"frames": 33, "b_frames": 3},
    "no B-frames": {"frames": 33, "b_frames": 0},
    "one frame": {"frames": 1},
    "NTSC": {"frames": 20, "rate": Fraction(30000, 1001)},
    "uneven": {"frames": 40, "times_ms": UNEVEN},
    "QuickTime": {"frames": 20, "container": "mov", "rate": 24},
    "index first": {"frames": 20, "options": (("movflags", "faststart"),)},
    "negative offsets": {"frames": 20, "options": (("movflags", "negative_cts_offsets"),)},
    "no edit list": {"frames": 20, "options": (("use_editlist", "0"),)},
}
OTHERS: dict[str, dict[str, Any]] = {
    "in fragments": {"frames": 20, "options": (("movflags", "frag_keyframe+empty_moov"),)},
    "Matroska": {"frames": 20, "container": "matroska", "rate": 30},
    "WebM": {"frames": 20, "container": "webm", "codec": "libvpx-vp9", "rate": 25},
    "AVI": {"frames": 20, "container": "avi", "codec": "mpeg4"},
}
MIMES = {"mp4": "video/mp4", "mov": "video/quicktime", "matroska": "video/x-matroska", "webm": "video/webm",
         "avi": "video/x-msvideo"}  # fmt: skip


def patched(data: bytes, kind: bytes, at: int, value: bytes) -> bytes:
    """Return the file with bytes changed after the first mark of that kind."""
    place = data.index(kind) + 4 + at
    return data[:place] + value + data[place + len(value) :]


def picture(index: int, size: tuple[int, int] = SIZE) -> Grey:
    """Return the grey picture of a frame: stripes that spell its number above, a ramp that moves below."""
    width, height = size
    across = np.arange(width)
    bits = np.array([255 * (index >> bit & 1) for bit in range(BITS)], dtype=np.uint8)
    made = np.empty((height, width), dtype=np.uint8)
    made[: height // 2] = bits[across * BITS // width]
    made[height // 2 :] = (across * 255 // (width - 1) + index) % 256
    return made


def index_in(jpeg: bytes) -> int:
    """Return the number that a frame's picture spells."""
    grey = samples(jpeg)[..., 1]
    height, width = grey.shape
    middles = [(2 * bit + 1) * width // (2 * BITS) for bit in range(BITS)]
    return sum(int(grey[height // 4, middle] > 127) << bit for bit, middle in enumerate(middles))


def samples(jpeg: bytes) -> Grey:
    """Return the RGB samples of an image."""
    with Image.open(io.BytesIO(jpeg)) as image:
        return np.asarray(image.convert("RGB"))


@lru_cache(maxsize=64)
def clip_bytes(
    frames: int = 20,
    *,
    rate: Fraction | int = 10,
    size: tuple[int, int] = SIZE,
    container: str = "mp4",
    codec: str = "libx264",
    pixels: str = "yuv420p",
    b_frames: int = 2,
    times_ms: Sequence[int] | None = None,
    options: tuple[tuple[str, str], ...] = (),
) -> bytes:
    """Return a clip; `times_ms`: when its frames are shown, where not evenly."""
    wanted = dict(options)
    with NamedTemporaryFile() as file, av.open(file.name, "w", format=container, options=wanted) as target:
        stream: Any = target.add_stream(codec, rate=rate)
        stream.width, stream.height = size
        stream.pix_fmt = pixels
        if codec == "libx264":
            stream.options = {"crf": "8", "bf": str(b_frames), "preset": "veryfast"}
        if times_ms is not None:
            stream.codec_context.time_base = Fraction(1, 1000)
        for index in range(frames):
            colours = np.repeat(picture(index, size)[..., None], 3, axis=2)
            frame = av.VideoFrame.from_ndarray(colours, format="rgb24")
            frame = frame.reformat(format=pixels, dst_color_range="JPEG" if "yuvj" in pixels else None)
            if times_ms is not None:
                frame.pts, frame.time_base = times_ms[index], Fraction(1, 1000)
            target.mux(stream.encode(frame))
        target.mux(stream.encode())
        target.close()
        return Path(file.name).read_bytes()


def written_clip(folder: Path, name: str = "clip.mp4", **wanted: Any) -> Path:
    """Write a clip (as `clip_bytes`) and return its path."""
    path = folder / name
    path.write_bytes(clip_bytes(**wanted))
    return path
