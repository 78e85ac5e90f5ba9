"""The one JSON form that is hashed and stored."""

from __future__ import annotations

import hashlib
import io
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias, cast

PACK_LEVEL: Final = 6
"""Of zlib, for all that the store keeps."""

JSON: TypeAlias = "Mapping[str, JSON] | Sequence[JSON] | str | int | float | bool | None"

_LARGE: Final = 1_000_000
"""Packed bytes from which on they are unpacked in pieces, and the most that a piece has."""


def canonical_json(value: object) -> bytes:
    """Return sorted, ASCII, compact JSON in which 1.0 and 1 are the same number.

    Lone surrogates survive as escapes. Raises ValueError on NaN and infinities, TypeError on
    anything that is not JSON.
    """
    return _ENCODER.encode(_plain(value)).encode("ascii")


def sha256_hex(data: bytes) -> str:
    """Return the SHA-256 of bytes as 64 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def digest(value: object) -> str:
    """Return the SHA-256 of a value's canonical JSON."""
    return sha256_hex(canonical_json(value))


def pack(data: bytes) -> bytes:
    """Compress bytes for the store."""
    return zlib.compress(data, PACK_LEVEL)


def unpack(data: bytes) -> bytes:
    """Undo `pack`. Raises zlib.error for what is damaged or cut."""
    return zlib.decompress(data) if len(data) < _LARGE else _unpacked_in_pieces(data)


def _unpacked_in_pieces(data: bytes) -> bytes:
    """Return the same without the second copy that zlib makes of a long result at its end."""
    found = io.BytesIO()
    for piece in unpacked_pieces(data):
        found.write(piece)
    return found.getvalue()


def unpacked_pieces(data: bytes) -> Iterator[bytes]:
    """Undo `pack`, at most a million bytes at a time. Raises zlib.error for what is damaged or cut."""
    reader, source = zlib.decompressobj(), memoryview(data)
    for start in range(0, len(data), _LARGE):
        piece = reader.decompress(source[start : start + _LARGE], _LARGE)
        while piece:
            yield piece
            piece = reader.decompress(reader.unconsumed_tail, _LARGE)
    if not reader.eof:
        raise zlib.error("incomplete or truncated stream")


_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def _plain(value: object) -> object:
    kind = type(value)
    if kind is str or kind is int or value is None or kind is bool:
        return value
    if kind is dict or isinstance(value, Mapping):
        items: Mapping[object, object] = cast("Mapping[object, object]", value)
        return {key if type(key) is str else _key(key): _plain(item) for key, item in items.items()}
    match value:
        case float():
            return int(value) if value.is_integer() else value
        case str() | int():
            return value
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            raise TypeError(f"not JSON: {kind.__name__}")


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"object keys must be text, got {key!r}")
    return key
