# ruff: noqa: SIM905
"""The sentences and words that readability is measured on: English as people and models write it.

Markdown and HTML are taken off, headings are left out (as Flesch 1979 asks), items of lists and rows of
tables are sentences of their own. docs/metrics.md lists the rules.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

_TAG: Final = re.compile(
    r"</?(?:b|i|u|em|strong|span|sub|sup|a|code|small|font)(?:\s[^<>]{0,200})?/?>", re.IGNORECASE
)
_BREAKING_TAG: Final = re.compile(
    r"</?(?:br|p|li|ul|ol|div|h[1-6]|hr|table|thead|tbody|tr|td|th)(?:\s[^<>]{0,200})?/?>", re.IGNORECASE
)
_LINK: Final = re.compile(r"!?\[([^\[\]\n]{0,500})\]\([^()\s]{0,2000}\)")
_ADDRESS: Final = re.compile(r"(?:https?://|www\.)[^\s]*[^\s.,;:!?)\]\"']")
_FENCE: Final = re.compile(r"\s*(?:```|~~~)")
_RULE: Final = re.compile(r"[\s|:*_=+-]*[-*_=|]{2}[\s|:*_=+-]*")
_QUOTE: Final = re.compile(r"\s*(?:>\s?)+")
_MARKED_HEADING: Final = re.compile(
    r"\s*#{1,6}\s|\s*(?P<mark>\*\*|__)(?:(?!(?P=mark)).)+?(?<![.!?])(?P=mark):?\s*$"
)
_ITEM: Final = re.compile(
    r"\s*(?:[-*+\u2022\u25aa\u25ab\u25cf\u25cb\u25e6\u2013\u2014]|\(?(?:\d{1,3}|[A-Za-z]|[ivx]{1,4})[.)])\s+(?=\S)"
)
_EMPHASIS: Final = re.compile(r"[*`]+|(?<![^\W_])_+|_+(?![^\W_])")
_COUNTED_IN_TEXT: Final = re.compile(r"(?<=[:;.!?]) +\(?\d{1,2}[.)] +(?=[A-Z])")
"""The numbers of a list that goes on within a line: `Findings: 1. A cyst. 2. A stone.`"""

_NO_SPACE: Final = re.compile(r"(?<=[a-z][a-z])([.!?])(?=[A-Z][a-z])")
_STOP: Final = re.compile(r"[.!?\u2026]+[\"'\u201d\u2019\u00bb)\]]*(?=\s|$)|[\u3002\uff01\uff1f]+")
_NEXT: Final = re.compile(r"[^\W_]")

_FARTHEST: Final = 100
"""Characters before a stop that are looked at."""

_NEVER_LAST: Final = frozenset("dr mr mrs ms prof vs e.g i.e cf approx ca viz incl resp st".split())
_BEFORE_NUMBER: Final = frozenset("no nos fig figs vol p pp ch sec tab eq ref refs".split())
_SELDOM_LAST: Final = frozenset(
    "etc al inc ltd jr sr dept min max hr hrs wk wks yr yrs mo mos ant post inf sup lat med mand esp jan feb "
    "mar apr jun jul aug sep sept oct nov dec".split()
)
_DOTTED: Final = re.compile(r"(?:[A-Za-z]\.)+[A-Za-z]")

_LETTERS: Final = "A-Za-z\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0370-\u03ff\u1e00-\u1eff"
_ATOM: Final = rf"[0-9{_LETTERS}]+(?:(?<=[0-9])[.,:/](?=[0-9])[0-9{_LETTERS}]+)*"
_WORD: Final = re.compile(
    rf"(?:[A-Za-z]\.)+[A-Za-z](?![0-9{_LETTERS}])|{_ATOM}(?:['\u2019\u2010\u2011-]{_ATOM})*"
)

MOST_WORDS_OF_A_HEADING: Final = 5
"""A line without a mark of punctuation at its end, or with a colon, is a heading up to so many words, if what
follows is no such line.
"""


def readable_sentences(text: str) -> list[list[str]]:
    """Return the words of each sentence, in order; a sentence without a word is none.

    Text that is nothing but headings is taken for sentences.
    """
    blocks = _blocks(text)
    running = [block for block in blocks if not block.heading]
    found = []
    for block in running or blocks:
        for sentence in _sentences(block.text):
            words = _WORD.findall(sentence)
            if words and not (len(words) == 1 and words[0].isdigit()):
                found.append(words)
    return found


class _Block:
    """Lines that belong together: a paragraph, an item, a heading."""

    def __init__(self, text: str, *, item: bool = False, heading: bool = False) -> None:
        self.text = text
        self.item = item
        self.heading = heading

    def looks_like_heading(self) -> bool:
        """Return whether it is short and ends as no sentence does."""
        words = len(_WORD.findall(self.text))
        ended = self.text.rstrip("\"'\u201d\u2019)]")[-1:] in tuple(".!?,;\u2026\u3002")
        return not self.item and not ended and 0 < words <= MOST_WORDS_OF_A_HEADING


def _blocks(text: str) -> list[_Block]:
    found: list[_Block] = []
    open_block: _Block | None = None
    for line in _lines(text):
        heading = _MARKED_HEADING.match(line) is not None
        item = None if heading else _ITEM.match(line)
        words = _EMPHASIS.sub("", line[item.end() :] if item else line.lstrip(" #")).strip()
        if not words:
            open_block = None
        elif heading or item:
            open_block = _Block(words, item=item is not None, heading=heading)
            found.append(open_block)
            open_block = None if heading else open_block
        elif open_block is not None and _goes_on(open_block.text, words):
            hyphenated = open_block.text[-1] == "-" and open_block.text[-2:-1].isalpha()
            open_block.text += words if hyphenated else f" {words}"
        else:
            open_block = _Block(words)
            found.append(open_block)
    for block, following in pairwise(found):
        block.heading |= block.looks_like_heading() and not (
            following.looks_like_heading() and not following.heading
        )
    return found


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of a text without markup; an empty one where a block ends."""
    text = html.unescape(_TAG.sub("", _BREAKING_TAG.sub("\n", text)))
    text = _ADDRESS.sub("", _LINK.sub(r"\1", text))
    for line in text.splitlines():
        line = _QUOTE.sub("", line, count=1) if line.lstrip().startswith(">") else line
        if _FENCE.match(line) or _RULE.fullmatch(line):
            yield ""
        elif line.lstrip().startswith("|"):
            yield from ("", line.replace("|", " ").strip(), "")
        else:
            yield line


def _goes_on(text: str, line: str) -> bool:
    """Return whether a line goes on with the sentence of the one before: it begins with no capital letter."""
    return text.endswith((",", "-")) or not line.lstrip("\"'(\u201c\u2018[")[:1].isupper()


def _sentences(text: str) -> Iterator[str]:
    text = _NO_SPACE.sub(r"\1 ", text)
    for part in _COUNTED_IN_TEXT.split(text):
        start = 0
        for stop in _STOP.finditer(part):
            if _ends(part, start, stop):
                yield part[start : stop.end()]
                start = stop.end()
        yield part[start:]


def _ends(text: str, start: int, stop: re.Match[str]) -> bool:
    """Return whether the sentence that began at `start` ends with this stop."""
    following = _NEXT.search(text, stop.end())
    mark = stop[0]
    if following is None or not mark.startswith((".", "\u2026")) or "!" in mark or "?" in mark:
        return True
    capital = following[0].isupper()
    if mark.startswith(("..", "\u2026")):
        return capital
    *before, last = text[max(start, stop.start() - _FARTHEST) : stop.start()].split() or [""]
    word = last.lstrip("([\"'\u201c\u2018")
    if word.lower() in _NEVER_LAST:
        return False
    if word.lower() in _BEFORE_NUMBER and following[0].isdigit():
        return False
    if len(word) == 1 and word.isalpha():
        initial = word.isupper() and (not before or before[-1].endswith("."))
        return capital and not initial
    if word.lower() in _SELDOM_LAST or _DOTTED.fullmatch(word):
        return capital
    return True
