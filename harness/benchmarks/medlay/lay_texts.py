"""A text as the metrics take it: its tokens, n-grams and reading grade, each made once, when it is needed."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from typing import Final

from harness.benchmarks.medlay.three_parts import has_three_parts
from harness.scoring.ngrams import NGrams, ngrams
from harness.scoring.readability import readability
from harness.scoring.rouge_tokens import rouge_tokenize
from harness.scoring.sacre_bleu import sacrebleu_tokens
from harness.scoring.sari import sari_tokenize

_CASE_MATTERS: Final = re.compile(r"[&<]|-\s*$")
"""Where tokens of a text in lower case may be others than its tokens in lower case: entities, a hyphen at the
end, which only BLEU keeps."""

_REMEMBERED: Final = 16_384
"""Captions are graded again for every model and condition: so many texts are remembered."""


class LayText:
    """One answer, lay caption or expert caption."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def words(self) -> int:
        """Return how many words stand between white space."""
        return len(self.text.split())

    @cached_property
    def bleu_tokens(self) -> list[str]:
        """Return sacrebleu's tokens `13a`, case kept."""
        return sacrebleu_tokens(self.text)

    @cached_property
    def bleu(self) -> NGrams:
        """Return the n-grams of these tokens."""
        return ngrams(self.bleu_tokens)

    @cached_property
    def sari_tokens(self) -> list[str]:
        """Return SARI's tokens, in lower case."""
        if self.text.isascii() and not _CASE_MATTERS.search(self.text):
            return [token.lower() for token in self.bleu_tokens]
        return sari_tokenize(self.text)

    @cached_property
    def sari(self) -> NGrams:
        """Return the n-grams of these tokens; a text without any has one empty token, as in `hf`."""
        return ngrams(self.sari_tokens or [""])

    @cached_property
    def rouge(self) -> list[str]:
        """Return rouge-score's tokens."""
        return rouge_tokenize(self.text)

    @cached_property
    def grade(self) -> float | None:
        """Return the Flesch-Kincaid grade; None where the text has none."""
        return reading_grade(self.text)

    @cached_property
    def three_parts(self) -> bool:
        """Return whether it has three numbered parts."""
        return has_three_parts(self.text)


@lru_cache(maxsize=_REMEMBERED)
def reading_grade(text: str) -> float | None:
    """Return the Flesch-Kincaid grade of a text; None where it has none."""
    return readability(text).grade
