"""The bytes of a request: its media loaded, its body encoded, off the event loop."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from harness.canonical import sha256_hex
from harness.frames.clip_frames import clip_frames
from harness.frames.recipe import frames_of
from harness.media import Media, load, load_frames
from harness.media_limits import base64_bytes, check_request_bytes, encoded_size, most_bytes
from harness.media_threads import in_media_thread
from harness.messages import MediaPart, MediaSlot, Request, VideoPart, WireRequest, WireValue, media_parts
from harness.providers.encoding import encode_body
from harness.recipes import ORIGINAL, read_recipe
from harness.settings import Model, limits_of

_AROUND: Final = 65_536
"""More than transport fields and what stands before media in their slots ever add to a body."""


async def encoded(request: Request, wire: WireRequest) -> tuple[bytes, dict[str, str]]:
    """Return the body to be sent and, for each medium, the digest of the bytes it was sent as.

    Made in a thread where media are loaded, at once where there are none. A medium that is sent in several
    forms, as a clip is by its frames, has the digest of their digests, joined in order. Raises MediaError.
    """
    if next(media_parts(request.messages), None) is None:
        return _encode(request, wire)
    for media, indices in _frames_wanted(request).values():
        # One after another, so that all that want frames of a clip wait for one, and in no thread.
        async with clip_frames().turn(media.sha256):
            await in_media_thread(_make_frames, media, indices)
    return await in_media_thread(_encode, request, wire)


def check_size(wire: WireRequest, document: bytes, model: Model) -> None:
    """Raise MediaLimitError for a request whose body has more bytes than its model takes; nothing is sent.

    `document` is its body as `wire_document` gives it. The body is measured only where it may be too large:
    to the byte, but for frames of clips, which are not made for this alone and do not count.
    """
    limit = limits_of(model).max_request_bytes
    if limit is None:
        return
    slots = list(_slots(wire.body))
    if len(document) + _AROUND + sum(_media_bytes(one, exact=False) for one in slots) > limit:
        known = sum(_media_bytes(one, exact=True) for one in slots)
        around = len(encode_body(wire, defaultdict(bytes)))
        check_request_bytes(around + known, limit, f"model {model.name!r}")


def _slots(value: WireValue) -> Iterator[MediaSlot]:
    match value:
        case MediaSlot():
            yield value
        case Mapping():
            for item in value.values():
                yield from _slots(item)
        case list() | tuple():
            for item in value:
                yield from _slots(item)


def _media_bytes(slot: MediaSlot, *, exact: bool) -> int:
    """Return the bytes of base64 in a slot, or more than they can be; 0 for frames of a clip."""
    media, recipe = slot.media, slot.recipe
    if recipe == ORIGINAL:
        return base64_bytes(media.size)
    if media.kind == "video" or media.path is None:
        return 0
    if not exact:
        return base64_bytes(most_bytes(media.width, media.height))
    return base64_bytes(encoded_size(media.sha256, media.mime, recipe, media.path)[0])


def _encode(request: Request, wire: WireRequest) -> tuple[bytes, dict[str, str]]:
    """Return the body to be sent and, for each medium, the digest of the bytes it was sent as."""
    media_bytes: dict[tuple[str, str], bytes | tuple[bytes, ...]] = {}
    digests: dict[str, list[str]] = {}
    frames = {sha256: load_frames(*wanted) for sha256, wanted in _frames_wanted(request).items()}
    for part in media_parts(request.messages):
        form = part.media.sha256, part.recipe
        if form not in media_bytes:
            data = _loaded(part, frames.get(part.media.sha256, {}))
            media_bytes[form] = data
            each = (data,) if isinstance(data, bytes) else data
            known = [part.media.sha256] if part.recipe == ORIGINAL else map(sha256_hex, each)
            digests.setdefault(part.media.sha256, []).extend(known)
    sent = {
        source: made[0] if len(made) == 1 else sha256_hex("".join(made).encode("ascii"))
        for source, made in digests.items()
    }
    return encode_body(wire, media_bytes), sent


def _make_frames(media: Media, indices: set[int]) -> None:
    """See to it that frames are kept where `_encode` finds them."""
    if clip_frames().lacks(media.sha256, indices):
        load_frames(media, indices)


def _loaded(part: MediaPart, frames: Mapping[int, bytes]) -> bytes | tuple[bytes, ...]:
    """Return what is sent of a medium: of a video, maybe several frames."""
    if isinstance(part, VideoPart):
        indices = frames_of(part.recipe)
        return load(part.media, part.recipe) if indices is None else tuple(frames[one] for one in indices)
    rule = read_recipe(part.recipe)
    is_frame = rule.frame is not None and not rule.after_frame.stages
    return frames[rule.frame] if is_frame and rule.frame is not None else load(part.media, part.recipe)


def _frames_wanted(request: Request) -> dict[str, tuple[Media, set[int]]]:
    """Return, by the sha256 of each clip, which of its frames the request shows."""
    found: dict[str, tuple[Media, set[int]]] = {}
    for part in media_parts(request.messages):
        if isinstance(part, VideoPart):
            indices = frames_of(part.recipe) or ()
        else:
            frame = read_recipe(part.recipe).frame
            indices = () if frame is None else (frame,)
        if indices:
            found.setdefault(part.media.sha256, (part.media, set()))[1].update(indices)
    return found
