"""What a video file says about itself: container, size and length, read without decoding a picture.

Rules: ISO base media (ISO/IEC 14496-12), QuickTime, Matroska and WebM (RFC 9559, RFC 8794), AVI (RIFF).
Only headers are looked at, so that a mapped file costs a few pages however large it is.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

Buffer: TypeAlias = "bytes | mmap.mmap"
Span: TypeAlias = tuple[int, int]

_STILL_BRANDS: Final = frozenset(
    {b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1", b"avif", b"avis", b"M4A ",
     b"M4B ", b"jp2 ", b"crx "}
)  # fmt: skip
_MAX_ELEMENTS: Final = 200_000
"""More boxes are damage or malice: a fragmented hour has a few thousand."""

_EBML, _DOC_TYPE, _SEGMENT, _CLUSTER = 0x1A45DFA3, 0x4282, 0x18538067, 0x1F43B675
_INFO, _TIME_SCALE, _DURATION = 0x1549A966, 0x2AD7B1, 0x4489
_TRACKS, _TRACK, _TRACK_TYPE, _VIDEO, _WIDTH, _HEIGHT = 0x1654AE6B, 0xAE, 0x83, 0xE0, 0xB0, 0xBA


class BadVideoError(ValueError):
    """The bytes are no sound video; the message is the reason alone."""


@dataclass(frozen=True, slots=True)
class VideoStructure:
    """What was read: size in pixels, length in seconds (None: the container does not say)."""

    mime: str
    width: int
    height: int
    duration_s: float | None


def sniff_video(data: Buffer) -> str | None:
    """Return the MIME type that the first bytes tell, or None when they are no video that we read."""
    start = data[:32]
    if start[4:8] == b"ftyp" and start[8:12] not in _STILL_BRANDS:
        if start[8:12] == b"qt  ":
            return "video/quicktime"
        return "video/3gpp" if start[8:11] == b"3gp" else "video/mp4"
    if start[4:8] in (b"moov", b"mdat", b"wide") and struct.unpack(">I", start[:4])[0] != 0:
        return "video/quicktime"  # the oldest files have no type box
    if start[:4] == b"RIFF" and start[8:12] == b"AVI ":
        return "video/x-msvideo"
    if start[:4] == b"\x1aE\xdf\xa3":
        return "video/webm" if b"webm" in data[:4096] else "video/x-matroska"
    return None


def read_video(data: Buffer) -> VideoStructure:
    """Return what a video is. Raises BadVideoError for a cut or damaged one, and for one without pictures."""
    mime = sniff_video(data)
    try:
        match mime:
            case "video/mp4" | "video/quicktime" | "video/3gpp":
                return _iso(data, mime)
            case "video/x-msvideo":
                return _avi(data)
            case "video/webm" | "video/x-matroska":
                return _matroska(data, mime)
            case _:
                raise BadVideoError("its bytes are no video that can be sent; convert it to MP4 (H.264)")
    except (struct.error, IndexError) as error:
        raise BadVideoError("the file is cut short inside its header") from error


def _iso(data: Buffer, mime: str) -> VideoStructure:
    found = dict(boxes(data, (0, len(data))))
    if b"moov" not in found:
        raise BadVideoError("it has no index (moov): it is cut short, or was never finished")
    if b"mdat" not in found:
        raise BadVideoError("it holds no pictures (mdat)")
    moov = list(boxes(data, found[b"moov"]))
    for track in (span for kind, span in moov if kind == b"trak"):
        parts = dict(boxes(data, track))
        handler = dict(boxes(data, parts[b"mdia"])).get(b"hdlr") if b"mdia" in parts else None
        if handler is not None and data[handler[0] + 8 : handler[0] + 12] == b"vide" and b"tkhd" in parts:
            width, height = struct.unpack(">II", data[parts[b"tkhd"][1] - 8 : parts[b"tkhd"][1]])
            return VideoStructure(mime, width >> 16, height >> 16, _iso_seconds(data, dict(moov)))
    raise BadVideoError("it has no video track")


def _iso_seconds(data: Buffer, moov: dict[bytes, Span]) -> float | None:
    if b"mvhd" not in moov:
        raise BadVideoError("its index has no header (mvhd)")
    start = moov[b"mvhd"][0]
    long = data[start] == 1
    first, form = (start + 20, ">IQ") if long else (start + 12, ">II")
    scale, units = struct.unpack(form, data[first : first + struct.calcsize(form)])
    if not units and b"mvex" in moov:
        extends = dict(boxes(data, moov[b"mvex"])).get(b"mehd")
        if extends is not None:
            start = extends[0]
            form = ">Q" if data[start] == 1 else ">I"
            (units,) = struct.unpack(form, data[start + 4 : start + 4 + struct.calcsize(form)])
    unknown = (1 << (64 if long else 32)) - 1
    return units / scale if scale and units and units != unknown else None


def boxes(data: Buffer, span: Span) -> Iterator[tuple[bytes, Span]]:
    """Yield the kind and the content of each box. Raises BadVideoError for one that leaves the span."""
    start, end = span
    for _ in range(_MAX_ELEMENTS):
        if end - start < 8:
            return
        size, kind = struct.unpack(">I4s", data[start : start + 8])
        head = 8
        if size == 1:
            head, (size,) = 16, struct.unpack(">Q", data[start + 8 : start + 16])
        elif size == 0:
            size = end - start
        if size < head or start + size > end:
            raise BadVideoError("the file is cut short or damaged: a part is larger than what is there")
        yield kind, (start + head, start + size)
        start += size
    raise BadVideoError(f"it has more than {_MAX_ELEMENTS:,} parts")


def _avi(data: Buffer) -> VideoStructure:
    (size,) = struct.unpack("<I", data[4:8])
    if size + 8 > len(data):
        raise BadVideoError("the AVI is cut short")
    if data[20:24] != b"hdrl" or data[24:28] != b"avih":
        raise BadVideoError("its AVI header is damaged")
    per_frame_us, frames = struct.unpack("<I12xI", data[32:52])
    width, height = struct.unpack("<II", data[64:72])
    seconds = per_frame_us * frames / 1_000_000
    return VideoStructure("video/x-msvideo", width, height, seconds or None)


def _matroska(data: Buffer, mime: str) -> VideoStructure:
    segment = dict(_elements(data, (0, len(data)))).get(_SEGMENT)
    if segment is None:
        raise BadVideoError("it has no segment: it is cut short")
    parts = dict(_elements(data, segment))
    if _CLUSTER not in parts:
        raise BadVideoError("it holds no pictures: it is cut short")
    for kind, span in _elements(data, parts.get(_TRACKS, (0, 0))):
        track = dict(_elements(data, span)) if kind == _TRACK else {}
        if _TRACK_TYPE in track and _VIDEO in track and _number(data, track[_TRACK_TYPE]) == 1:
            video = dict(_elements(data, track[_VIDEO]))
            width, height = (_number(data, video.get(name, (0, 0))) for name in (_WIDTH, _HEIGHT))
            return VideoStructure(mime, width, height, _matroska_seconds(data, parts.get(_INFO, (0, 0))))
    raise BadVideoError("it has no video track")


def _matroska_seconds(data: Buffer, span: Span) -> float | None:
    info = dict(_elements(data, span))
    if _DURATION not in info:
        return None
    start, end = info[_DURATION]
    (units,) = struct.unpack(">f" if end - start == 4 else ">d", data[start:end])
    scale_ns = _number(data, info[_TIME_SCALE]) if _TIME_SCALE in info else 1_000_000
    seconds = float(units) * scale_ns / 1e9
    return seconds if 0 < seconds < 1e7 else None


def _elements(data: Buffer, span: Span) -> Iterator[tuple[int, Span]]:
    """Yield the id and the content of each element, up to the first cluster: pictures come last."""
    start, end = span
    for _ in range(_MAX_ELEMENTS):
        if start >= end:
            return
        kind, start = _vint(data, start, keep_marker=True)
        size, start = _vint(data, start, keep_marker=False)
        if size is None:
            yield kind or 0, (start, end)
            return
        if kind == _CLUSTER:
            yield kind, (start, min(end, start + size))
            return
        if start + size > end:
            raise BadVideoError("the file is cut short or damaged: a part is larger than what is there")
        yield kind or 0, (start, start + size)
        start += size
    raise BadVideoError(f"it has more than {_MAX_ELEMENTS:,} parts")


def _vint(data: Buffer, start: int, *, keep_marker: bool) -> tuple[int | None, int]:
    """Return an EBML number and where it ends; None for the size "unknown", all of whose bits are set."""
    first = data[start]
    length = 9 - first.bit_length()
    if length > 8:
        raise BadVideoError("its header is damaged")
    raw = data[start : start + length]
    if len(raw) < length:
        raise BadVideoError("the file is cut short inside its header")
    value = int.from_bytes(raw, "big")
    if keep_marker:
        return value, start + length
    value &= (1 << 7 * length) - 1
    return (None if value == (1 << 7 * length) - 1 else value), start + length


def _number(data: Buffer, span: Span) -> int:
    return int.from_bytes(data[span[0] : min(span[1], span[0] + 8)], "big")
