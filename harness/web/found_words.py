"""Words that were searched for, marked where they stand in a page as the search finds them.

It looks for each word in the case-folded text. Folding may make one character two ("ß" is "ss"); where a word
begins or ends within such a one, all of it is marked.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from harness.report.page_text import PRINTED_LENGTH, Html, inline, shown

FIRST_ID: Final = "found"
"""The id of the first mark on a page."""

Span = tuple[int, int]
_BEFORE, _AFTER = 120, 240


@dataclass
class Finding:
    """Folded words that are marked on the page that is being made; `count`: places so far."""

    words: Sequence[str]
    count: int = 0


_FINDING: ContextVar[Finding | None] = ContextVar("finding", default=None)


@contextmanager
def finding(words: Sequence[str]) -> Iterator[Finding]:
    """Mark these words, case-folded, in what `found` puts into pages within the block."""
    found = Finding(words)
    before = _FINDING.set(found)
    try:
        yield found
    finally:
        _FINDING.reset(before)


def found(text: str) -> Html:
    """Return a whole text as `inline` does, with the words marked; the page's first mark can be linked to."""
    now = _FINDING.get()
    spans = spans_of(text, now.words) if now is not None else []
    if now is None or not spans:
        return inline(text)
    first = "" if now.count else FIRST_ID
    now.count += len(spans)
    return inline(text, spans, first)


def found_shown(text: str, limit: int = PRINTED_LENGTH) -> Html:
    """Return a text as `shown` does, with the words marked where it is not collapsed."""
    return found(text) if len(text) <= limit else shown(text, limit)


def places_found() -> int:
    """Return how many places were marked on the page so far."""
    now = _FINDING.get()
    return 0 if now is None else now.count


def spans_of(text: str, words: Sequence[str]) -> list[Span]:
    """Return where folded words stand in a text, as (start, end), in order, none of them overlapping."""
    hits = sorted(hit for word in words if word for hit in _hits(text.casefold(), word))
    if hits and not text.isascii():
        hits = _unfolded(text, hits)
    merged: list[Span] = []
    for start, end in hits:
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _hits(folded: str, word: str) -> Iterator[Span]:
    at = folded.find(word)
    while at >= 0:
        yield at, at + len(word)
        at = folded.find(word, at + len(word))


def _unfolded(text: str, hits: Sequence[Span]) -> list[Span]:
    """Return places of a folded text as places of the text: of the characters that they were made from."""
    ends = list(accumulate(len(char.casefold()) for char in text))
    if ends and ends[-1] == len(text):
        return list(hits)  # no character folds to none, so each became one
    return [(bisect_right(ends, start), bisect_left(ends, end) + 1) for start, end in hits]


def around_first(text: str, word: str, before: int = _BEFORE, after: int = _AFTER) -> str | None:
    """Return what stands around the first place of a folded word; None where it is nowhere."""
    spans = spans_of(text, [word])
    if not spans:
        return None
    start, end = max(0, spans[0][0] - before), spans[0][1] + after
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
