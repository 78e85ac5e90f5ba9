"""Texts of figures: made printable, shortened to the room there is, and measured without a page.

Widths are those of DejaVu Sans, which matplotlib carries and which is wider than what pages are set in; so
what fits here fits there.
"""

from __future__ import annotations

import unicodedata
from functools import cache, lru_cache
from typing import Final

from matplotlib import get_data_path
from matplotlib.ft2font import FT2Font, LoadFlags

ELLIPSIS: Final = "\u2026"
_MOST: Final = 400
"""Characters of a text that are looked at: 200 at either end."""
_REPLACED: Final = "\ufffd"
_TURNING: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Marks that turn the order of what follows, which could make a name read as another."""
_UNKNOWN_EM: Final = 1.25
"""Width of what DejaVu Sans has no glyph for: 1 in most fonts, 1.2 in that of matplotlib's boxes."""


def fitted(text: str, width: float, size: float) -> str:
    """Return the text on one line, its middle left out where it is wider than `width` at that size.

    Both ends stay, since names of models differ there. Controls, halves of surrogates and marks that turn
    the order become U+FFFD, line breaks blanks.
    """
    cut = len(text) > _MOST
    head, tail = (text[: _MOST // 2], text[-_MOST // 2 :]) if cut else (text, "")
    head, tail = printable(head), printable(tail)
    if not cut and text_width(head, size) <= width:
        return head
    whole = head + tail
    starts, ends = (whole, whole) if not cut else (head, tail)
    room = width - text_width(ELLIPSIS, size)
    first = _prefix(starts, room * 0.6, size)
    last = _prefix(ends[::-1], room - text_width(first, size), size)[::-1]
    return f"{first.rstrip()}{ELLIPSIS}{last.lstrip()}"


def printable(text: str) -> str:
    """Return the text with nothing in it that a line of XML cannot hold or that hides what is read."""
    return "".join(map(_printable, text))


@lru_cache(maxsize=4096)
def text_width(text: str, size: float) -> float:
    """Return the width of a line at that size, both in the same unit."""
    return sum(map(_em, text)) * size


def _prefix(text: str, width: float, size: float) -> str:
    taken = 0.0
    for at, char in enumerate(text):
        taken += _em(char) * size
        if taken > width:
            return text[:at]
    return text


def _printable(char: str) -> str:
    if char.isascii() and char.isprintable():
        return char
    kind = unicodedata.category(char)
    if kind in ("Zl", "Zp") or char in "\t\n\r\x0b\x0c\x85":
        return " "
    if kind in ("Cc", "Cs") or char in _TURNING or ord(char) & 0xFFFE == 0xFFFE:
        return _REPLACED
    return char


@lru_cache(maxsize=4096)
def _em(char: str) -> float:
    font = _font()
    if font.get_char_index(ord(char)):
        glyph = font.load_char(ord(char), flags=LoadFlags.NO_HINTING | LoadFlags.NO_SCALE)
        return glyph.horiAdvance / font.units_per_EM
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0.0
    return _UNKNOWN_EM


@cache
def _font() -> FT2Font:
    return FT2Font(f"{get_data_path()}/fonts/ttf/DejaVuSans.ttf")
