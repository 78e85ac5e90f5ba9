# ruff: noqa: RUF001
"""A text as eyes read it: without marks and invisible characters, in Latin letters, each with its place.

A name is found in several views of a text. `as it stands`; `read`: look-alike letters of other scripts,
accents, letters of full width, character references and escapes as the plain letters that they are read as;
`whole`: without what is not seen; `bare`: without the marks of Markdown, HTML and LaTeX inside words too.
What is found in any view is a span of the text itself.
"""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final, NamedTuple

HIDDEN: Final = "[name hidden]"

_LOOK_ALIKE: Final = str.maketrans(
    # Cyrillic, Armenian, Greek, small capitals, others (Unicode's confusables of single Latin letters)
    "аԁеһіјкӏмоԛгѕтԝхуѵсрАВЕНІЈКМОРЅТԜХУСԚԌԍЗ"
    "ϲϹϳօսհցո"
    "αεικνορτυχγωΑΒΕΖΗΙΚΜΝΟΡΤΥΧ"
    "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢıȷɑɡ",
    "adehijklmoqrstwxyvcpABEHIJKMOPSTWXYCQGg3cCjouhgn"
    "aeikvoptuxywABEZHIKMNOPTYXABCDEFGHIJKLMNOPRSTUVWYZijag",
)
_BLOCKS: Final = ((0x1F150, 0x1F169), (0x1F170, 0x1F189), (0x1F1E6, 0x1F1FF))
"""Blocks of the alphabet in circles, squares and flags, which no normalisation turns into letters."""
_MINUS: Final = "\u2212"
_FILLERS: Final = "\u115f\u1160\u2800\u3164\uffa0"
_GAP: Final = "\ufffc"
"""In views stands for what was hidden already: no name goes across it."""

_INLINE: Final = (
    "abbr|a|big|b|code|del|em|font|ins|i|kbd|mark|small|span|strike|strong|sub|sup|s|tt|u|var|wbr"
)
_ODD: Final = re.compile(
    rf"(?P<hidden>{re.escape(HIDDEN)})"
    r"|(?P<entity>&(?:\#[0-9]{1,7}|\#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});)"
    r"|(?P<unicode>\\u[0-9a-fA-F]{4})"
    r"|(?P<mark>\\(?:text|math|emph)[a-z]{0,2}\{"
    rf"|</?(?i:{_INLINE})(?:\s[^<>]{{0,300}})?/?>|<!--[^<>]{{0,300}}-->"
    r"|\]\([^()\s]{0,500}\)|(?<=[a-z])-\r?\n[ \t]{0,40}(?=[a-z])"
    rf"|[*`~^_{{}}$\]\"\u201c\u201d\u201e\u00ab\u00bb\u300c\u300d]+|\[(?!{re.escape(HIDDEN[1:])})(?=[A-Za-z])|==+|\|\|+)"
    r"|(?P<blank>\\[nrt]|%(?:20|2[dDfF]|5[fF]))"
    r"|(?P<escaped>\\[!-/:-@\[-`{-~])"
    r"|(?P<letters>[^\x00-\x7f\u3000-\u3002\u4e00-\u9fff]+|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]+)"
)


class _Piece(NamedTuple):
    """A piece of a text that is read as something else: how, without what is not seen, and bare."""

    start: int
    end: int
    read: str
    whole: str
    bare: str


class View:
    """A text in one view. `text` is searched; `span` leads back to the text that it was made of."""

    def __init__(self, text: str, pieces: Sequence[tuple[int, int, str]]) -> None:
        parts: list[str] = []
        self._starts: list[int] = []
        self._spans: list[tuple[int, int, bool]] = []
        at = length = 0
        for start, end, read in (*pieces, (len(text), len(text), "")):
            for begin, stop, part in ((at, start, text[at:start]), (start, end, read)):
                if part:
                    self._starts.append(length)
                    self._spans.append((begin, stop, len(part) == stop - begin))
                    parts.append(part)
                    length += len(part)
            at = end
        self.text = "".join(parts)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return where in the text it was made of the characters from `start` up to `end` stand."""
        return self._place(start)[0], self._place(end - 1)[1]

    def _place(self, at: int) -> tuple[int, int]:
        number = bisect_right(self._starts, at) - 1
        begin, stop, alike = self._spans[number]
        if not alike:
            return begin, stop
        place = begin + at - self._starts[number]
        return place, place + 1


def views(text: str) -> Sequence[View]:
    """Return the different views of a text, in the order of the module's words; one where all are alike."""
    pieces = list(_pieces(text))
    if not pieces:
        return (View(text, ()),)
    found = [View(text, [(one.start, one.end, one.read) for one in pieces if one.read == _GAP])]
    for read in (
        [one.read for one in pieces], [one.whole for one in pieces], [one.bare for one in pieces],
    ):  # fmt: skip
        made = View(text, [(one.start, one.end, how) for one, how in zip(pieces, read, strict=True)])
        if all(made.text != other.text for other in found):
            found.append(made)
    return found


def unseen(char: str) -> bool:
    """Tell whether a character is not seen where it stands."""
    if char in _FILLERS:
        return True
    return unicodedata.category(char) in {"Cf", "Mn", "Me", "Cc"} and char not in "\t\n\r"


def _pieces(text: str) -> Iterator[_Piece]:
    for match in _ODD.finditer(text):
        start, end, found = match.start(), match.end(), match.group()
        match match.lastgroup:
            case "hidden":
                yield _Piece(start, end, _GAP, _GAP, _GAP)
            case "entity":
                yield _said(start, end, html.unescape(found))
            case "unicode":
                yield _said(start, end, chr(int(found[2:], 16)))
            case "blank":
                yield _Piece(start, end, " ", " ", " ")
            case "mark":
                yield _Piece(start, end, found, found, "")
            case "escaped":
                yield _Piece(start, end, found[1], found[1], "" if found[1] in "*`~^_{}$[]\"" else found[1])
            case _:
                yield from _letters(start, end, found)


def _said(start: int, end: int, said: str) -> _Piece:
    """Return a character reference or escape as the characters that it stands for."""
    whole = "".join("" if unseen(char) else _plain_letter(char) for char in said)
    return _Piece(start, end, whole or said, whole, "" if whole in {"*", "`", "~", "^", "_", '"'} else whole)


def _letters(start: int, end: int, found: str) -> Iterator[_Piece]:
    plain = ["" if unseen(char) else _plain_letter(char) for char in found]
    whole = "".join(plain)
    if all(len(one) == 1 for one in plain):
        if whole != found:
            yield _Piece(start, end, whole, whole, whole)
        return
    for place, (char, one) in enumerate(zip(found, plain, strict=True), start):
        if char != one:
            yield _Piece(place, place + 1, one or char, one, one)


@cache
def _plain_letter(char: str) -> str:
    """Return a character as it is read: without accents, of usual width, in Latin letters where it can be."""
    if char == _MINUS:
        return "-"
    for first, last in _BLOCKS:
        if first <= ord(char) <= last:
            return chr(ord("A") + ord(char) - first)
    letter, *accents = list(unicodedata.normalize("NFKD", char.translate(_LOOK_ALIKE)).translate(_LOOK_ALIKE))
    if letter.isascii() and letter.isalpha() and all(unicodedata.category(one) == "Mn" for one in accents):
        return letter
    return unicodedata.normalize("NFKC", char)
