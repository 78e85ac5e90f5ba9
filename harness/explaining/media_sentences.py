"""What a model was shown of a case, in a line a medium: images, clips, and which of their frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, TypeAlias

Facts: TypeAlias = Mapping[str, Any]

_LISTED: Final = 6
"""Frames that are named by their indices; of more the first and the last are."""


def media_lines(media: Sequence[Facts]) -> Iterator[str]:
    """Yield a line a medium of a record's `media`: the frames of one clip together."""
    for clip, entries in groupby(media, key=lambda one: one["sha256"] if "frame" in one else None):
        if clip is None:
            yield from map(_whole, entries)
        else:
            shown = list(entries)
            frames = [one["frame"] for one in shown]
            count = f"{len(frames)} image{'' if len(frames) == 1 else 's'}"
            yield f"shown: clip {clip[:12]} as {count}: {_frames(frames)}"


def _whole(one: Facts) -> str:
    name, clip = f"{one['sha256'][:12]} ({one['bytes']:,} bytes)", one.get("clip")
    if clip is None:
        kind = "video" if one["mime"].startswith("video/") else "image"
        return f"shown: {kind} {name}, {one['recipe']}"
    fps = "at its own rate" if clip["fps"] is None else f"at {clip['fps']:g} frames per second"
    if clip["frames"] is None:
        return f"shown: clip {name} as a video, {fps}; its provider chose the frames, and which is not known"
    return f"shown: clip {name} as a video, {fps}, {_frames(clip['frames'])}"


def _frames(frames: Sequence[Facts]) -> str:
    indices = [str(one["index"]) for one in frames]
    if len(indices) > _LISTED:
        indices = [*indices[: _LISTED - 2], "...", indices[-1]]
    what = "frame" if len(frames) == 1 else "frames"
    first, last = frames[0]["time_s"], frames[-1]["time_s"]
    when = f"at {first:g} s" if len(frames) == 1 else f"from {first:g} to {last:g} s"
    return f"{what} {', '.join(indices)}, {when}"
