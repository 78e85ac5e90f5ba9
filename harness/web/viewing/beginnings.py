"""Beginnings of long texts, so that a page stays small whatever somebody wrote; values as readable text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.canonical import JSON
from harness.report.plain_text import UNSEEN
from harness.web.found_words import around_first

MOST: Final = 4_000
"""Characters of one text that a page shows."""

_UNSEEN_SHARE: Final = 20
"""One in so many characters may be one that is shown as a mark, which takes ten times the room."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """The beginning of a text; `total` characters are the whole of it.

    `further`: what stands around the first place of each word looked for that is none of the beginning's.
    """

    text: str
    total: int
    further: Sequence[str] = ()

    @property
    def is_whole(self) -> bool:
        """True if nothing is left out."""
        return len(self.text) == self.total


def beginning(text: str, most: int = MOST, words: Sequence[str] = ()) -> Beginning:
    """Return at most so many characters of a text; fewer where many of them are shown as marks.

    `words`: case-folded ones, whose first places are to be seen too, wherever they are.
    """
    found = text[:most]
    if len(UNSEEN.findall(found)) > most // _UNSEEN_SHARE:
        found = text[: most // 10]
    further: list[str] = []
    if words and len(found) < len(text):
        for word in words:
            if not any(word in one.casefold() for one in (found, *further)):
                further += [one for one in [around_first(text, word)] if one is not None]
    return Beginning(found, len(text), tuple(further))


def one_line(text: str, most: int = 1_000) -> str:
    """Return a text in one line, cut where it is long: for sentences that quote it."""
    flat = " ".join(text[: 4 * most].split())
    if len(text) <= 4 * most and len(flat) <= most:
        return flat
    return f"{flat[:most]}... ({len(text):,} characters)"


def readable(value: JSON) -> str:
    """Return a value as people read it: a text as it stands, anything else as indented JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, indent=2, ensure_ascii=False, default=_plain)


def _plain(value: object) -> object:
    """Return a frozen object or list as one that is written."""
    match value:
        case Mapping():
            return dict(value)
        case Iterable():
            return list(value)
        case _:
            raise TypeError(f"{type(value).__name__} is no JSON")


def decoded(data: bytes) -> tuple[str, bool]:
    r"""Return bytes as text, and whether they are UTF-8; what is none of it stands as \xNN."""
    try:
        return data.decode("utf-8"), True
    except UnicodeDecodeError:
        return data.decode("utf-8", "backslashreplace"), False
