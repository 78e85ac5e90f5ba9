"""What a request shows of its clips, as it is stored beside it: readable without the clips.

A list in the order of the messages, for each clip `{"sha256", "as", "fps", "sampled_by", "frames": [[index,
seconds after the first frame], ...]}`. It went `as` "video" or "images". Of one that its provider samples we
know no frames: null; `fps` is what was asked then, null where nothing was.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from harness.canonical import JSON
from harness.frames.recipe import frames_of
from harness.messages import Frame, ImagePart, MediaPart, Message, VideoPart, media_parts


def clips_shown(messages: Iterable[Message]) -> list[JSON]:
    """Return what is stored of the clips of a request; an empty list where it has none."""
    found: list[JSON] = []
    for clip, parts in groupby(media_parts(messages), key=_clip):
        if clip is None:
            continue
        run = list(parts)
        if isinstance(run[0], VideoPart):
            found += [_native(part) for part in run if isinstance(part, VideoPart)]
        else:
            frames = [part.frame for part in run if isinstance(part, ImagePart)]
            found.append(_entry(clip, "images", None, frames))
    return found


def _clip(part: MediaPart) -> str | None:
    """Return the clip of which a part shows something."""
    is_clip = isinstance(part, VideoPart) or part.frame is not None
    return part.media.sha256 if is_clip else None


def _native(part: VideoPart) -> JSON:
    if frames_of(part.recipe) is None or part.frames is None:
        return _entry(part.media.sha256, "video", part.fps, None)
    return _entry(part.media.sha256, "video", part.fps, part.frames)


def _entry(sha256: str, form: str, fps: float | None, frames: Iterable[Frame | None] | None) -> JSON:
    return {
        "sha256": sha256,
        "as": form,
        "fps": fps,
        "sampled_by": "provider" if frames is None else "harness",
        "frames": None if frames is None else [[one.index, one.time_s] for one in frames if one is not None],
    }
