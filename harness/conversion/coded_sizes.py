"""The size that a compressed picture tells itself: a decoder makes room for it, whatever the tags say."""

from __future__ import annotations

import struct

_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
"""Markers of JPEG that begin a frame (ITU-T T.81, table B.1)."""


def coded_size(head: bytes) -> tuple[int, int] | None:
    """Return (width, height) of a JPEG 2000 codestream or a JPEG picture, None where it is neither."""
    if head.startswith(b"\xff\x4f\xff\x51") and len(head) >= 24:
        right, bottom, left, top = struct.unpack(">4I", head[8:24])
        return right - left, bottom - top
    if head.startswith(b"\xff\xd8"):
        return _jpeg_size(head)
    return None


def _jpeg_size(head: bytes) -> tuple[int, int] | None:
    place = 2
    while place + 9 <= len(head) and head[place] == 0xFF:
        marker = head[place + 1]
        if marker == 0xFF:
            place += 1
            continue
        if marker in _FRAMES:
            height, width = struct.unpack(">HH", head[place + 5 : place + 9])
            return width, height
        place += 2 + int.from_bytes(head[place + 2 : place + 4], "big")
    return None
