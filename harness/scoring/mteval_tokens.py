"""Tokens of NIST's mteval-v13a, which BLEU is counted on by default nowadays: sacrebleu's tokenizer `13a`.

Punctuation and symbols of ASCII become tokens of their own, but for apostrophes, the hyphens of words and the
stops within numbers; all else is cut at white space alone. Case is kept.
"""

from __future__ import annotations

import re
from typing import Final

_SYMBOL: Final = re.compile(r"([!-&(-+/:-@\[-`{-~])")
_STOP_BEHIND_NO_DIGIT: Final = re.compile(r"([^0-9])([.,])")
_STOP_BEFORE_NO_DIGIT: Final = re.compile(r"([.,])([^0-9])")
_DASH_BEHIND_DIGIT: Final = re.compile(r"([0-9])(-)")
_ENTITIES: Final = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))


def tokenize_13a(text: str) -> list[str]:
    """Return the tokens of one text, as sacrebleu 2.6.0's `Tokenizer13a` gives them.

    `<skipped>` goes, a hyphen at a line's end joins the lines, and the four entities above are undone, one
    after the other: `&amp;lt;` becomes `<`. A text that ends in a hyphen and a line feed loses both here;
    `harness.scoring.sacre_bleu.sacrebleu_tokens` keeps the hyphen, as sacrebleu's BLEU does.
    """
    text = text.replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for entity, character in _ENTITIES:
        text = text.replace(entity, character)
    return cut_symbols(f" {text} ")


def cut_symbols(text: str) -> list[str]:
    """Return the tokens of a text by mteval's four rules for Western languages, applied in their order.

    The rules look at neighbours, so a space before and behind the text makes a difference.
    """
    text = _SYMBOL.sub(r" \1 ", text)
    text = _STOP_BEHIND_NO_DIGIT.sub(r"\1 \2 ", text)
    text = _STOP_BEFORE_NO_DIGIT.sub(r" \1 \2", text)
    return _DASH_BEHIND_DIGIT.sub(r"\1 \2 ", text).split()
