"""BLEU-4 as sacrebleu 2.6.0 reports it by default, from statistics that add up over pairs.

Case-sensitive, one or more references, tokens `13a` (or `zh`), smoothing `exp`: an order without a match has
the precision 1 / (2^k * n-grams), k counting such orders from the first. The counts of a pair are those of
`harness.scoring.bleu`; tokens and smoothing are the whole difference. Values are 0 to 1, sacrebleu's divided
by 100. sacrebleu itself is not needed, and `sacrebleu_signature` names the version that is equalled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.scoring.bleu import ORDERS, SUMMANDS, bleu_summands
from harness.scoring.mteval_tokens import tokenize_13a
from harness.scoring.zh_tokens import zh_tokenize

SACREBLEU_VERSION: Final = "2.6.0"
"""The release whose values these are, within 1e-9, by our tests."""

_TOKENIZERS: Final[Mapping[str, Callable[[str], list[str]]]] = MappingProxyType(
    {"13a": tokenize_13a, "zh": zh_tokenize}
)


def sacrebleu_tokens(text: str, tokenizer: str = "13a") -> list[str]:
    """Return the tokens that sacrebleu's BLEU counts of one text: white space at its end goes first.

    Raises ValueError for another tokenizer than `13a` and `zh`.
    """
    if tokenizer not in _TOKENIZERS:
        raise ValueError(f"unknown tokenizer {tokenizer!r}; known: {', '.join(_TOKENIZERS)}")
    return _TOKENIZERS[tokenizer](text.rstrip())


def sacrebleu_from_sums(sums: ArrayLike) -> NDArray[np.float64]:
    """Return BLEU-4, shape (...), of summed `bleu_summands`, shape (..., 10): one row a resample.

    0 where no word matches, and where the candidates have no n-gram of some order: three words that are all
    right have a BLEU-4 of 0. Raises ValueError for another last dimension.
    """
    numbers = _checked(sums)
    return _smoothed(numbers, np.full(numbers.shape[:-1], ORDERS))


def sentence_sacrebleu(candidate: Sequence[str], *references: Sequence[str]) -> float:
    """Return BLEU of one pair of token lists, of the orders that the candidate has n-grams of.

    As sacrebleu's `sentence_bleu`, whose signature says `eff:yes`: three words that are all right have 1.
    Its mean over pairs is another number than BLEU of the corpus. Raises ValueError without a reference.
    """
    numbers = _checked(bleu_summands(candidate, *references))
    orders = np.maximum((numbers[..., ORDERS : 2 * ORDERS] > 0).sum(axis=-1), 1)
    return float(_smoothed(numbers, orders))


def corpus_sacrebleu(pairs: Iterable[tuple[str, str]], tokenizer: str = "13a") -> float:
    """Return BLEU-4 of pairs of candidate and reference, as texts. Raises ValueError without a pair."""
    summands = [
        bleu_summands(sacrebleu_tokens(candidate, tokenizer), sacrebleu_tokens(reference, tokenizer))
        for candidate, reference in pairs
    ]
    if not summands:
        raise ValueError("a corpus without a pair has no BLEU")
    return float(sacrebleu_from_sums(np.sum(np.array(summands, dtype=np.int64), axis=0)))


def sacrebleu_signature(tokenizer: str = "13a", references: int = 1, *, sentences: bool = False) -> str:
    """Return the line by which papers cite such a BLEU, e.g. `nrefs:1|case:mixed|eff:no|tok:13a|...`.

    It is sacrebleu's own for the same values. A text that cites it should say that they were computed here,
    equal to that version.
    """
    counted = f"nrefs:{references}|case:mixed|eff:{'yes' if sentences else 'no'}|tok:{tokenizer}"
    return f"{counted}|smooth:exp|version:{SACREBLEU_VERSION}"


def _checked(sums: ArrayLike) -> NDArray[np.float64]:
    numbers = np.asarray(sums, dtype=np.float64)
    if numbers.ndim == 0 or numbers.shape[-1] != SUMMANDS:
        raise ValueError(f"statistics of BLEU are {SUMMANDS} numbers, not shape {numbers.shape}")
    return numbers


def _smoothed(numbers: NDArray[np.float64], orders: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the geometric mean of the first `orders` precisions, shape (...), times the brevity penalty."""
    matches, grams = numbers[..., :ORDERS], numbers[..., ORDERS : 2 * ORDERS]
    smoothed = np.where(matches > 0, matches, 0.5 ** np.cumsum(matches == 0, axis=-1))
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(grams > 0, np.log(smoothed / grams), -np.inf)
        lengths, targets = numbers[..., -2], numbers[..., -1]
        penalties = np.where(lengths < targets, np.exp(1 - targets / lengths), 1.0)
    counted = np.arange(1, ORDERS + 1) <= orders[..., None]
    means = np.exp(np.where(counted, logs, 0.0).sum(axis=-1) / orders)
    return np.where((matches > 0).any(axis=-1), means * penalties, 0.0)
