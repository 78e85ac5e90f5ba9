"""Pictures made of media for pages: small ones, ones for a screen, whole ones, and frames of clips.

All are made of bytes that were checked (`sound_files`), by the rules of `harness.recipes`: so TIFF, BMP and
16-bit PNG look as they did to a model that got them converted. What was made is kept in memory, up to a
bound.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from harness.errors import MediaError
from harness.frames.clip_frames import clip_frames
from harness.frames.clips import frames_as_jpeg, timeline_of
from harness.frames.decoding import NOT_INSTALLED, is_installed
from harness.frames.sampling import Timeline
from harness.image_conversion import convert, open_header, upright_size
from harness.image_structure import BadImageError, read_structure
from harness.media import MAX_PIXELS, Media
from harness.recipes import Recipe, read_recipe, roi_recipe
from harness.video_structure import sniff_video
from harness.web.media.sound_files import NotShownError, sound_file

Form: TypeAlias = Literal["thumb", "screen", "whole", "marked"]
Box: TypeAlias = tuple[int, int, int, int]

FORMS: Final[tuple[Form, ...]] = ("thumb", "screen", "whole", "marked")
THUMB_PIXELS: Final = 320
SCREEN_PIXELS: Final = 1_600
"""Longest sides of the small ones, and of those for a screen."""
MAX_IMAGE_BYTES: Final = 128 * 1024 * 1024
"""Larger images are not read for a page."""
CACHE_BYTES: Final = 64 * 1024 * 1024
_LARGE_PIXELS: Final = 12_000_000
"""Of larger images one is decoded at a time: it fills hundreds of megabytes."""

_SHOWN_BY_BROWSERS: Final = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"})
_VIDEOS: Final = frozenset(
    {"video/mp4", "video/quicktime", "video/3gpp", "video/webm", "video/x-matroska", "video/x-msvideo"}
)
_STAGES: Final[dict[Form, str]] = {
    "thumb": f"fit:max_side={THUMB_PIXELS}+jpeg:quality=80",
    "screen": f"fit:max_side={SCREEN_PIXELS}+jpeg:quality=80",
    "whole": "png",
    "marked": f"fit:max_side={SCREEN_PIXELS}+jpeg:quality=80",
}
_one_large = threading.Semaphore(1)


@dataclass(frozen=True, slots=True)
class Picture:
    """An encoded image."""

    data: bytes
    mime: str


def picture(media: Media, form: Form, *, frame: int | None = None, box: Box | None = None) -> Picture:
    """Return an image, or a frame of a clip, in a form. Blocking.

    "whole" is the file's own bytes where browsers show them as models see them, else a PNG; of a frame it is
    the JPEG that models get. `box` is drawn in the form "marked". Raises NotShownError.
    """
    key = media.sha256, form, frame, box if form == "marked" else None
    found = _made.get(key)
    if found is None:
        found = _frame(media, form, frame) if media.kind == "video" else _image(media, form, box)
        _made.put(key, found)
    return found


def _image(media: Media, form: Form, box: Box | None) -> Picture:
    data, mime, is_plain = _image_bytes(media)
    if form == "whole" and is_plain and mime in _SHOWN_BY_BROWSERS:
        return Picture(data, mime)
    recipe = read_recipe(_STAGES[form])
    if form == "marked" and box is not None:
        recipe = Recipe((*read_recipe(roi_recipe(box)).stages, *recipe.stages))
    return _converted(data, mime, recipe)


def _image_bytes(media: Media) -> tuple[bytes, str, bool]:
    """Return the bytes of an image, what they are by themselves, and whether its samples are plain."""
    with sound_file(media) as file:
        if file.size > MAX_IMAGE_BYTES:
            raise NotShownError(f"the image has {file.size:,} bytes, {MAX_IMAGE_BYTES:,} are shown at most")
        data = file.read(0, file.size)
    try:
        found = read_structure(data)
    except BadImageError as error:
        raise NotShownError(f"the file is no image that can be shown: {error}") from error
    return data, found.mime, found.plain


def _converted(data: bytes, mime: str, recipe: Recipe) -> Picture:
    try:
        with open_header(data, mime) as image:
            pixels = image.width * image.height
        if pixels > MAX_PIXELS:
            raise NotShownError(f"the image has {pixels:,} pixels, {MAX_PIXELS:,} are decoded at most")
        if pixels <= _LARGE_PIXELS:
            return Picture(convert(data, mime, recipe), recipe.mime(mime))
        with _one_large:
            return Picture(convert(data, mime, recipe), recipe.mime(mime))
    except BadImageError as error:
        raise NotShownError(f"the image cannot be shown: {error}") from error


def _frame(media: Media, form: Form, index: int | None) -> Picture:
    if index is None:
        raise NotShownError("a clip has no picture of its own; ask for one of its frames")
    if not is_installed():
        raise NotShownError(NOT_INSTALLED)
    try:
        times = timeline(media)
        if index >= len(times.starts):
            raise NotShownError(f"the clip has {len(times.starts):,} frames, and no frame {index:,}")
        jpeg = frames_as_jpeg(media, [index], lambda: _clip_bytes(media))[index]
    except MediaError as error:
        raise NotShownError(
            "the clip cannot be decoded: it is damaged, or holds what its index does not say"
        ) from error
    if form == "whole":
        return Picture(jpeg, "image/jpeg")
    return _converted(jpeg, "image/jpeg", read_recipe(_STAGES[form]))


def _clip_bytes(media: Media) -> bytes:
    with sound_file(media) as file:
        return file.read(0, file.size)


def timeline(media: Media) -> Timeline:
    """Return when the frames of a clip are shown. Blocking. Raises NotShownError."""
    with sound_file(media) as file:
        if sniff_video(file.read(0, 4_096)) not in _VIDEOS:
            raise NotShownError("the file is no video that can be shown")
        try:
            return timeline_of(media)
        except MediaError as error:
            raise NotShownError("the times of the clip's frames cannot be read") from error


def expect_frames(media: Media, indices: Sequence[int]) -> None:
    """Say which frames will be asked for one by one: the first that is asked for makes them all."""
    clip_frames().expect(media.sha256, indices)


def clip_facts(media: Media) -> tuple[str, int]:
    """Return what a clip is by its bytes, and how many these are. Blocking. Raises NotShownError."""
    with sound_file(media) as file:
        found = sniff_video(file.read(0, 4_096))
        size = file.size
    if found is None or found not in _VIDEOS:
        raise NotShownError("the file is no video that can be shown")
    return found, size


@lru_cache(maxsize=4_096)
def upright(media: Media) -> tuple[int, int]:
    """Return width and height of an image turned by its EXIF; as noted, where it cannot be read. Blocking."""
    if media.mime not in ("image/png", "image/jpeg", "image/webp"):
        return media.width, media.height
    try:
        data, mime, _ = _image_bytes(media)
        return upright_size(data, mime)
    except (NotShownError, BadImageError):
        return media.width, media.height


_Key: TypeAlias = tuple[str, Form, int | None, Box | None]


class _Made:
    """Pictures that were made lately, up to `CACHE_BYTES`; one that would fill an eighth is not kept."""

    def __init__(self) -> None:
        self._found: OrderedDict[_Key, Picture] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: _Key) -> Picture | None:
        with self._lock:
            found = self._found.get(key)
            if found is not None:
                self._found.move_to_end(key)
            return found

    def put(self, key: _Key, found: Picture) -> None:
        if len(found.data) > CACHE_BYTES // 8:
            return
        with self._lock:
            before = self._found.pop(key, None)
            self._bytes += len(found.data) - (0 if before is None else len(before.data))
            self._found[key] = found
            while self._bytes > CACHE_BYTES:
                self._bytes -= len(self._found.popitem(last=False)[1].data)


_made = _Made()
