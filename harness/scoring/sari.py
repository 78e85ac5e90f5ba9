"""SARI: how well a text adds, keeps and deletes the n-grams of its source, measured by references.

Xu et al. 2016, "Optimizing Statistical Machine Translation for Text Simplification", define it over n-grams
of order 1 to 4. Programs of that name differ by ten points and more; here are two, under their own names:

- `hf`, as Hugging Face's `evaluate` (0.4) computes it: a value of each pair, whose mean is that of a corpus.
  Kept and deleted n-grams count by type, each by its share that is right; an n-gram counts as rightly deleted
  as often as source exceeds candidate and references together; deletion is precision alone; 0/0 is 1, and an
  empty text is one token.
- `easse`, as EASSE's `corpus_sari` by its defaults: counts are summed over the corpus before any share is
  taken; every occurrence of kept and deleted n-grams counts; deletion is an F1 as well; 0/0 is 0. Nothing
  here is EASSE's code.

Both are 0 to 100, the mean of the three operations, each the mean over orders of an F1 (`hf`: precision for
deletion). With several references counts of source and candidate are taken that many times. What is the
source is for the caller to say: a text that was made from an image has none of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.scoring.mteval_tokens import tokenize_13a
from harness.scoring.ngrams import NGRAM_ORDERS, Counts, NGrams, ngrams

SARI_ORDERS: Final = NGRAM_ORDERS
SARI_SUMMANDS: Final = 9 * SARI_ORDERS
"""Numbers kept of a pair for `easse`, of each order 1 to 4: for each operation (add, keep, delete) the
n-grams that are right, those of the candidate and those of the references.
"""


class SariOperations(NamedTuple):
    """The three parts of SARI, each 0 to 100."""

    add: float
    keep: float
    delete: float

    @property
    def sari(self) -> float:
        """Their mean, which is SARI."""
        return sum(self) / 3


_Gram: TypeAlias = tuple[int, int, int]
"""How often an n-gram stands in source and candidate, each times the references, and in references."""


def sari_tokenize(text: str) -> list[str]:
    """Return the tokens that both programs count by default: `13a` of the text in lower case."""
    return tokenize_13a(text.lower())


def sari_hf(
    source: Sequence[str], candidate: Sequence[str], references: Sequence[Sequence[str]]
) -> SariOperations:
    """Return add, keep and delete of one pair by the variant `hf`; `.sari` is its SARI.

    An empty candidate has points, and many where texts are short: what it deletes is right, and orders in
    which there is nothing to do count as done. Whoever scores answers has to give one that is unusable 0
    himself. Raises ValueError without a reference.
    """
    texts = [ngrams(tokens or [""]) for tokens in (source, candidate, *references)]
    return sari_hf_of(texts[0], texts[1], texts[2:])


def sari_hf_of(source: NGrams, candidate: NGrams, references: Sequence[NGrams]) -> SariOperations:
    """Return the same of texts whose n-grams were counted before; those of an empty text are of one token "".

    Raises ValueError without a reference.
    """
    _check(references)
    orders = [
        _hf_order(
            source.counts[order], candidate.counts[order], _together(references, order), len(references)
        )
        for order in range(SARI_ORDERS)
    ]
    add, keep, delete = (100 * sum(values) / SARI_ORDERS for values in zip(*orders, strict=True))
    return SariOperations(add, keep, delete)


def sari_summands(
    source: Sequence[str], candidate: Sequence[str], references: Sequence[Sequence[str]]
) -> tuple[int, ...]:
    """Return the `SARI_SUMMANDS` whole numbers that a pair adds to its corpus by the variant `easse`.

    Raises ValueError without a reference.
    """
    return tuple(number for grams in _grams(source, candidate, references) for number in _easse_order(grams))


def sari_from_sums(sums: ArrayLike) -> NDArray[np.float64]:
    """Return SARI of a corpus by the variant `easse`, 0 to 100, shape (...), of sums, shape (..., 36).

    One row a resample. Raises ValueError for another last dimension.
    """
    numbers = np.asarray(sums, dtype=np.float64)
    if numbers.ndim == 0 or numbers.shape[-1] != SARI_SUMMANDS:
        raise ValueError(f"statistics of SARI are {SARI_SUMMANDS} numbers, not shape {numbers.shape}")
    right, made, wanted = np.moveaxis(numbers.reshape(*numbers.shape[:-1], SARI_ORDERS, 3, 3), -1, 0)
    both = made + wanted
    shares = np.divide(2 * right, both, out=np.zeros_like(both), where=both > 0)
    return np.asarray(100 * shares.mean(axis=(-2, -1)), dtype=np.float64)


def corpus_sari(triples: Iterable[tuple[str, str, Sequence[str]]], variant: str = "hf") -> float:
    """Return SARI of texts: source, candidate and references of each. 0 to 100, by a named variant.

    Raises ValueError for another variant than `hf` and `easse`, without a triple, and for a triple without a
    reference.
    """
    if variant not in ("hf", "easse"):
        raise ValueError(f"unknown variant {variant!r} of SARI; known: hf, easse")
    tokens = [
        (sari_tokenize(source), sari_tokenize(candidate), [sari_tokenize(one) for one in references])
        for source, candidate, references in triples
    ]
    if not tokens:
        raise ValueError("a corpus without a pair has no SARI")
    if variant == "hf":
        return sum(sari_hf(*triple).sari for triple in tokens) / len(tokens)
    return float(sari_from_sums(np.sum(np.array([sari_summands(*triple) for triple in tokens]), axis=0)))


def _hf_order(source: Counts, candidate: Counts, wanted: Counts, times: int) -> tuple[float, float, float]:
    """Return add, keep and delete, 0 to 1, of the n-grams of one order; `wanted`: of all references.

    N-grams of the source that stand nowhere else, most of them, are deleted rightly, and are only counted.
    """
    made, asked = candidate.keys() - source.keys(), wanted.keys() - source.keys()
    added = len(made & asked)
    elsewhere = [gram for gram in source if gram in candidate or gram in wanted]
    kept, kept_right, kept_shares, to_keep = 0, 0, 0.0, 0
    deleted = len(source) - len(elsewhere)
    deleted_shares = float(deleted)
    for gram in elsewhere:
        there, said, right = source[gram] * times, candidate.get(gram, 0) * times, wanted.get(gram, 0)
        to_keep += right if right < there else there
        if said:
            both = said if said < there else there
            kept += 1
            kept_right += right if right < both else both
            kept_shares += right / both if right < both else 1.0
        if there > said:
            deleted += 1
            deleted_shares += max(0, there - said - right) / (there - said)
    return (
        _f1(_share(added, len(made)), _share(added, len(asked))),
        _f1(_share(kept_shares, kept), _share(kept_right, to_keep)),
        _share(deleted_shares, deleted),
    )


def _easse_order(grams: Iterable[_Gram]) -> tuple[int, ...]:
    """Return what is right, made and asked for of adding, keeping and deleting n-grams of one order."""
    added, made, asked, kept, kept_made, kept_asked, gone, gone_made, gone_asked = (0,) * 9
    for source, candidate, references in grams:
        if not source:
            made += candidate > 0
            asked += references > 0
            added += candidate > 0 and references > 0
            continue
        kept_made += min(source, candidate)
        kept_asked += min(source, references)
        kept += min(source, candidate, references)
        gone_made += max(0, source - candidate)
        gone_asked += max(0, source - references)
        gone += max(0, source - max(candidate, references))
    return added, made, asked, kept, kept_made, kept_asked, gone, gone_made, gone_asked


def _check(references: Sequence[object]) -> None:
    if not references:
        raise ValueError("a candidate without a reference has no SARI; give at least one")


def _together(references: Sequence[NGrams], order: int) -> Counts:
    first, *others = (one.counts[order] for one in references)
    if not others:
        return first
    found = Counter(first)
    for other in others:
        found.update(other)
    return found


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 1.0


def _f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _grams(
    source: Sequence[str], candidate: Sequence[str], references: Sequence[Sequence[str]]
) -> Iterator[list[_Gram]]:
    """Yield the n-grams of each order that stand anywhere, with how often they do where."""
    _check(references)
    in_source, in_candidate, *in_each = map(ngrams, (source, candidate, *references))
    times = len(references)
    for order in range(SARI_ORDERS):
        before, said, wanted = in_source.counts[order], in_candidate.counts[order], _together(in_each, order)
        yield [
            (before.get(gram, 0) * times, said.get(gram, 0) * times, wanted.get(gram, 0))
            for gram in {**before, **said, **wanted}
        ]
