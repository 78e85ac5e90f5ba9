"""What may stand around an answer's sentence without being part of it, and what ends the reading.

Harmless: reasoning between think tags, white space, byte-order marks, marks of direction and of zero width,
markdown emphasis, one bullet, quotes around the whole, full-width forms of ASCII. Time is linear in the
text.
"""

from __future__ import annotations

import re
from typing import Final

from harness.answers.thinking import OPENING, after_last_closing, without_thinking
from harness.benchmarks.pandent.answers.unreadable import Unreadable

MAX_CHARS: Final = 2000
"""Longest text that is read as a sentence, in characters: all 32 teeth spelled out need half of it."""

_OPENING: Final = re.compile(OPENING, re.IGNORECASE)
_LINE_ENDS: Final = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_CHARACTERS: Final = {
    **{ord(sign): "\n" for sign in _LINE_ENDS},
    **dict.fromkeys([0x09, 0xA0, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000], " "),
    **dict.fromkeys(map(ord, "\ufeff\u200b\u200c\u200d\u2060\u200e\u200f\u061c\xad"), None),
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2212\ufe63"), "-"),
    **dict.fromkeys(map(ord, "\u2014\u2015"), "\u2014"),
    **dict.fromkeys(map(ord, "\u2018\u2019\u02bc"), "'"),
    **dict.fromkeys(map(ord, "\u201c\u201d\u201e\xab\xbb"), '"'),
    **{code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},
}
_EMPHASIS: Final = re.compile(r"[*_`]+")
_BULLET: Final = re.compile(r"[ ]*(?:[-*>\u2022]|#{1,6})[ ]+(?=[^\d\s])")
_SENTENCE_END: Final = re.compile(r"[.!](?=\s|$)|\n")
_OPEN_END: Final = re.compile(r"\.\.|\u2026")


def sentences(text: str) -> list[str]:
    """Return the sentences of an answer in lower case, without what is around them; each once, in order.

    Raises Unreadable for an answer that shows nothing, never closes its reasoning, is too long, or asks.
    """
    plain = _outside_reasoning(text).strip().translate(_CHARACTERS).strip()
    if len(plain) > MAX_CHARS:
        raise Unreadable("too_long")
    plain = _unwrapped("\n".join(map(_unwrapped, plain.split("\n"))))
    if "?" in plain:
        raise Unreadable("question")
    if _OPEN_END.search(plain):
        raise Unreadable("cut_off")
    found = [part.strip().lower() for part in _SENTENCE_END.split(plain)]
    if not any(found):
        raise Unreadable("empty")
    return list(dict.fromkeys(part for part in found if part))


def _outside_reasoning(text: str) -> str:
    tail = after_last_closing(text)
    if _OPENING.search(text if tail is None else tail):
        raise Unreadable("unclosed_reasoning")
    return text if tail is None else without_thinking(text)


def _unwrapped(text: str) -> str:
    """Return a line less one bullet, markdown emphasis that is paired, and quotes around the whole."""
    plain = _BULLET.sub("", text, count=1) if _BULLET.match(text) else text
    if all(plain.count(sign) % 2 == 0 for sign in "*_`"):
        plain = _EMPHASIS.sub(_inside_word, plain)
    plain = plain.strip()
    if len(plain) > 1 and plain[0] == plain[-1] and plain[0] in "\"'":
        plain = plain[1:-1]
    return plain.strip()


def _inside_word(signs: re.Match[str]) -> str:
    before = signs.string[signs.start() - 1 : signs.start()] if signs.start() else ""
    after = signs.string[signs.end() : signs.end() + 1]
    return signs.group() if before.isalnum() and after.isalnum() else ""
