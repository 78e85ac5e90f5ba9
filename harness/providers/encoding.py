"""The bytes of a request body, and the masking of keys in bytes that come back."""

from __future__ import annotations

import binascii
import json
import re
import secrets as random_secrets
from collections.abc import Iterable, Mapping
from functools import lru_cache

from harness.messages import MediaSlot, WireRequest, WireValue
from harness.providers.secret_forms import MASK, forms, mask_runs

MIN_SECRET_LENGTH = 8
"""Shorter "keys" (EMPTY, none, local) are words that an answer may hold: masking them would change it."""


def encode_body(
    wire: WireRequest, media_bytes: Mapping[tuple[str, str], bytes | tuple[bytes, ...]]
) -> bytes:
    """Return the JSON to be sent: body and transport fields, each medium as base64 text in its slot.

    `media_bytes` maps (source sha256, recipe) to the bytes to be sent; several, the frames of a video, go as
    texts with commas between. ASCII with escapes, so that lone surrogates are legal. Raises KeyError for a
    medium that is not given, ValueError for NaN, and for a transport field that would overwrite a body field.
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

    Finds a secret as it is, with any of its characters escaped (JSON, percent, HTML), in base64 of whatever
    it stands in (a Basic authorization, a whole request) and in hexadecimal; and more than half of one that
    was cut or masked by others in part. What is no secret by `is_secret` is left.
    """
    found = 0
    for secret in sorted({secret.strip() for secret in secrets}, key=len, reverse=True):
        if is_secret(secret) and _may_hold(data, secret):
            data, hits = _spelling(secret).subn(MASK.encode("ascii"), data)
            found += hits
            for form in forms(secret):
                data, hits = mask_runs(data, form)
                found += hits
    return data, bool(found)


def mask_headers(headers: Mapping[str, str], secrets: Iterable[str]) -> tuple[dict[str, str], bool]:
    """Return the headers with each secret in their names and values replaced, and whether any was found."""
    known = [secret for secret in secrets if is_secret(secret)]
    values = "\n".join(headers.values()).encode("utf-8", "surrogateescape") if known else b""
    names = "\n".join(headers) if known else ""
    if not any(
        _may_hold(values, secret.strip()) or secret.strip().casefold() in names for secret in known
    ):
        return dict(headers), False
    masked, found = {}, False
    for name, value in headers.items():
        shown, in_name = _mask_name(name, known)
        data, hit = mask_secrets(value.encode("utf-8", "surrogateescape"), known)
        masked[shown] = data.decode("utf-8", "surrogateescape")
        found = found or hit or in_name
    return masked, found


def _mask_name(name: str, secrets: Iterable[str]) -> tuple[str, bool]:
    """Mask a header's name, in which letters have lost their case."""
    for secret in secrets:
        if len(name) >= MIN_SECRET_LENGTH and is_secret(secret) and secret.strip().casefold() in name:
            return name.replace(secret.strip().casefold(), MASK), True
    return name, False


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


def _string(slot: MediaSlot, data: bytes | tuple[bytes, ...]) -> list[bytes]:
    prefix = json.dumps(slot.prefix)[:-1].encode("ascii")
    each = (data,) if isinstance(data, bytes) else data
    texts = [(b",", binascii.b2a_base64(one, newline=False)) for one in each]
    return [prefix, *[piece for text in texts for piece in text][1:], b'"']


def is_secret(value: str) -> bool:
    """Tell whether a key is worth masking: words that answers hold (EMPTY, not-needed) are no secrets."""
    secret = value.strip()
    return len(secret) >= MIN_SECRET_LENGTH and (len(secret) >= 16 or any(map(str.isdigit, secret)))


def _may_hold(data: bytes, secret: str) -> bool:
    """Rule out most bodies cheaply: by what they hold as they are, and with all escapes undone."""
    if any(block in data for form in forms(secret) for block in form.blocks):
        return True
    if not any(mark in data for mark in (b"\\u", b"%", b"&#", b"\\\\", b"\\/")):
        return False
    raw = secret.encode("utf-8", "surrogateescape")
    return raw.replace(b"\\", b"") in _ESCAPED.sub(_unescaped, data).replace(b"\\", b"")


_ESCAPED = re.compile(
    rb"\\u([0-9a-fA-F]{4})|%([0-9a-fA-F]{2})|&#0{0,4}([0-9]{1,5});|&#[xX]0{0,4}([0-9a-fA-F]{1,4});"
)


def _unescaped(found: re.Match[bytes]) -> bytes:
    short, percent, decimal, hexadecimal = found.groups()
    if percent is not None:
        return bytes([int(percent, 16)])
    code = int(decimal) if decimal is not None else int(short or hexadecimal, 16)
    return chr(code).encode("utf-8", "surrogatepass") if code < 0x110000 else b""


@lru_cache(maxsize=64)
def _spelling(secret: str) -> re.Pattern[bytes]:
    return re.compile(b"".join(_character(character) for character in secret))


def _character(character: str) -> bytes:
    """Return a pattern for one character as it is or escaped, in the ways that servers do."""
    raw = character.encode("utf-8", "surrogateescape")
    code = ord(character)
    ways = [
        rb"\\{0,4}" + re.escape(raw),
        rb"\\{1,4}u(?i:%04x)" % code,
        b"".join(rb"%%(?i:%02x)" % byte for byte in raw),
        rb"&#0{0,4}%d;" % code,
        rb"&#[xX]0{0,4}(?i:%x);" % code,
    ]
    return rb"(?:" + b"|".join(ways) + rb")"
