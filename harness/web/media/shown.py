"""The media of a case as a page shows them: where they are served, and what models were shown of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias, cast

from harness.benchmarks.base import Case
from harness.benchmarks.medlay.cases import region_of
from harness.cache.rows import Exchange, Link
from harness.cache.store import Store
from harness.canonical import JSON
from harness.media import Media
from harness.media_threads import in_media_thread
from harness.offline.media_shown import media_shown
from harness.offline.stored_run import StoredRun
from harness.phrases import count
from harness.recipes import ORIGINAL
from harness.web.links import link
from harness.web.media.places import located
from harness.web.media.sound_files import NotShownError
from harness.web.media.thumbnails import Box, expect_frames, timeline, upright
from harness.web.viewing.library import Library

Links: TypeAlias = Sequence[tuple[Link, Exchange]]
Address: TypeAlias = Callable[..., str]
"""Makes the address of one medium from what stands in its query, as `harness.web.links.link` takes it."""

MOST_FRAMES: Final = 160
"""Frames of a strip; of more, so many are shown, spread evenly."""
SPREAD_FRAMES: Final = 16
"""Frames that are shown of a clip where nobody was shown any."""


@dataclass(frozen=True, slots=True)
class FrameItem:
    """A frame in a strip: its index in the clip, when it is on display, where its pictures are."""

    index: int
    time_s: float
    thumb: str
    screen: str
    whole: str


@dataclass(frozen=True, slots=True)
class Strip:
    """Frames of a clip, with words that say who was shown them; `left` are not drawn."""

    title: str
    frames: tuple[FrameItem, ...]
    left: int = 0


@dataclass(frozen=True, slots=True)
class MediaItem:
    """An image or clip of a case.

    `address` are its forms' addresses: "thumb", "screen", "whole" and, with a box, "marked"; of a clip
    "whole" alone. `width` and `height` are pixels of the image upright; 0: not known. `box` is the region of
    interest in them. `said`: sentences on who was sent it, and how. `problem`: why it cannot be shown.
    """

    key: str
    title: str
    kind: str
    mime: str
    bytes: int
    width: int
    height: int
    address: Mapping[str, str]
    duration_s: float | None = None
    box: Box | None = None
    said: tuple[str, ...] = ()
    strips: tuple[Strip, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class CaseMedia:
    """All media of a case, and sentences about them all; true where there is anything to show."""

    items: tuple[MediaItem, ...]
    notes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.items or self.notes)


async def case_media(
    library: Library,
    stored: StoredRun,
    case: Case,
    links: Links | Mapping[str, Links],
    model: str = "the model",
) -> CaseMedia:
    """Return the media of a case, with what was shown of them by the requests of one unit, or of several.

    `links`: those of a unit of `model`; or of several units, each by the name of its model.
    """
    of_models = links if isinstance(links, Mapping) else {model: links}
    flat = [(role, n, one) for role, many in case.media.items() for n, one in enumerate(many)]
    found = await located(library.store, stored.benchmark.name, [one for _, _, one in flat])
    shown = {name: _shown(found, documents) for name, documents in _documents(of_models).items()}
    items = []
    for (role, n, _), one in zip(flat, found, strict=True):
        entries = {name: entries.get(one.sha256, []) for name, entries in shown.items()}
        items.append(
            await _item(one, _title(role, n, case), _address(stored, case, role, n), region_of(case), entries)
        )
    notes = () if case.problem is None else (f"the case cannot be used: {case.problem}",)
    return CaseMedia(tuple(items), notes)


async def plain_media(
    store: Store,
    benchmark: str,
    media: Mapping[str, Sequence[Media]],
    address: Callable[[int], Address],
    *,
    box: Box | None = None,
) -> CaseMedia:
    """Return media with nothing that tells who was shown them: for people who grade.

    `address` takes a medium's place among all of them. Titles and frames depend on the media alone.
    """
    flat = [(role, n, one) for role, many in media.items() for n, one in enumerate(many)]
    found = await located(store, benchmark, [one for _, _, one in flat])
    items = [
        await _item(one, _titled(role, n, len(media[role])), address(place), box, {})
        for place, ((role, n, _), one) in enumerate(zip(flat, found, strict=True))
    ]
    return CaseMedia(tuple(items))


def _documents(links: Mapping[str, Links]) -> dict[str, list[bytes]]:
    return {
        name: [exchange.data.request for link, exchange in many if link.purpose == "answer"]
        for name, many in links.items()
    }


def _shown(media: Sequence[Media], documents: Sequence[bytes]) -> dict[str, list[Mapping[str, Any]]]:
    """Return digest -> what stored requests show of it."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    if not documents:
        return found
    for entry in media_shown(media, documents):
        one = cast("Mapping[str, JSON]", entry)
        found.setdefault(str(one["sha256"]), []).append(one)
    return found


def _address(stored: StoredRun, case: Case, role: str, n: int) -> Address:
    return partial(file_link, stored.run.name, case.id, role, n)


def file_link(run: str, case_id: str, role: str, n: int, **query: str | int) -> str:
    """Return where a medium of a case is served (`harness.web.media.case_files`); `n` from 0 in its role."""
    return link("/media/file", run=run, case=case_id, role=role, n=n, **query)


def _title(role: str, n: int, case: Case) -> str:
    return _titled(role, n, len(case.media[role]))


def _titled(role: str, n: int, many: int) -> str:
    return role if many == 1 else f"{role} {n + 1} of {many}"


async def _item(
    media: Media,
    title: str,
    address: Address,
    box: Box | None,
    entries: Mapping[str, list[Mapping[str, Any]]],
) -> MediaItem:
    forms = {form: address(**{"as": form}) for form in ("thumb", "screen", "whole")}
    if box is not None:
        forms["marked"] = address(**{"as": "marked"})
    width, height = media.width, media.height
    if box is not None and media.kind == "image" and media.path is not None:
        width, height = await in_media_thread(upright, media)
    is_clip = media.kind == "video"
    return MediaItem(
        key=forms["whole"],
        title=title,
        kind=media.kind,
        mime=media.mime,
        bytes=media.size,
        width=width,
        height=height,
        address=forms,
        duration_s=media.duration_s,
        box=None if is_clip else box,
        said=tuple(_said(entries, is_clip)),
        strips=await _strips(media, address, entries) if is_clip and media.path is not None else (),
        problem=None if media.path is not None else "the file was not found where the run read it",
    )


def _said(entries: Mapping[str, Sequence[Mapping[str, Any]]], is_clip: bool) -> Iterator[str]:
    """Yield in sentences what each model was sent of a medium; what is true of several is said once."""
    by_words: dict[str, list[str]] = {}
    for name, found in entries.items():
        by_words.setdefault(_sent(found, is_clip), []).append(name)
    for words, names in by_words.items():
        yield f"{', '.join(names)} {'was' if len(names) == 1 else 'were'} {words}"


def _sent(entries: Sequence[Mapping[str, Any]], is_clip: bool) -> str:
    if not entries:
        return "not sent this"
    first = entries[0]
    if is_clip and "frame" in first:
        return f"sent {count(len(entries), 'frame')} of it, as images"
    if is_clip and first.get("clip") is not None:
        clip = first["clip"]
        rate = "" if clip["fps"] is None else f" at {clip['fps']:g} frames a second"
        if clip["frames"] is None:
            return f"sent the file{rate}; which frames were looked at, the provider does not tell"
        return f"sent {count(len(clip['frames']), 'frame')} of it as a video{rate}"
    if first["recipe"] == ORIGINAL:
        return "sent the file as it is"
    return f"sent this by the recipe {first['recipe']}"


async def _strips(
    media: Media, address: Address, entries: Mapping[str, Sequence[Mapping[str, Any]]]
) -> tuple[Strip, ...]:
    """Return a strip for each different choice of frames, or frames spread evenly where there is none."""
    chosen: dict[tuple[tuple[int, float], ...], list[str]] = {}
    for name, found in entries.items():
        frames = tuple((int(one["index"]), float(one["time_s"])) for one in _frames(found))
        if frames:
            chosen.setdefault(frames, []).append(name)
    if chosen:
        strips = [_strip(f"shown to {', '.join(names)}", frames, address) for frames, names in chosen.items()]
    else:
        spread = await in_media_thread(_spread, media)
        title = f"spread evenly over the clip: {len(spread)}"
        strips = [_strip(title, spread, address)] if spread else []
    expect_frames(media, [frame.index for strip in strips for frame in strip.frames])
    return tuple(strips)


def _frames(entries: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    single = [one["frame"] for one in entries if one.get("frame") is not None]
    many = [frame for one in entries if one.get("clip") for frame in one["clip"]["frames"] or ()]
    return single or many


def _strip(title: str, frames: Sequence[tuple[int, float]], address: Address) -> Strip:
    drawn = _evenly(frames, MOST_FRAMES)
    items = [
        FrameItem(
            index, time_s, *(address(**{"as": form, "frame": index}) for form in ("thumb", "screen", "whole"))
        )
        for index, time_s in drawn
    ]
    return Strip(title, tuple(items), len(frames) - len(drawn))


def _spread(media: Media) -> list[tuple[int, float]]:
    try:
        times = timeline(media)
    except NotShownError:
        return []
    return [(index, times.time_s(index)) for index in _evenly(range(len(times.starts)), SPREAD_FRAMES)]


def _evenly(many: Sequence[Any], most: int) -> list[Any]:
    """Return at most so many of a sequence, the first and the last among them."""
    if len(many) <= most:
        return [*many]
    return [many[place * (len(many) - 1) // (most - 1)] for place in range(most)]
