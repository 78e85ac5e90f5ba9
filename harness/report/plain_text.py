"""Texts of anybody as one visible line, for formats in which a character can act instead of being seen."""

from __future__ import annotations

import re
from typing import Final

_BREAKS: Final = re.compile("[\t\n\r\x0b\x0c\x1c-\x1f\x85\u2028\u2029]+")
UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff\U000e0000-\U000e007f"
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0x10000, 0x110000, 0x10000))
    + "]"
)
"""Controls but tab and line feed, what is invisible or turns the order of what follows (the digits of the
next cells, say), halves of surrogates, and what is no character. Joiners are none: emoji and several scripts
are written with them.
"""


def visible(text: str) -> str:
    """Return a text on one line, in which nothing is unseen or turns the order of what follows.

    Line breaks and tabs become a blank; what else is `UNSEEN` is named: "[U+202E]".
    """
    if text.isascii() and text.isprintable():
        return text
    return UNSEEN.sub(lambda found: f"[U+{ord(found[0]):04X}]", _BREAKS.sub(" ", text))
