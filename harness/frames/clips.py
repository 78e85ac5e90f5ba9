"""A clip's file and its frames: when they are shown, and their JPEGs, as errors about media."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from harness.errors import MediaChangedError, MediaError, MediaReadError
from harness.frames.clip_frames import Keep, clip_frames
from harness.frames.decoding import decode_frames, demuxed_timeline
from harness.frames.iso_times import iso_timeline
from harness.frames.sampling import Timeline
from harness.video_structure import BadVideoError

if TYPE_CHECKING:
    from harness.media import Media

_ISO: Final = ("video/mp4", "video/quicktime", "video/3gpp")


def timeline_of(media: Media) -> Timeline:
    """Return when a clip's frames are shown; reads its tables, or all of it where they do not tell.

    Raises MediaError for a damaged clip, MediaReadError where it is gone, has changed, or PyAV is needed and
    missing.
    """
    if media.path is None:
        raise MediaError(f"no file is known for the video with sha256 {media.sha256}; give --data")
    return _timeline(media.sha256, media.mime, media.size, media.path)


@lru_cache(maxsize=256)
def _timeline(sha256: str, mime: str, size: int, path: Path) -> Timeline:
    # `sha256` keys the cache; that the bytes are still these is checked where frames are made of them. A size
    # of 0 is not known.
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            if size and len(data) != size:
                raise MediaChangedError(
                    f"video {str(path)!r} has changed since it was read; run again to take the new one", path
                )
            found = iso_timeline(data) if mime in _ISO else None
            return demuxed_timeline(data[:], mime) if found is None else found
    except BadVideoError as error:
        raise _unusable(path, error) from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise MediaReadError(
            f"cannot read video {str(path)!r}: {reason}; check path and permissions"
        ) from error


def frames_as_jpeg(media: Media, indices: Iterable[int], read: Callable[[], bytes]) -> Mapping[int, bytes]:
    """Return index -> JPEG of frames of a clip; `read` gives its bytes, and is called only if one is missing.

    Blocking. Raises MediaError as `timeline_of` and `read` do, and for a clip that is damaged or has no such
    frame.
    """
    wanted = frozenset(indices)

    def decode(missing: Collection[int], keep: Keep) -> None:
        frames = timeline_of(media)
        count, last = len(frames.starts), max(missing)
        if last >= count:
            raise MediaError(f"video {str(media.path)!r} has {count:,} frames, and no frame {last:,}")
        decode_frames(read(), media.mime, frames, missing, keep)

    try:
        return clip_frames().get(media.sha256, wanted, decode)
    except BadVideoError as error:
        raise _unusable(media.path, error) from error


def check_decodes(media: Media) -> None:
    """Decode a clip to its end and keep nothing. Raises MediaError for one that is damaged, or not there."""
    frames = timeline_of(media)
    assert media.path is not None, "its timeline was read there"
    try:
        decode_frames(media.path.read_bytes(), media.mime, frames, (), _ignore)
    except BadVideoError as error:
        raise _unusable(media.path, error) from error


def _ignore(index: int, jpeg: bytes) -> None:
    """Keep nothing of a frame."""


def _unusable(path: Path | None, error: BadVideoError) -> MediaError:
    mend = "" if ";" in str(error) else "; replace the file"
    return MediaError(f"cannot use video {str(path)!r}: {error}{mend}")
