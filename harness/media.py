"""Media: images and videos as bytes by digest, what they are, and what is sent of them."""

from __future__ import annotations

import mmap
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal, TypeAlias

from harness.canonical import sha256_hex
from harness.errors import MediaChangedError, MediaError, MediaReadError
from harness.frames.clips import frames_as_jpeg
from harness.image_conversion import convert, decode, open_header, upright_size
from harness.image_structure import BadImageError, Structure, read_structure
from harness.recipes import box_problem, read_recipe
from harness.video_structure import BadVideoError, read_video, sniff_video

MediaKind: TypeAlias = Literal["image", "video"]

READER_VERSION: Final = 2
"""Version of what `probe` finds in a file; files that an earlier one read are read anew."""

MAX_PIXELS: Final = 89_478_485
"""Larger images are taken for decompression bombs and never decoded: Pillow's own threshold."""

_HEADERS_SUFFICE: Final = ("image/png", "image/jpeg", "image/webp")
"""What `probe` need not decode."""

MAX_BYTES: Final = 512 * 1024 * 1024
"""Larger files are never read into memory."""

_A: Final[Mapping[MediaKind, str]] = {"image": "an image", "video": "a video"}


@dataclass(frozen=True, slots=True)
class Media:
    """One image or video file: identity is `sha256` of its bytes, never its path.

    `size` in bytes, `width` and `height` in pixels. `path` is where it was found; None when the
    case comes from a store's snapshot. `plain` as in `Structure`: whether an image's samples need no
    conversion; None: not known, the file has to be looked at. `duration_s`: a video's length in seconds, None
    where it is not known.
    """

    sha256: str
    mime: str
    size: int
    width: int
    height: int
    path: Path | None = None
    plain: bool | None = field(default=None, compare=False)
    duration_s: float | None = field(default=None, compare=False)

    @property
    def kind(self) -> MediaKind:
        """Whether it is a still image or a video, by its type."""
        return "video" if self.mime.startswith("video/") else "image"


def probe(path: Path, *, name: str | None = None) -> Media:
    """Return what a file is, by its bytes and not by its name.

    `name` stands for the path in messages. Raises MediaError for a file that is missing, cut, damaged, an
    image that moves or is too large to decode safely, or neither image nor video.
    """
    shown = name or str(path)
    data = _read(path, shown, "file")
    if sniff_video(data) is not None:
        return _video(data, path, shown)
    try:
        found = _inspect(data)
    except BadImageError as error:
        raise _unusable(shown, error) from error
    return Media(sha256_hex(data), found.mime, len(data), found.width, found.height, path, found.plain)


def _video(data: bytes, path: Path, shown: str) -> Media:
    try:
        found = read_video(data)
    except BadVideoError as error:
        mend = "" if ";" in str(error) else "; replace the file"
        raise MediaError(f"cannot use video {shown!r}: {error}{mend}") from error
    size = found.width, found.height
    return Media(sha256_hex(data), found.mime, len(data), *size, path, duration_s=found.duration_s)


def of_kind(media: Media, kind: MediaKind, name: str) -> Media:
    """Return the medium. Raises MediaError where a case has the other kind in its place."""
    if media.kind != kind:
        raise MediaError(f"{name!r} is {media.mime}, and the case wants {_A[kind]} here; correct the case")
    return media


def check_box(media: Media, box: Sequence[int], name: str) -> None:
    """Raise MediaError where an image, upright, does not have a box (`roi` of `harness.recipes`).

    `name` stands for the image in the message. The file is looked at only where the box fits the image as it
    is stored, or turned by a quarter, and not both.
    """
    width, height = media.width, media.height
    if (box_problem(box, width, height) is None) != (box_problem(box, height, width) is None):
        width, height = _upright_size(media, name)
    problem = box_problem(box, width, height)
    if problem is not None:
        raise MediaError(f"cannot draw on image {name!r}: {problem}")


def _upright_size(media: Media, name: str) -> tuple[int, int]:
    if media.path is None or media.mime not in _HEADERS_SUFFICE:
        return media.width, media.height  # what had to be decoded was measured upright
    try:
        return upright_size(_read(media.path, name, "image"), media.mime)
    except BadImageError as error:
        raise _unusable(name, error) from error


def duration_of(path: Path) -> float | None:
    """Return a video's length in seconds without reading its pictures; None where it cannot be told."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return read_video(data).duration_s
    except (OSError, ValueError):
        return None


def load(media: Media, recipe: str) -> bytes:
    """Return the bytes to send by a recipe (`harness.recipes`); blocking, so call it off the event loop.

    Raises MediaError where the file is gone, has changed since it was probed, or cannot be decoded.
    """
    rule = read_recipe(recipe)
    wanted = "image" if rule.frame is None else "video"
    if rule.is_wish or (rule.stages and media.kind != wanted):
        raise MediaError(f"nothing can be sent by the recipe {recipe!r}; this is {_A[media.kind]}")
    if media.path is None:
        raise MediaError(f"no file is known for the {media.kind} with sha256 {media.sha256}; give --data")
    if rule.frame is not None:
        data, mime, rule = load_frames(media, [rule.frame])[rule.frame], "image/jpeg", rule.after_frame
    else:
        data, mime = _unchanged(media, media.path), media.mime
    if not rule.stages:
        return data
    try:
        return convert(data, mime, rule)
    except BadImageError as error:
        raise _unusable(str(media.path), error) from error


def load_frames(media: Media, indices: Iterable[int]) -> Mapping[int, bytes]:
    """Return index -> JPEG of frames of a video, decoded once at most; blocking, raises as `load` does."""
    path = media.path
    if path is None:
        raise MediaError(f"no file is known for the {media.kind} with sha256 {media.sha256}; give --data")
    return frames_as_jpeg(media, indices, lambda: _unchanged(media, path))


def _unchanged(media: Media, path: Path) -> bytes:
    """Return the bytes of a file. Raises MediaError where they are not those that were probed."""
    data = _read(path, str(path), media.kind)
    if sha256_hex(data) != media.sha256:
        raise MediaChangedError(
            f"{media.kind} {str(path)!r} has changed since it was read; run again to take the new one", path
        )
    return data


def _unusable(shown: str, error: BadImageError) -> MediaError:
    mend = "" if ";" in str(error) else "; replace the file"
    return MediaError(f"cannot use image {shown!r}: {error}{mend}")


def _read(path: Path, shown: str, what: str) -> bytes:
    try:
        state = path.stat()
        if not stat.S_ISREG(state.st_mode):
            raise MediaError(f"{what} {shown!r} is no regular file; name an image or a video")
        if state.st_size > MAX_BYTES:
            raise MediaError(
                f"{what} {shown!r} is {state.st_size:,} bytes, {MAX_BYTES:,} are allowed; make it smaller"
            )
        return path.read_bytes()
    except FileNotFoundError as error:
        raise MediaReadError(f"{what} {shown!r} does not exist; add it or correct the path") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise MediaReadError(f"cannot read {what} {shown!r}: {reason}; check path and permissions") from error


def _inspect(data: bytes) -> Structure:
    found = read_structure(data)
    _guard(found.width, found.height)
    if found.mime in _HEADERS_SUFFICE:
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


@lru_cache(maxsize=4096)
def is_plain(sha256: str, path: Path) -> bool:
    """Tell whether an image's samples need no conversion; `sha256` keys the cache, since paths may change."""
    data = _read(path, str(path), "image")
    try:
        return read_structure(data).plain
    except BadImageError as error:
        raise _unusable(str(path), error) from error
