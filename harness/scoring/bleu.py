"""BLEU-1 to BLEU-4 of a corpus by the COCO convention, from statistics that add up over pairs.

As pycocoevalcap 1.2 computes it: clipped counts and lengths are summed over the corpus, the reference
nearest in length counts (the shorter of two equally near), and nothing is smoothed but for two constants
against 0/0. They give 0/0 the value 1e-6: three words that are all right have a BLEU-4 of .032, where
others say 0 or 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.scoring.ngrams import NGRAM_ORDERS, NGrams, ngrams

ORDERS: Final = NGRAM_ORDERS

SUMMANDS: Final = 2 * ORDERS + 2
"""Numbers kept of a pair: matches of order 1 to 4, n-grams of the candidate of order 1 to 4, both lengths."""

BleuSummands: TypeAlias = tuple[int, int, int, int, int, int, int, int, int, int]

_TINY: Final = 1e-15
_SMALL: Final = 1e-9


def bleu_summands(candidate: Sequence[str], *references: Sequence[str]) -> BleuSummands:
    """Return what a pair adds to its corpus: matches 1-4, n-grams 1-4, both lengths in tokens.

    An empty candidate adds its reference's length and nothing else, the worst that a unit can add: units
    without a usable answer are scored so. Tokens are cut at white space inside them, as pycocoevalcap does.
    Raises ValueError without a reference.
    """
    return ngram_summands(ngrams(_words(candidate)), *(ngrams(_words(reference)) for reference in references))


def ngram_summands(candidate: NGrams, *references: NGrams) -> BleuSummands:
    """Return the same of texts whose n-grams were counted before; no token of theirs holds white space.

    Raises ValueError without a reference.
    """
    if not references:
        raise ValueError("a candidate without a reference has no BLEU; give at least one")
    length = candidate.length
    nearest = min((abs(one.length - length), one.length) for one in references)[1]
    matches = [_matches(candidate, references, order) for order in range(ORDERS)]
    guesses = [max(0, length - order) for order in range(ORDERS)]
    return (*matches, *guesses, length, nearest)  # type: ignore[return-value]


def bleu_from_sums(sums: ArrayLike) -> NDArray[np.float64]:
    """Return BLEU-1 to BLEU-4, shape (..., 4), of summed statistics, shape (..., 10): one row a resample.

    Sums without a token in the candidates give 0. Raises ValueError for another last dimension.
    """
    numbers = np.asarray(sums, dtype=np.float64)
    if numbers.ndim == 0 or numbers.shape[-1] != SUMMANDS:
        raise ValueError(f"statistics of BLEU are {SUMMANDS} numbers, not shape {numbers.shape}")
    precisions = (numbers[..., :ORDERS] + _TINY) / (numbers[..., ORDERS : 2 * ORDERS] + _SMALL)
    means = np.cumprod(precisions, axis=-1) ** (1.0 / np.arange(1, ORDERS + 1))
    ratios = (numbers[..., -2] + _TINY) / (numbers[..., -1] + _SMALL)
    penalties = np.where(ratios < 1, np.exp(1 - 1 / np.minimum(ratios, 1)), 1.0)
    return np.asarray(means * penalties[..., None], dtype=np.float64)


def corpus_bleu(pairs: Iterable[tuple[Sequence[str], Sequence[str]]]) -> NDArray[np.float64]:
    """Return BLEU-1 to BLEU-4, shape (4,), of pairs of candidate and reference tokens.

    Raises ValueError without a pair: a corpus of nothing has no BLEU.
    """
    summands = [bleu_summands(candidate, reference) for candidate, reference in pairs]
    if not summands:
        raise ValueError("a corpus without a pair has no BLEU")
    return bleu_from_sums(np.sum(np.array(summands, dtype=np.int64), axis=0))


def _words(tokens: Sequence[str]) -> list[str]:
    return " ".join(tokens).split()


def _matches(candidate: NGrams, references: Sequence[NGrams], order: int) -> int:
    """Return how many n-grams of the candidate stand in a reference, each at most as often as there."""
    allowed = references[0].counts[order]
    for other in references[1:]:
        allowed = Counter(allowed) | Counter(other.counts[order])
    counts = candidate.counts[order]
    return sum(min(counts[gram], allowed[gram]) for gram in counts.keys() & allowed.keys())
