"""Tokens of Chinese text: every Chinese character is one.

Words and numbers of other scripts between them stay whole. The same tokens as sacrebleu's tokenizer `zh`
(2.6.0), which makes characters tokens and cuts the rest by the rules of NIST's mteval. Its ranges are kept
as they work, general punctuation, arrows and symbols included; kana stays whole.
"""

from __future__ import annotations

import re
from typing import Final

from harness.scoring.mteval_tokens import cut_symbols

_CHARACTER: Final = re.compile(
    "([\u2001-\u2a6d\u2e80-\u2fdf\u2ff0-\u303f\u3100-\u312f\u31a0-\u31ef\u3200-\u4db5\u4e00-\u9fbb"
    "\uf900-\ufa2d\ufa30-\ufa6a\ufa70-\ufad9\ufe10-\ufe1f\ufe30-\ufe4f\uff00-\uffef])"
)


def zh_tokenize(text: str) -> list[str]:
    """Return the tokens of one text, case kept: characters of Chinese, words and numbers of the rest.

    Full stops and commas part words, but not the digits of a number; hyphens part what follows a digit.
    """
    return cut_symbols(_CHARACTER.sub(r" \1 ", text.strip()))
