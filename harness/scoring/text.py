"""Metrics of texts: tokens, BLEU and ROUGE-L.

One place to import them from, for people's own analyses. Which tokens they count is a named option, never
guessed from the text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from harness.scoring.bleu import (
    ORDERS,
    SUMMANDS,
    BleuSummands,
    bleu_from_sums,
    bleu_summands,
    corpus_bleu,
)
from harness.scoring.ptb_tokens import ptb_tokenize
from harness.scoring.rouge import COCO_BETA, BothEmpty, mean_rouge_l, rouge_l, rouge_l_f1
from harness.scoring.zh_tokens import zh_tokenize

__all__ = [
    "COCO_BETA",
    "ORDERS",
    "SUMMANDS",
    "TOKENIZERS",
    "BleuSummands",
    "BothEmpty",
    "bleu_from_sums",
    "bleu_summands",
    "corpus_bleu",
    "mean_rouge_l",
    "ptb_tokenize",
    "rouge_l",
    "rouge_l_f1",
    "tokenize",
    "zh_tokenize",
]

TOKENIZERS: Final[Mapping[str, Callable[[str], list[str]]]] = MappingProxyType(
    {"ptb": ptb_tokenize, "zh": zh_tokenize}
)
"""`ptb` for English, as pycocoevalcap; `zh` for Chinese, where `ptb` would take a clause for one token."""


def tokenize(text: str, tokenizer: str = "ptb") -> list[str]:
    """Return the tokens of a text by a named tokenizer. Raises ValueError for a name that is not known."""
    if tokenizer not in TOKENIZERS:
        raise ValueError(f"unknown tokenizer {tokenizer!r}; known: {', '.join(TOKENIZERS)}")
    return TOKENIZERS[tokenizer](text)
