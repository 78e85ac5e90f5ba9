"""Whether a lay text has the three numbered parts that the prompts ask for: a measure of form alone."""

from __future__ import annotations

import re
from typing import Final

_NUMBERED: Final = re.compile(
    r"^[^\S\n]*[#>*_(-]*[^\S\n]*[*_]*(?:part[^\S\n]*)?([1-9])[*_]*[.):\u2013\u2014-](?!\d)(.*)", re.I | re.M
)


def has_three_parts(text: str) -> bool:
    """Tell whether lines begin with 1, 2 and 3, in this order and each once, and something stands in each.

    Before a number may stand white space, marks of markdown, a bracket and "Part", behind it a full stop, a
    bracket, a colon or a dash. A part may go on in further lines; numbers within a part's own list spoil it.
    """
    found = list(_NUMBERED.finditer(text))
    if [one[1] for one in found] != ["1", "2", "3"]:
        return False
    ends = [one.start() for one in found[1:]] + [len(text)]
    parts = (text[one.start(2) : end] for one, end in zip(found, ends, strict=True))
    return all(any(map(str.isalnum, part)) for part in parts)
