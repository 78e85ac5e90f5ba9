"""Metrics of texts: tokens, BLEU, ROUGE-L, SARI, readability and BERTScore.

One place to import them from, for people's own analyses. Which tokens they count is a named option, never
guessed from the text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from harness.scoring.bertscore import BertScoreMissing, BertScores, bert_scores
from harness.scoring.bleu import (
    ORDERS,
    SUMMANDS,
    BleuSummands,
    bleu_from_sums,
    bleu_summands,
    corpus_bleu,
)
from harness.scoring.mteval_tokens import tokenize_13a
from harness.scoring.ptb_tokens import ptb_tokenize
from harness.scoring.readability import Readability, grade_from_sums, readability
from harness.scoring.rouge import (
    COCO_BETA,
    BothEmpty,
    chinese_rouge_l,
    google_rouge_l,
    mean_rouge_l,
    rouge_l,
    rouge_l_f1,
)
from harness.scoring.rouge_tokens import rouge_tokenize
from harness.scoring.sacre_bleu import (
    SACREBLEU_VERSION,
    corpus_sacrebleu,
    sacrebleu_from_sums,
    sacrebleu_signature,
    sacrebleu_tokens,
    sentence_sacrebleu,
)
from harness.scoring.sari import (
    SARI_SUMMANDS,
    SariOperations,
    corpus_sari,
    sari_from_sums,
    sari_hf,
    sari_summands,
    sari_tokenize,
)
from harness.scoring.syllables import syllables
from harness.scoring.zh_tokens import zh_tokenize

__all__ = [
    "COCO_BETA",
    "ORDERS",
    "SACREBLEU_VERSION",
    "SARI_SUMMANDS",
    "SUMMANDS",
    "TOKENIZERS",
    "BertScoreMissing",
    "BertScores",
    "BleuSummands",
    "BothEmpty",
    "Readability",
    "SariOperations",
    "bert_scores",
    "bleu_from_sums",
    "bleu_summands",
    "chinese_rouge_l",
    "corpus_bleu",
    "corpus_sacrebleu",
    "corpus_sari",
    "google_rouge_l",
    "grade_from_sums",
    "mean_rouge_l",
    "ptb_tokenize",
    "readability",
    "rouge_l",
    "rouge_l_f1",
    "rouge_tokenize",
    "sacrebleu_from_sums",
    "sacrebleu_signature",
    "sacrebleu_tokens",
    "sari_from_sums",
    "sari_hf",
    "sari_summands",
    "sari_tokenize",
    "sentence_sacrebleu",
    "syllables",
    "tokenize",
    "tokenize_13a",
    "zh_tokenize",
]

TOKENIZERS: Final[Mapping[str, Callable[[str], list[str]]]] = MappingProxyType(
    {"ptb": ptb_tokenize, "13a": tokenize_13a, "rouge": rouge_tokenize, "zh": zh_tokenize}
)
"""For English: `ptb` as pycocoevalcap, `13a` as sacrebleu, `rouge` as rouge-score. `zh` for Chinese, where
`ptb` and `13a` would take a clause for one token, and `rouge` finds none.
"""


def tokenize(text: str, tokenizer: str = "ptb") -> list[str]:
    """Return the tokens of a text by a named tokenizer. Raises ValueError for a name that is not known."""
    if tokenizer not in TOKENIZERS:
        raise ValueError(f"unknown tokenizer {tokenizer!r}; known: {', '.join(TOKENIZERS)}")
    return TOKENIZERS[tokenizer](text)
