"""Which media a unit's answers were asked with, and what was shown of its clips, by stored requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from harness.cache.key import clips_sent, media_in, read_document
from harness.canonical import JSON
from harness.media import Media

Value = TypeVar("Value")


def media_shown(media: Iterable[Media], documents: Sequence[bytes]) -> list[JSON]:
    """Return an entry for each medium that stored requests hold, in the order of `media`.

    `{sha256, mime, bytes, recipe}`, of the latest request that has it. A clip that went as images has one
    entry a frame, in order, with `frame` `{index, time_s}`: seconds after its first frame. One that went as a
    video has `clip` `{fps, sampled_by, frames: [{index, time_s}, ...]}`; null where the provider sampled it
    by itself.
    """
    recipes: dict[str, list[str]] = {}
    clips: dict[str, list[Mapping[str, Any]]] = {}
    for document in documents:
        body, _ = read_document(document)
        recipes |= _by_sha256((sha256, recipe) for sha256, recipe, _ in media_in(body))
        clips |= _by_sha256((str(clip.get("sha256")), clip) for clip in clips_sent(document))
    found: list[JSON] = []
    for one in media:
        shown = recipes.get(one.sha256)
        if shown:
            found += _entries(one, shown, clips.get(one.sha256, []))
    return found


def _by_sha256(pairs: Iterable[tuple[str, Value]]) -> dict[str, list[Value]]:
    found: dict[str, list[Value]] = {}
    for sha256, value in pairs:
        found.setdefault(sha256, []).append(value)
    return found


def _entries(one: Media, recipes: list[str], clips: list[Mapping[str, Any]]) -> Iterator[Mapping[str, JSON]]:
    """Give the next entries of a medium, and take what they tell of from the lists: it may come again."""
    facts: dict[str, JSON] = {"sha256": one.sha256, "mime": one.mime, "bytes": one.size}
    if one.kind == "image" or not clips:
        yield {**facts, "recipe": recipes.pop(0) if len(recipes) > 1 else recipes[0]}
        return
    clip = clips.pop(0)
    frames = clip.get("frames")
    named = None if frames is None else [{"index": index, "time_s": time_s} for index, time_s in frames]
    if clip.get("as") == "video" or named is None:
        shown = {"fps": clip.get("fps"), "sampled_by": clip.get("sampled_by"), "frames": named}
        yield {**facts, "recipe": recipes.pop(0), "clip": shown}
        return
    for frame in named:
        yield {**facts, "recipe": recipes.pop(0), "frame": frame}
