"""The n-grams of a text, counted once for all that is compared with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

NGRAM_ORDERS: Final = 4

Counts: TypeAlias = Mapping[tuple[str, ...], int]
"""N-gram of one order -> how often it stands in a text, in the order of their first places."""


@dataclass(frozen=True, slots=True)
class NGrams:
    """A text in n-grams: its `length` in tokens, and the counts of order 1 to 4."""

    length: int
    counts: tuple[Counts, ...]


def ngrams(tokens: Sequence[str]) -> NGrams:
    """Return the n-grams of order 1 to 4 of a list of tokens."""
    orders = range(1, NGRAM_ORDERS + 1)
    return NGrams(
        len(tokens),
        tuple(
            Counter(zip(*(tokens[start:] for start in range(order)), strict=False)) for order in orders
        ),
    )
