"""One sentence as symbols: numbers, signs, and what each word or phrase does there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from harness.benchmarks.pandent.answers.finding_words import NAMINGS
from harness.benchmarks.pandent.answers.unreadable import Unreadable
from harness.benchmarks.pandent.answers.words import PHRASE_WORDS, Lexicon, lexicon

_TOKEN: Final = re.compile(
    r"(?P<space> +)"
    r"|(?P<joined>(?:# ?)?(?:\d+|x(?![a-z]))(?: ?- ?(?:# ?)?(?:\d+|x(?![a-z0-9])))+)(?![0-9a-z]|\.\d)"
    r"|(?P<ordinal>1st|2nd|3rd)(?![0-9a-z])"
    r"|(?P<dotted>\d\.\d)(?![0-9a-z]|\.\d)"
    r"|(?P<number>\d+)(?![0-9a-z']|\.\d)"
    r"|(?P<word>[a-z]+(?:'[a-z]+)?)(?![0-9'])"
    r"|(?P<sign>[#,;:()&\u2014-])"
    r"|(?P<odd>[0-9a-z.']+|.)",
    re.ASCII | re.DOTALL,
)
_WORD_HYPHEN: Final = re.compile(r"(?<=[a-z])-(?=[a-z])(?!x(?![a-z]))")
_SIGNS: Final = {
    "#": "hash", ",": "comma", ";": "but", ":": "colon", "(": "paren", ")": "unparen", "&": "and",
    "\u2014": "colon", "-": "colon",
}  # fmt: skip
_CLEAR: Final = {"sinus_left": frozenset({"clear"}), "sinus_right": frozenset({"clear"})}


@dataclass(frozen=True, slots=True)
class Symbol:
    """What a part of a sentence does: its kind and what it says, its own words, and the teeth it names.

    `marked`: a number that a word for teeth or "#" stands before; `spelled`: named in words.
    """

    kind: str
    says: str
    text: str
    teeth: frozenset[int] = frozenset()
    marked: bool = False
    spelled: bool = False


def symbols(sentence: str, finding_id: str) -> list[Symbol]:
    """Return the symbols of a sentence in lower case. Raises Unreadable for an unknown word or sign."""
    meanings = _lexicon(finding_id)
    found: list[Symbol] = []
    words: list[str] = []
    for token in _TOKEN.finditer(_WORD_HYPHEN.sub(" ", sentence)):
        kind, text = str(token.lastgroup), token.group()
        if kind in ("word", "ordinal"):
            words.append(text)
        elif kind != "space":
            found += _phrases(words, meanings)
            words.clear()
            found.append(_other(kind, text))
    return [*found, *_phrases(words, meanings)]


@lru_cache
def _lexicon(finding_id: str) -> Lexicon:
    return lexicon(NAMINGS[finding_id].groups - {"region"}, _CLEAR.get(finding_id, frozenset()))


def _other(kind: str, text: str) -> Symbol:
    if kind == "sign":
        return Symbol(_SIGNS[text], "", text)
    if kind == "odd":
        raise Unreadable("word" if text[0].isascii() and text[0].isalnum() else "character", text)
    return Symbol(kind, "", text)


def _phrases(words: list[str], meanings: Lexicon) -> Iterable[Symbol]:
    """Yield the longest known phrases, from the left."""
    position = 0
    while position < len(words):
        for size in range(min(PHRASE_WORDS, len(words) - position), 0, -1):
            phrase = tuple(words[position : position + size])
            if phrase in meanings:
                kind, says = meanings[phrase]
                yield Symbol(kind, says, " ".join(phrase))
                position += size
                break
        else:
            raise Unreadable("word", words[position])
