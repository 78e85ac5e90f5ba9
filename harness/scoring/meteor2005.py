"""METEOR as PanDent prints it: one matching of words, one formula, a mean over pairs.

Fmean = 10 P R / (R + 9 P) with P = matches / words of the candidate, R = matches / words of the reference;
score = Fmean (1 - gamma (chunks / matches)^theta), 0 where nothing matches (Banerjee and Lavie 2005). PanDent
gives neither gamma nor theta: .5 and 3 here, which are those of 2005 and the defaults of nltk. Words are
matched in three stages, each among what the one before left: the same word; the same stem (Porter's); a
synonym in WordNet. Texts are lists of PTB tokens, taken in lower case.

Values equal nltk 3.10's `single_meteor_score`, whose ways the stages follow: candidate words choose from the
last to the first, each the last reference word that is free; synonyms are those of the candidate's *stem*,
and are compared with the reference's stems. A text of u words against itself has 1 - .5 / u^3, not 1.

PanDent's tables fit another reading, METEOR 1.5 (`meteor15`): the two differ by some .4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from harness.errors import MetricUnavailableError
from harness.scoring.wordnet import find_wordnet, has_wordnet

Tokens: TypeAlias = Sequence[str]
Place: TypeAlias = tuple[int, str]
"""A word that no stage has matched yet, and where it stands in its text."""
Synonyms: TypeAlias = Callable[[str], frozenset[str]]

NAME: Final = "meteor2005"
EXACT_STEM_NAME: Final = "exact+stem"
"""What the values without WordNet are called: they are no METEOR."""
ALPHA, GAMMA, THETA = 0.9, 0.5, 3.0
HOW_TO_GET: Final = "install the extra (pip install 'mllm-harness[meteor2005]')"


class Meteor2005:
    """The formula with its stages; `name` is what its values are called. Words are looked up once."""

    def __init__(self, stem: Callable[[str], str], synonyms: Synonyms | None) -> None:
        self.name = EXACT_STEM_NAME if synonyms is None else NAME
        self._stem = lru_cache(maxsize=100_000)(stem)
        self._synonyms = synonyms

    def values(self, pairs: Iterable[tuple[Tokens, Tokens]]) -> NDArray[np.float64]:
        """Return the value of each pair of candidate and reference, each in 0..1; a corpus has their mean."""
        return np.array([self.value(*pair) for pair in pairs], dtype=np.float64)

    def value(self, candidate: Tokens, reference: Tokens) -> float:
        """Return the value of one pair; 0 where nothing matches, as where a text is empty."""
        matches = self.align(candidate, reference)
        if not matches:
            return 0.0
        precision, recall = len(matches) / len(candidate), len(matches) / len(reference)
        mean = precision * recall / (ALPHA * precision + (1 - ALPHA) * recall)
        penalty: float = GAMMA * (chunks(matches) / len(matches)) ** THETA
        return (1 - penalty) * mean

    def align(self, candidate: Tokens, reference: Tokens) -> list[tuple[int, int]]:
        """Return the matched places, (in candidate, in reference), in the candidate's order."""
        if isinstance(candidate, str) or isinstance(reference, str):
            raise TypeError("METEOR takes lists of tokens, not a text")
        left, right = _placed(candidate), _placed(reference)
        same, left, right = _match(left, right, None)
        left, right = self._stems(left), self._stems(right)
        stems, left, right = _match(left, right, None)
        others = _match(left, right, self._synonyms)[0] if self._synonyms else []
        return sorted(same + stems + others)

    def _stems(self, words: list[Place]) -> list[Place]:
        return [(place, self._stem(word)) for place, word in words]


def open_meteor2005(wordnet: Path | None = None) -> Meteor2005:
    """Return METEOR of 2005, with WordNet from `wordnet` or from where `find_wordnet` finds it.

    Raises MetricUnavailableError, saying what to install, where nltk or WordNet is missing.
    """
    stem = _porter()
    return Meteor2005(stem, find_wordnet(wordnet).synonyms)


def has_meteor2005() -> bool:
    """Tell whether `open_meteor2005` would find nltk and WordNet; neither is loaded."""
    return find_spec("nltk") is not None and has_wordnet()


def open_exact_stem() -> Meteor2005:
    """Return the same without synonyms, under its own name, for those who ask for it by that name.

    Raises MetricUnavailableError where nltk is missing.
    """
    return Meteor2005(_porter(), None)


def chunks(matches: Sequence[tuple[int, int]]) -> int:
    """Return how many runs of neighbours in both texts ordered matches make: 0 for none."""
    return bool(matches) + sum(second != (first[0] + 1, first[1] + 1) for first, second in pairwise(matches))


def _placed(tokens: Tokens) -> list[Place]:
    return list(enumerate(token.lower() for token in tokens))


def _match(
    left: list[Place], right: list[Place], synonyms: Synonyms | None
) -> tuple[list[tuple[int, int]], list[Place], list[Place]]:
    """Return the matches of one stage and the words of both texts that it leaves."""
    free: dict[str, list[int]] = {}
    for place, word in right:
        free.setdefault(word, []).append(place)
    matches: dict[int, int] = {}
    for place, word in reversed(left):
        words = (word,) if synonyms is None else (word, *synonyms(word))
        last = max((free[one] for one in words if free.get(one)), key=lambda places: places[-1], default=None)
        if last is not None:
            matches[place] = last.pop()
    taken = set(matches.values())
    return (
        list(matches.items()),
        [word for word in left if word[0] not in matches],
        [word for word in right if word[0] not in taken],
    )


def _porter() -> Callable[[str], str]:
    """Return Porter's stemmer with nltk's additions; nltk takes seconds to load, so only here."""
    try:
        porter = import_module("nltk.stem.porter")
    except ImportError as error:
        raise MetricUnavailableError(f"METEOR of 2005 needs the package nltk; {HOW_TO_GET}") from error
    stem: Callable[[str], str] = porter.PorterStemmer().stem
    return stem
