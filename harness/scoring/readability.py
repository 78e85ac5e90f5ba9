"""The Flesch-Kincaid grade of English text, by rules of our own for sentences, words and syllables.

Kincaid et al. 1975: .39 * words per sentence + 11.8 * syllables per word - 15.59. The formula leaves open
what those are, so that programs differ by a grade and more: compare grades of one program only. Ours follow
Flesch 1979 where he says something: a hyphenated word is one word; figures, initialisms and their
combinations have one syllable (`MRI`, `3.5`, `T1`, `5mm`); headings are left out. docs/metrics.md lists the
rules and what they were measured against.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.scoring.readable_sentences import readable_sentences
from harness.scoring.syllables import syllables

READABILITY_SUMMANDS: Final = 3
"""Numbers kept of a text, which add up to a pooled grade: sentences, words, syllables."""

LEAST_LATIN: Final = 0.75
"""The share of its letters that have to be Latin for a text to have a grade."""

EMPTY: Final = "no word to grade"
NOT_LATIN: Final = "meaningless: not in Latin letters"

_HYPHENS: Final = re.compile("[\u2010\u2011-]")
_INITIALISM: Final = re.compile(r"[A-Z]{2,5}s?")


@dataclass(frozen=True)
class Readability:
    """What one text counts, and its grade: None, with the reason, where it has none."""

    sentences: int
    words: int
    syllables: int
    grade: float | None
    reason: str | None = None


def readability(text: str) -> Readability:
    """Return counts and Flesch-Kincaid grade of one text; never raises.

    The grade of a short text may be below 0: `A cyst.` has -3.01. Text without a word has none,
    nor has text of whose letters more than a quarter are not Latin; their counts are 0.
    """
    letters = [*filter(str.isalpha, text)]
    if not text.isascii() and sum(map(_is_latin, letters)) < LEAST_LATIN * len(letters):
        return Readability(0, 0, 0, None, NOT_LATIN)
    sentences = readable_sentences(unicodedata.normalize("NFC", text))
    shouted = sum(map(str.isupper, letters)) * 2 > len(letters)
    words = [word for sentence in sentences for word in sentence]
    if not words:
        return Readability(0, 0, 0, None, EMPTY)
    counts = (len(sentences), len(words), sum(word_syllables(word, shouted=shouted) for word in words))
    return Readability(*counts, float(grade_from_sums(counts)))


def grade_from_sums(sums: ArrayLike) -> NDArray[np.float64]:
    """Return the pooled grade, shape (...), of summed sentences, words and syllables, shape (..., 3).

    NaN where there is no word. It weighs texts by length; the mean of their grades is another number. Raises
    ValueError for another last dimension.
    """
    numbers = np.asarray(sums, dtype=np.float64)
    if numbers.ndim == 0 or numbers.shape[-1] != READABILITY_SUMMANDS:
        raise ValueError(
            f"counts of readability are {READABILITY_SUMMANDS} numbers, not shape {numbers.shape}"
        )
    sentences, words, spoken = np.moveaxis(numbers, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(0.39 * words / sentences + 11.8 * spoken / words - 15.59, dtype=np.float64)


@lru_cache(maxsize=65_536)
def word_syllables(word: str, *, shouted: bool = False) -> int:
    """Return the syllables of a word, the sum over its hyphenated parts.

    A part with a figure has one, and so have initialisms: two to five capital letters, with or without an
    `s`, and letters with stops between them. `shouted`: the text is in capitals, which mean nothing then.
    """
    return sum(_part_syllables(part, shouted) for part in _HYPHENS.split(word) if part)


def _part_syllables(part: str, shouted: bool) -> int:
    figure = any(sign.isdigit() for sign in part)
    if figure or "." in part or (not shouted and _INITIALISM.fullmatch(part)):
        return 1
    return syllables(part)


def _is_latin(letter: str) -> bool:
    return letter < "\u0250" or "\u1e00" <= letter <= "\u1eff" or "\ufb00" <= letter <= "\ufb06"
