"""What the bytes of a still image say about themselves, read without decoding a pixel.

Rules: PNG (W3C third edition), JPEG (ITU T.81), the WebP container specification, GIF89a.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import Final

from harness.foreign_files import what_it_is

_PNG_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_PNG_CRITICAL: Final = frozenset({b"IHDR", b"PLTE", b"IDAT", b"IEND"})
_PNG_END_BYTES: Final = 12


class BadImageError(ValueError):
    """The bytes are no sound still image; the message is the reason alone."""


@dataclass(frozen=True, slots=True)
class Structure:
    """What was read: size in pixels (0 x 0: only a decoder can tell), and whether the samples are
    plain 8-bit grey, palette or RGB, which every vision model reads alike.
    """

    mime: str
    width: int
    height: int
    plain: bool


def read_structure(data: bytes) -> Structure:
    """Return what the bytes are. Raises BadImageError for cut, damaged, moving or unknown ones."""
    mime = sniff(data)
    try:
        match mime:
            case "image/png":
                return _png(data)
            case "image/jpeg":
                return _jpeg(data)
            case "image/webp":
                return _webp(data)
            case "image/gif":
                return _gif(data)
            case "image/bmp" | "image/tiff":
                return Structure(mime, 0, 0, plain=False)
            case _:
                raise BadImageError(what_it_is(data))
    except (struct.error, IndexError) as error:
        raise BadImageError("the file is cut short inside its header") from error


def sniff(data: bytes) -> str | None:
    """Return the MIME type that the first bytes tell, or None when they tell none that we read."""
    if data.startswith(_PNG_SIGNATURE):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data.startswith(b"BM") and data[6:10] == b"\0\0\0\0":
        return "image/bmp"
    # TIFF and BigTIFF; a DICOM file may say in its preamble that it is a TIFF as well (PS3.10, 7.1).
    if data.startswith((b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")) and data[128:132] != b"DICM":
        return "image/tiff"
    return None


def _png(data: bytes) -> Structure:
    width, height, depth = struct.unpack(">IIB", data[16:25])
    if data[12:16] != b"IHDR" or not width or not height:
        raise BadImageError("its PNG header is damaged")
    position, pixels, frames = len(_PNG_SIGNATURE), 0, 1
    while data[position + 4 : position + 8] != b"IEND":
        length, kind = struct.unpack(">I4s", data[position : position + 8])
        end = position + 12 + length
        if end > len(data):
            raise BadImageError("the PNG is cut short")
        body = memoryview(data)[position + 4 : end - 4]
        if kind in _PNG_CRITICAL and zlib.crc32(body) != int.from_bytes(data[end - 4 : end], "big"):
            raise BadImageError("the PNG is damaged: a checksum is wrong")
        if kind == b"IDAT":
            pixels += length
        elif kind == b"acTL":
            frames = int.from_bytes(body[4:8], "big")
        position = end
        if position + _PNG_END_BYTES > len(data):
            raise BadImageError("the PNG is cut short: its end mark is missing")
    if not pixels:
        raise BadImageError("the PNG holds no pixels")
    _single(frames)
    return Structure("image/png", width, height, plain=depth <= 8)


def _jpeg(data: bytes) -> Structure:
    position, frame = 2, None
    while True:
        while data[position] == 0xFF and data[position + 1] == 0xFF:
            position += 1
        marker, kind = data[position], data[position + 1]
        if marker != 0xFF:
            raise BadImageError("the JPEG is damaged: its header does not lead to the pixels")
        if kind == 0xDA:
            break
        if kind == 0xD9:
            raise BadImageError("the JPEG ends before its pixels")
        if 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):
            frame = _jpeg_frame(kind, data[position + 4 : position + 10])
        position += 2 + int(struct.unpack(">H", data[position + 2 : position + 4])[0])
    if frame is None:
        raise BadImageError("the JPEG has no frame header")
    # An embedded thumbnail has an end mark of its own, but that lies before the scan starts.
    if data.rfind(b"\xff\xd9", position) < 0:
        raise BadImageError("the JPEG is cut short: its end mark is missing")
    return frame


def _jpeg_frame(kind: int, header: bytes) -> Structure:
    precision, height, width, components = struct.unpack(">BHHB", header)
    if kind > 0xC2 or precision != 8:
        raise BadImageError(
            "it is a lossless, arithmetic or 12-bit JPEG, which models do not read; convert it to PNG"
        )
    if not width or not height:
        raise BadImageError("its JPEG header is damaged")
    return Structure("image/jpeg", width, height, plain=components in (1, 3))


def _webp(data: bytes) -> Structure:
    if int.from_bytes(data[4:8], "little") + 8 > len(data):
        raise BadImageError("the WebP is cut short")
    kind = data[12:16]
    if kind == b"VP8X":
        if data[20] & 0b10:
            raise BadImageError("it is an animation; give one still image")
        width = 1 + int.from_bytes(data[24:27], "little")
        height = 1 + int.from_bytes(data[27:30], "little")
    elif kind == b"VP8 ":
        width, height = (size & 0x3FFF for size in struct.unpack("<HH", data[26:30]))
    elif kind == b"VP8L":
        bits = struct.unpack("<I", data[21:25])[0]
        width, height = 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    else:
        raise BadImageError("its WebP header is damaged")
    return Structure("image/webp", width, height, plain=True)


def _gif(data: bytes) -> Structure:
    width, height = struct.unpack("<HH", data[6:10])
    if not data.rstrip(b"\0").endswith(b";"):
        raise BadImageError("the GIF is cut short")
    return Structure("image/gif", width, height, plain=True)


def _single(frames: int) -> None:
    if frames > 1:
        raise BadImageError(f"it is an animation of {frames} frames; give one still image")
