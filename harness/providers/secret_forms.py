"""In which forms a key may come back beside its plain one, and how most of one is found."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

MASK: Final = "[masked key]"
"""Stands where a key stood; needs no escape in JSON or HTML."""

LEAST_RUN: Final = 12
"""Fewest characters in a row that are masked: fewer are a vendor's prefix (`sk-ant-api03`) and no secret."""


@dataclass(frozen=True, slots=True)
class Form:
    """A key as bytes, in one encoding. A run of `least` bytes of it or more holds one of `blocks`."""

    whole: bytes
    least: int
    blocks: tuple[bytes, ...]


@lru_cache(maxsize=64)
def forms(secret: str) -> tuple[Form, ...]:
    """Return the forms of a secret: as it is, in base64 of any text around it, in hexadecimal."""
    raw = secret.encode("utf-8", "surrogateescape")
    cores = [_base64_core(raw, before) for before in range(3)]
    hexadecimal = raw.hex().encode("ascii")
    coded = [*cores, *(core.translate(_URL_SAFE) for core in cores), hexadecimal, hexadecimal.upper()]
    return (_form(raw, cut_anywhere=True), *(_form(one, cut_anywhere=False) for one in dict.fromkeys(coded)))


def mask_runs(data: bytes, form: Form) -> tuple[bytes, int]:
    """Return the bytes with every run of `form.least` bytes of a key or more masked, and their number."""
    hits = 0
    for block in form.blocks:
        offset, place = form.whole.index(block), data.find(block)
        while place >= 0:
            start, end = _run(data, form.whole, place, offset, len(block))
            if end - start < form.least:
                place = data.find(block, place + 1)
                continue
            data = data[:start] + MASK.encode("ascii") + data[end:]
            hits += 1
            place = data.find(block, start + len(MASK))
    return data, hits


_URL_SAFE: Final = bytes.maketrans(b"+/", b"-_")


def _base64_core(raw: bytes, before: int) -> bytes:
    """Return what base64 makes of a key after `before` other bytes, but for what it shares with others."""
    coded = base64.b64encode(b"\0" * before + raw)
    first = -(-before * 8 // 6)
    return coded[first : (before + len(raw)) * 8 // 6]


def _form(whole: bytes, *, cut_anywhere: bool) -> Form:
    """Return a form; of what is coded only the beginning is looked for, as what cuts it cuts its end."""
    least = max(LEAST_RUN, len(whole) // 2 + 1)
    size = min(least // 2 if cut_anywhere else least, len(whole))
    starts = range(0, len(whole) - size + 1, size) if cut_anywhere else (0,)
    return Form(whole, min(least, len(whole)), tuple(dict.fromkeys(whole[at : at + size] for at in starts)))


def _run(data: bytes, whole: bytes, place: int, offset: int, size: int) -> tuple[int, int]:
    """Return where the run around a block begins and ends, `offset` being the block's place in the key."""
    start, end = place, place + size
    while start > 0 and offset > 0 and data[start - 1] == whole[offset - 1]:
        start, offset = start - 1, offset - 1
    after = offset + end - start
    while end < len(data) and after < len(whole) and data[end] == whole[after]:
        end, after = end + 1, after + 1
    return start, end
