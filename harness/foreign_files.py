"""What a file is that is no image which can be sent, and what to do about it.

Rules: DICOM (PS3.10, 7.1: "DICM" after a preamble of 128 bytes; PS3.5, 7.1 for those without one), NIfTI-1
and NIfTI-2 (header sizes 348 and 540, `magic` at 344 and 4), the signatures of the other formats.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final

_TO_PNG: Final = "convert it to PNG"
_BY_CONVERT: Final = "make an image of it by `harness data convert`"
_UNPACK: Final = "unpack it"
_DOWNLOAD: Final = "download the file again"
_DECODE: Final = "decode it into a file of bytes"

_SIGNATURES: Final = (
    (128, b"DICM", "a DICOM file", _BY_CONVERT),
    (0, b"%PDF", "a PDF file", _TO_PNG),
    (0, b"PK\x03\x04", "a zip file", _UNPACK),
    (4, b"ftyp", "a HEIC, AVIF or video file", _TO_PNG),
    (4, b"jP  ", "a JPEG 2000 file", _TO_PNG),
    (0, b"\xff\x4f\xff\x51", "a JPEG 2000 file", _TO_PNG),
    (4, b"JXL ", "a JPEG XL file", _TO_PNG),
    (0, b"\xff\x0a", "a JPEG XL file", _TO_PNG),
    (0, b"8BPS", "a Photoshop file", _TO_PNG),
    (0, b"\x93NUMPY", "a NumPy array", _TO_PNG),
    (0, b"NRRD", "an NRRD volume", _TO_PNG),
    (0, b"ObjectType = ", "a MetaImage volume", _TO_PNG),
    (0, b"version https://git-lfs", "a Git LFS pointer, not the file itself", "fetch it with `git lfs pull`"),
)
_WORDS: Final = (
    (b"<!doctype html", "a web page", _DOWNLOAD),
    (b"<html", "a web page", _DOWNLOAD),
    (b"<svg", "an SVG file", _TO_PNG),
    (b"data:image/", "an image as base64 text", _DECODE),
    (b"/9j/", "an image as base64 text", _DECODE),
    (b"ivborw0kggo", "an image as base64 text", _DECODE),
)
"""How texts begin, in lower case, after blanks and a byte order mark."""
_BLANKS: Final = b" \t\r\n"
_LOOKED_AT: Final = 1024


def what_it_is(data: bytes) -> str:
    """Return why the bytes of a file are no image that can be sent, and what to do, joined by "; "."""
    if not data:
        return "the file is empty; replace the file"
    what, mend = _named(data) or ("", _TO_PNG)
    if not what:
        return f"its bytes are no image that can be sent; {mend}"
    return f"it is {what}; {mend}"


def _named(data: bytes) -> tuple[str, str] | None:
    for offset, magic, what, mend in _SIGNATURES:
        if data[offset : offset + len(magic)] == magic:
            return what, mend
    if _is_nifti(data):
        return "a NIfTI volume", _BY_CONVERT
    if data.startswith(b"\x1f\x8b"):
        packed = _is_nifti(_unpacked(data))
        return ("a NIfTI volume", _BY_CONVERT) if packed else ("a gzip file", _UNPACK)
    if _is_bare_dicom(data):
        return "a DICOM file without its preamble", _BY_CONVERT
    return _text(data[:_LOOKED_AT])


def _is_nifti(data: bytes) -> bool:
    if data[344:348] in (b"n+1\0", b"ni1\0"):
        return 348 in (*struct.unpack("<i", data[:4]), *struct.unpack(">i", data[:4]))
    return data[4:8] in (b"n+2\0", b"ni2\0")


def _unpacked(data: bytes) -> bytes:
    """Return the start of what a gzip file holds, as far as it can be read."""
    try:
        return zlib.decompressobj(31).decompress(data[:65_536], 540)
    except zlib.error:
        return b""


def _is_bare_dicom(data: bytes) -> bool:
    """Tell whether bytes begin with an element of group 2 or 8: with its type (VR) or at once a length."""
    if data[:2] not in (b"\2\0", b"\x08\0") or data[3:4] != b"\0":
        return False
    kind = data[4:6]
    return (kind.isalpha() and kind.isupper()) or (data[2] in (0, 5, 8, 22) and data[5:8] == b"\0\0\0")


def _text(start: bytes) -> tuple[str, str] | None:
    begin = start.removeprefix(b"\xef\xbb\xbf").lstrip(_BLANKS).lower()
    for word, what, mend in _WORDS:
        if begin.startswith(word):
            return what, mend
    if begin.startswith(b"<?xml"):
        return ("an SVG file", _TO_PNG) if b"<svg" in begin else ("an XML text", _DOWNLOAD)
    if all(byte >= 32 or byte in _BLANKS for byte in start) and b"\x7f" not in start and start.isascii():
        return "text, and no image that can be sent", "replace the file"
    return None
