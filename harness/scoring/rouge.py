"""ROUGE-L: how much of two texts is one longest common subsequence of tokens, and its mean over pairs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal, TypeAlias

import numpy as np
from rapidfuzz.distance import LCSseq

from harness.scoring.rouge_tokens import rouge_tokenize
from harness.scoring.zh_tokens import zh_tokenize

COCO_BETA: Final = 1.2
"""The weight of recall in the COCO caption evaluation (pycocoevalcap 1.2); 1 gives the plain F1."""

BothEmpty: TypeAlias = Literal["coco", "zero"]
"""What two empty texts score: 1 as in pycocoevalcap, which takes each for one empty token, or 0."""


def rouge_l(
    candidate: Sequence[str],
    reference: Sequence[str],
    *,
    beta: float = COCO_BETA,
    both_empty: BothEmpty = "coco",
) -> float:
    """Return ROUGE-L of one pair of token lists, 0 to 1: (1 + beta^2)PR / (R + beta^2 P).

    P and R are the longest common subsequence as a share of candidate and reference. One empty text scores
    0. Two of them score 1 under "coco", which would reward an unusable answer to an empty reference: "zero"
    does not. Raises ValueError for an unknown option or a beta that is not above 0.
    """
    if both_empty not in ("coco", "zero"):
        raise ValueError(f"unknown value {both_empty!r} of both_empty; known: 'coco', 'zero'")
    if not beta > 0:
        raise ValueError(f"beta is {beta!r}; it has to be above 0")
    if not candidate and not reference:
        return 1.0 if both_empty == "coco" else 0.0
    common = LCSseq.similarity(candidate, reference)
    if common == 0:
        return 0.0
    precision = common / len(candidate)
    recall = common / len(reference)
    return (1 + beta**2) * precision * recall / (recall + beta**2 * precision)


def rouge_l_f1(
    candidate: Sequence[str], reference: Sequence[str], *, both_empty: BothEmpty = "coco"
) -> float:
    """Return the plain F1 of the common subsequence: ROUGE-L with beta 1."""
    return rouge_l(candidate, reference, beta=1.0, both_empty=both_empty)


def google_rouge_l(candidate: str, reference: str) -> float:
    """Return ROUGE-L of two texts as rouge-score 0.1.2 gives its F measure without stemming, 0 to 1.

    The plain F1 on `rouge_tokenize`'s tokens; two texts without a token score 0. Sentences play no part:
    rouge-score names that `rougeL`, and another metric `rougeLsum`.
    """
    return rouge_l_f1(rouge_tokenize(candidate), rouge_tokenize(reference), both_empty="zero")


def chinese_rouge_l(candidate: str, reference: str) -> float:
    """Return ROUGE-L of two Chinese texts, 0 to 1: the plain F1 on `zh_tokenize`'s tokens.

    Tokens are characters, words of other scripts and marks of punctuation, case kept: the tokens of BLEU
    with `zh`. No toolkit is equalled; two empty texts score 0.
    """
    return rouge_l_f1(zh_tokenize(candidate), zh_tokenize(reference), both_empty="zero")


def mean_rouge_l(
    pairs: Iterable[tuple[Sequence[str], Sequence[str]]],
    *,
    beta: float = COCO_BETA,
    both_empty: BothEmpty = "coco",
) -> float:
    """Return the mean of ROUGE-L over pairs of candidate and reference tokens.

    Raises ValueError without a pair.
    """
    scores = [
        rouge_l(candidate, reference, beta=beta, both_empty=both_empty) for candidate, reference in pairs
    ]
    if not scores:
        raise ValueError("a corpus without a pair has no ROUGE-L")
    return float(np.mean(np.array(scores)))
