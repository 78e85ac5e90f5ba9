"""When the frames of an MP4 or QuickTime file are on display, read from its tables without decoding a
picture.

Rules: ISO/IEC 14496-12, 8.6.1.2 (`stts`: how long samples last, in the order of decoding), 8.6.1.3 (`ctts`:
how much later they are shown), 8.7.3 (`stsz`: their sizes), 8.6.6 (`elst`: the part of the track that is
shown).
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Final

from harness.frames.sampling import Timeline, timeline
from harness.video_structure import BadVideoError, Buffer, Span, boxes

MAX_FRAMES: Final = 200_000
"""A clip with more is taken for a bomb: two hours have 216,000 at 30 frames a second."""


def iso_timeline(data: Buffer) -> Timeline | None:
    """Return when the frames of the first video track are shown; None where its tables alone do not tell.

    That is so for files in fragments, and where an edit list hides frames or joins pieces. Raises
    BadVideoError for tables that are cut or contradict each other.
    """
    try:
        return _timeline(data)
    except (struct.error, IndexError, KeyError) as error:
        raise BadVideoError("the table of its frames is cut short or damaged") from error


def too_many(count: int) -> BadVideoError:
    """Return the error for a clip with too many frames."""
    return BadVideoError(f"{count:,} frames are too many to take apart ({MAX_FRAMES:,} are allowed); cut it")


def _timeline(data: Buffer) -> Timeline | None:
    moov = list(boxes(data, dict(boxes(data, (0, len(data))))[b"moov"]))
    if any(kind == b"mvex" for kind, _ in moov):
        return None
    track, media, tables = _video_track(data, moov)
    scale = _scale(data, media[b"mdhd"])
    count = _check_sizes(data, tables)
    lasts = _lasts(data, tables[b"stts"], count)
    shown = list(accumulate(lasts[:-1], initial=0))
    if b"ctts" in tables:
        shown = [at + later for at, later in zip(shown, _offsets(data, tables[b"ctts"], count), strict=True)]
    edit = _edit(data, dict(boxes(data, track[b"edts"])).get(b"elst")) if b"edts" in track else (0, 0)
    if edit is None or not _all_shown(shown, edit, scale, _scale(data, dict(moov)[b"mvhd"])):
        return None
    order = sorted(range(count), key=shown.__getitem__)
    starts = [shown[sample] for sample in order]
    try:
        return timeline(starts, starts[-1] + max(1, lasts[order[-1]]), scale)
    except ValueError as error:
        raise BadVideoError(f"the table of its frames contradicts itself: {error}") from error


def _video_track(
    data: Buffer, moov: list[tuple[bytes, Span]]
) -> tuple[Mapping[bytes, Span], Mapping[bytes, Span], Mapping[bytes, Span]]:
    """Return the parts of the first video track, of its media, and its tables."""
    for track in (dict(boxes(data, span)) for kind, span in moov if kind == b"trak"):
        media = dict(boxes(data, track[b"mdia"])) if b"mdia" in track else {}
        handler = media.get(b"hdlr", (0, 0))[0]
        if b"hdlr" in media and data[handler + 8 : handler + 12] == b"vide":
            tables = dict(boxes(data, dict(boxes(data, media[b"minf"]))[b"stbl"]))
            return track, media, tables
    raise BadVideoError("it has no video track")


def _scale(data: Buffer, span: Span) -> int:
    """Return the ticks a second of a media or movie header."""
    start = span[0] + (20 if data[span[0]] == 1 else 12)
    (found,) = struct.unpack(">I", data[start : start + 4])
    if not found:
        raise BadVideoError("its clock stands still (a time scale of 0)")
    return int(found)


def _check_sizes(data: Buffer, tables: Mapping[bytes, Span]) -> int:
    """Return the number of frames. Raises BadVideoError for too many, or more than the file holds."""
    if b"stsz" not in tables:
        (count,) = struct.unpack(">8xI", data[tables[b"stz2"][0] : tables[b"stz2"][0] + 12])
        least = count
    else:
        start = tables[b"stsz"][0]
        size, count = struct.unpack(">4xII", data[start : start + 12])
        if count > MAX_FRAMES:
            raise too_many(count)
        least = size * count or sum(struct.unpack(f">{count}I", data[start + 12 : start + 12 + 4 * count]))
    if count > MAX_FRAMES:
        raise too_many(count)
    if least > len(data):
        raise BadVideoError("its frames are larger than the file: it is cut short or damaged")
    if not count:
        raise BadVideoError("it holds no frames")
    return int(count)


def _lasts(data: Buffer, span: Span, count: int) -> array[int]:
    """Return how many ticks each sample lasts, in the order of decoding."""
    found = array("q")
    for number, ticks in _runs(data, span, ">II"):
        if len(found) + number > count:
            break
        found.extend(array("q", [ticks]) * number)
    if len(found) != count:
        raise BadVideoError(f"it has {count:,} frames by one table, and another number by the next")
    return found


def _offsets(data: Buffer, span: Span, count: int) -> array[int]:
    """Return by how many ticks each sample is shown later than it is decoded; it may be earlier."""
    found = array("q")
    for number, ticks in _runs(data, span, ">Ii"):
        if len(found) + number > count:
            break
        found.extend(array("q", [ticks]) * number)
    # A table may end early; later samples are shown as they are decoded.
    return found + array("q", [0]) * (count - len(found))


def _runs(data: Buffer, span: Span, form: str) -> Iterator[tuple[int, int]]:
    (entries,) = struct.unpack(">4xI", data[span[0] : span[0] + 8])
    if 8 * entries > span[1] - span[0] - 8:
        raise BadVideoError("the table of its frames is cut short or damaged")
    yield from struct.iter_unpack(form, data[span[0] + 8 : span[0] + 8 + 8 * entries])


def _edit(data: Buffer, span: Span | None) -> tuple[int, int] | None:
    """Return where in the track, in its ticks, the one part that is shown begins, and how long it is in ticks
    of the movie (0: to the end); None where parts are joined, skipped or slowed down."""
    if span is None:
        return 0, 0
    long = data[span[0]] == 1
    form = ">QqI" if long else ">IiI"
    (entries,) = struct.unpack(">4xI", data[span[0] : span[0] + 8])
    at, size = span[0] + 8, struct.calcsize(form)
    edits = [struct.unpack(form, data[at + k * size : at + (k + 1) * size]) for k in range(min(entries, 3))]
    while edits and edits[0][1] == -1:
        del edits[0]  # shown later, from a blank on
    if entries > 2 or len(edits) != 1 or edits[0][2] != 0x10000 or edits[0][1] < 0:
        return None
    return int(edits[0][1]), int(edits[0][0])


def _all_shown(shown: list[int], edit: tuple[int, int], scale: int, movie_scale: int) -> bool:
    begin, length = edit
    if min(shown) < begin:
        return False
    # One tick of the movie is what its length is rounded to.
    return not length or (max(shown) - begin) * movie_scale < (length + 1) * scale
