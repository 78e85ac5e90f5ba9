"""The tokens of Google's `rouge-score`, without its stemmer: runs of ASCII letters and digits, lower case."""

from __future__ import annotations

import re
from typing import Final

_WORD: Final = re.compile("[a-z0-9]+")


def rouge_tokenize(text: str) -> list[str]:
    """Return the tokens of one text, as rouge-score 0.1.2 gives them with `use_stemmer=False`.

    Letters beyond ASCII part words (`naïve` gives `na` and `ve`) and Chinese leaves nothing: take
    `zh_tokenize` there, whose tokens are characters.
    """
    return _WORD.findall(text.lower())
