"""Videos made by hand, box by box: containers that are sound, around pictures that nobody decodes."""

from __future__ import annotations

import struct


def box(kind: bytes, *content: bytes) -> bytes:
    """Return an ISO base media box."""
    data = b"".join(content)
    return struct.pack(">I4s", 8 + len(data), kind) + data


def large_box(kind: bytes, *content: bytes) -> bytes:
    """Return the same with a 64-bit size."""
    data = b"".join(content)
    return struct.pack(">I4sQ", 1, kind, 16 + len(data)) + data


def track(handler: bytes = b"vide", size: tuple[int, int] = (64, 48)) -> bytes:
    """Return a track of the kind, with its size in pixels."""
    header = bytes(76) + struct.pack(">II", size[0] << 16, size[1] << 16)
    return box(b"trak", box(b"tkhd", header), box(b"mdia", box(b"hdlr", bytes(8) + handler + bytes(12))))


def mp4(
    *,
    brand: bytes = b"isom",
    size: tuple[int, int] = (64, 48),
    units: int = 1200,
    scale: int = 600,
    pictures: bytes = b"pictures",
    tracks: bytes | None = None,
    more: bytes = b"",
    index_first: bool = False,
    long: bool = False,
) -> bytes:
    """Return an MP4 of `units` / `scale` seconds."""
    times = struct.pack(">QQIQ", 0, 0, scale, units) if long else struct.pack(">IIII", 0, 0, scale, units)
    movie_header = box(b"mvhd", bytes([int(long), 0, 0, 0]), times, bytes(80))
    made = track(b"soun") + track(size=size) if tracks is None else tracks
    moov, mdat = box(b"moov", movie_header, made, more), box(b"mdat", pictures)
    return box(b"ftyp", brand, bytes(4), b"mp42") + (moov + mdat if index_first else mdat + moov)


def fragmented(units: int) -> bytes:
    """Return an MP4 in fragments, whose length stands in its extension header."""
    extends = box(b"mvex", box(b"mehd", bytes(4), struct.pack(">I", units)))
    return mp4(units=0, more=extends) + box(b"moof", b"x") + box(b"mdat", b"y")


def element(kind: int, content: bytes, *, unknown: bool = False) -> bytes:
    """Return an EBML element; `unknown`: its size is left open, as in a live recording."""
    name = kind.to_bytes((kind.bit_length() + 7) // 8, "big")
    size = b"\x01" + b"\xff" * 7 if unknown else (len(content) | 1 << 56).to_bytes(8, "big")
    return name + size + content


def matroska(
    doc_type: bytes = b"webm", *, seconds: float = 3.0, unknown: bool = False, video: bool = True
) -> bytes:
    """Return a WebM or Matroska file."""
    info = element(0x2AD7B1, (1_000_000).to_bytes(3, "big"))
    info += element(0x4489, struct.pack(">d", seconds * 1e3))
    pixels = element(0xB0, b"\x01\x40") + element(0xBA, b"\xf0")
    kind = element(0x83, b"\x01" if video else b"\x02")
    tracks = element(0xAE, kind + (element(0xE0, pixels) if video else b""))
    cluster = element(0x1F43B675, b"pictures", unknown=unknown)
    segment = element(0x1549A966, info) + element(0x1654AE6B, tracks) + cluster
    return element(0x1A45DFA3, element(0x4282, doc_type)) + element(0x18538067, segment, unknown=unknown)


def avi(frames: int = 50, per_frame_us: int = 40_000, size: tuple[int, int] = (32, 24)) -> bytes:
    """Return an AVI file."""
    header = struct.pack("<4I", per_frame_us, 0, 0, 0) + struct.pack("<4I", frames, 0, 1, 0)
    header += struct.pack("<2I", *size) + bytes(16)
    listed = b"hdrl" + b"avih" + struct.pack("<I", len(header)) + header
    body = b"AVI LIST" + struct.pack("<I", len(listed)) + listed + b"LIST\x04\0\0\0movi"
    return b"RIFF" + struct.pack("<I", len(body)) + body
