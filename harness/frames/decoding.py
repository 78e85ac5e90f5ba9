"""Clips opened with PyAV: when their frames are shown, and frames as JPEG. Nothing else imports it.

A frame is what FFmpeg decodes, turned and mirrored as the file says, without scaling (pixels that are not
square stay as they are stored). Colours become RGB by the matrix and the range that the file states; where it
states none, by BT.601 and the range of its pixel format, as FFmpeg and OpenCV do. Then JPEG of quality 95
without chroma subsampling; grey formats stay grey. A changed rule needs a new version in
`recipes.RECIPE_VERSIONS`.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from fractions import Fraction
from importlib.util import find_spec
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from harness.errors import MediaReadError
from harness.frames.iso_times import MAX_FRAMES, too_many
from harness.frames.sampling import Timeline, timeline
from harness.video_structure import BadVideoError

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

NOT_INSTALLED: Final = (
    "frames of clips are made with PyAV, which is not installed; pip install 'mllm-harness[video]'"
)
QUALITY: Final = 95
THREADS: Final = 1
"""Of a decoder: as many clips as there are media threads may be at work at once."""
MAX_FRAME_PIXELS: Final = 89_478_485
"""As for images (`media.MAX_PIXELS`)."""
MAX_CLIP_PIXELS: Final = 50_000_000_000
"""Of all frames that are decoded: 13 minutes of 1920 x 1080 at 30 a second, or an hour of 512 x 512 at 50."""

# One demuxer each, so that no file can pass for a playlist that names others.
_FORMATS: Final = {
    "video/mp4": "mov", "video/quicktime": "mov", "video/3gpp": "mov",
    "video/webm": "matroska", "video/x-matroska": "matroska", "video/x-msvideo": "avi",
}  # fmt: skip


def is_installed() -> bool:
    """Tell whether PyAV is there."""
    return find_spec("av") is not None


def check_installed() -> None:
    """Raise MediaReadError where PyAV is not there: that says nothing about a clip."""
    if not is_installed():
        raise MediaReadError(NOT_INSTALLED)


def demuxed_timeline(data: bytes, mime: str) -> Timeline:
    """Return when the frames of any clip are shown, without decoding one. Raises as `decode_frames`."""
    with _opened(data, mime) as (container, stream):
        shown = []
        for packet in container.demux(stream):
            at = packet.dts if packet.pts is None else packet.pts
            if at is None or packet.is_discard or not packet.size:
                continue
            shown.append((at, packet.duration or 0))
            if len(shown) > MAX_FRAMES:
                raise too_many(len(shown))
        tick = stream.time_base or Fraction(1, 1000)
    if not shown:
        raise BadVideoError("it holds no frames")
    shown.sort()
    # In ticks of 1 / scale, whatever fraction of a second the container counts in.
    starts = [at * tick.numerator for at, _ in shown]
    usual = sorted(later - at for at, later in pairwise(starts))
    lasts = shown[-1][1] * tick.numerator or (usual[len(usual) // 2] if usual else tick.denominator)
    try:
        return timeline(starts, starts[-1] + lasts, tick.denominator)
    except ValueError as error:
        raise BadVideoError(f"the times of its frames contradict each other: {error}") from error


def decode_frames(
    data: bytes, mime: str, frames: Timeline, wanted: Collection[int], keep: Callable[[int, bytes], None]
) -> None:
    """Decode a clip once, from end to end, and hand over each wanted frame as JPEG, in order.

    The whole clip is decoded whatever is wanted of it: only then is it known that frame N is the N-th. Raises
    BadVideoError where it holds other frames than its timeline says, or any is damaged; frames were handed
    over by then.
    """
    times: list[Fraction] = []
    with _opened(data, mime) as (container, stream):
        if len(frames.starts) * stream.width * stream.height > MAX_CLIP_PIXELS:
            raise BadVideoError(
                f"{len(frames.starts):,} frames of {stream.width} x {stream.height} pixels are too many to "
                "decode; make it shorter or smaller"
            )
        for frame in container.decode(stream):
            _check(frame, len(times), len(frames.starts))
            if len(times) in wanted:
                keep(len(times), _jpeg(frame))
            times.append((frame.pts or 0) * (frame.time_base or Fraction(0)))
    if len(times) != len(frames.starts):
        raise BadVideoError(f"{len(times):,} frames can be decoded, its index says {len(frames.starts):,}")
    _check_times(times, frames)


def _check(frame: VideoFrame, index: int, count: int) -> None:
    if index >= count:
        raise BadVideoError(f"it holds more frames than the {count:,} that its index says")
    if frame.is_corrupt:
        raise BadVideoError(f"frame {index} is damaged")
    if frame.width * frame.height > MAX_FRAME_PIXELS:
        raise BadVideoError(f"{frame.width} x {frame.height} pixels are too many to decode safely")


def _check_times(times: list[Fraction], frames: Timeline) -> None:
    """Raise BadVideoError where a frame comes at another time than its index says: another may be missing."""
    shortest = min((later - at for at, later in pairwise(frames.starts)), default=0)
    for index, (found, start) in enumerate(zip(times, frames.starts, strict=True)):
        if 2 * abs(found - times[0] - Fraction(start, frames.scale)) * frames.scale > shortest:
            raise BadVideoError(f"frame {index} comes at another time than its index says")


@contextmanager
def _opened(data: bytes, mime: str) -> Iterator[tuple[InputContainer, VideoStream]]:
    """Open a clip and give its first video track. Raises BadVideoError for whatever FFmpeg refuses."""
    check_installed()
    import av
    from av.error import FFmpegError

    try:
        with av.open(
            io.BytesIO(data), mode="r", format=_FORMATS[mime], metadata_errors="replace"
        ) as container:
            if not container.streams.video:
                raise BadVideoError("it has no video track")
            stream = container.streams.video[0]
            context = stream.codec_context
            if context is None:
                raise BadVideoError("FFmpeg knows no decoder for its pictures; convert it to MP4 (H.264)")
            if context.width * context.height > MAX_FRAME_PIXELS:
                raise BadVideoError(
                    f"{context.width} x {context.height} pixels are too many to decode safely "
                    f"({MAX_FRAME_PIXELS:,} are allowed); scale it down"
                )
            context.thread_count = THREADS
            context.options = {"err_detect": "explode", "max_pixels": str(MAX_FRAME_PIXELS)}
            yield container, stream
    except (FFmpegError, ValueError, OverflowError) as error:
        if isinstance(error, BadVideoError):
            raise
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise BadVideoError(f"it cannot be decoded ({reason})") from error


def _jpeg(frame: VideoFrame) -> bytes:
    """Return a frame as JPEG."""
    from PIL import Image

    image = Image.fromarray(_upright(_pixels(frame), _turning(frame)))
    target = io.BytesIO()
    image.save(target, format="JPEG", quality=QUALITY, subsampling=0)
    return target.getvalue()


def _pixels(frame: VideoFrame) -> Any:
    """Return the samples of a frame, rows x columns (x 3), 8 bits each."""
    from av.video.reformatter import ColorRange, Interpolation

    # Exact to a level or two on grey; without full chroma, or with less, white ends at 253.
    exact = (
        Interpolation.BICUBIC
        | Interpolation.FULL_CHR_H_INT
        | Interpolation.ACCURATE_RND
        | Interpolation.BITEXACT
    )
    grey = frame.format.name.startswith("gray")
    full = grey or frame.format.name.startswith("yuvj") or frame.format.is_rgb
    stated = ColorRange(frame.color_range)
    source = (ColorRange.JPEG if full else ColorRange.MPEG) if stated == ColorRange.UNSPECIFIED else stated
    made = frame.reformat(
        format="rgb24", interpolation=exact, src_color_range=source, dst_color_range=ColorRange.JPEG,
        threads=THREADS,
    )  # fmt: skip
    samples = made.to_ndarray()
    if not grey:
        return samples
    return _stretched(samples[..., 0]) if source == ColorRange.MPEG else samples[..., 0]


def _stretched(grey: Any) -> Any:
    """Return grey of 16 to 235 as 0 to 255, which FFmpeg does for colours only."""
    import numpy as np

    return np.clip(np.rint((grey.astype(np.float64) - 16) * (255 / 219)), 0, 255).astype(np.uint8)


def _turning(frame: VideoFrame) -> tuple[int, int, int, int]:
    """Return a, b, c and d of the file's matrix: a picture's point (x, y) is shown at (ax + cy, bx + dy)."""
    sides: Any = frame.side_data  # PyAV's stubs know one kind alone
    if "DISPLAYMATRIX" not in sides:
        return 1, 0, 0, 1
    # Nine numbers, a row of three after the other, in the order of ISO/IEC 14496-12, 8.3.2.
    a, b, _, c, d = struct.unpack("=5i", bytes(sides["DISPLAYMATRIX"])[:20])
    return a, b, c, d


def _upright(pixels: Any, turning: tuple[int, int, int, int]) -> Any:
    """Turn samples by quarters and mirror them, as a matrix says; by any other matrix, not at all."""
    import numpy as np

    a, b, c, d = turning
    if not (b or c) and a and d:
        across, down = a, d
    elif not (a or d) and b and c:
        pixels, across, down = pixels.swapaxes(0, 1), c, b
    else:
        return pixels
    return np.ascontiguousarray(pixels[:: 1 if down > 0 else -1, :: 1 if across > 0 else -1])
