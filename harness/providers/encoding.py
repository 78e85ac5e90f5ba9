"""The bytes of a request body, and the masking of keys in bytes that come back."""

from __future__ import annotations

import binascii
import json
import secrets as random_secrets
from collections.abc import Iterable, Mapping
from urllib.parse import quote

from harness.messages import MediaSlot, WireRequest, WireValue

MASK = "[masked key]"
"""Stands where a key stood; needs no escape in JSON or HTML."""

MIN_SECRET_LENGTH = 8
"""Shorter "keys" (EMPTY, none, local) are words that an answer may hold: masking them would change it."""


def encode_body(wire: WireRequest, media_bytes: Mapping[tuple[str, str], bytes]) -> bytes:
    """Return the JSON to be sent: body and transport fields, each medium as base64 text in its slot.

    `media_bytes` maps (source sha256, recipe) to the bytes to be sent. ASCII with escapes, so that lone
    surrogates are legal. Raises KeyError for a medium that is not given, ValueError for NaN, and for a
    transport field that would overwrite a body field.
    """
    token = random_secrets.token_hex(16)
    slots: list[MediaSlot] = []

    def stand_in(value: object) -> object:
        if isinstance(value, MediaSlot):
            slots.append(value)
            return token
        if isinstance(value, Mapping):
            return dict(value)
        raise TypeError(f"not JSON: {type(value).__name__}")

    text = json.dumps(
        _merged(wire.body, wire.transport), default=stand_in, separators=(",", ":"), allow_nan=False
    )
    around = text.encode("ascii").split(f'"{token}"'.encode("ascii"))
    pieces = [around[0]]
    for slot, after in zip(slots, around[1:], strict=True):
        pieces += _string(slot, media_bytes[slot.media.sha256, slot.recipe])
        pieces.append(after)
    return b"".join(pieces)


def mask_secrets(data: bytes, secrets: Iterable[str]) -> tuple[bytes, bool]:
    """Return the bytes with each secret replaced by `MASK`, and whether any was found.

    Also finds a secret as JSON text and percent-encoded. Secrets shorter than `MIN_SECRET_LENGTH` are left.
    """
    found = False
    for spelling in _spellings(secrets):
        if spelling in data:
            data, found = data.replace(spelling, MASK.encode("ascii")), True
    return data, found


def mask_headers(headers: Mapping[str, str], secrets: Iterable[str]) -> tuple[dict[str, str], bool]:
    """Return the headers with each secret in their values replaced, and whether any was found."""
    known, masked, found = tuple(secrets), {}, False
    for name, value in headers.items():
        data, hit = mask_secrets(value.encode("utf-8", "surrogateescape"), known)
        masked[name] = data.decode("utf-8", "surrogateescape")
        found = found or hit
    return masked, found


def _merged(body: Mapping[str, WireValue], extra: Mapping[str, WireValue]) -> dict[str, WireValue]:
    merged = dict(body)
    for name, value in extra.items():
        present = merged.get(name)
        if name not in merged:
            merged[name] = value
        elif isinstance(present, Mapping) and isinstance(value, Mapping):
            merged[name] = _merged(present, value)
        else:
            raise ValueError(f"transport field {name!r} would overwrite a body field")
    return merged


def _string(slot: MediaSlot, data: bytes) -> list[bytes]:
    prefix = json.dumps(slot.prefix)[:-1].encode("ascii")
    return [prefix, binascii.b2a_base64(data, newline=False), b'"']


def _spellings(secrets: Iterable[str]) -> list[bytes]:
    spellings: set[str] = set()
    for secret in secrets:
        plain = secret.strip()
        if len(plain) < MIN_SECRET_LENGTH:
            continue
        escaped = json.dumps(plain)[1:-1]
        spellings |= {plain, escaped, escaped.replace("/", "\\/"), quote(plain, safe="")}
    return [item.encode("utf-8", "surrogateescape") for item in sorted(spellings, key=len, reverse=True)]
