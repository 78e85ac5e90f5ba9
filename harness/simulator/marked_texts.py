"""Texts that a prompt shows below a heading: quoted between two marker lines, or up to a blank line."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

LONGEST_HEADING: Final = 80
"""Characters; a longer line that ends in a colon is no heading."""


def shown_below(text: str, heading: str) -> str | None:
    """Return what stands below the first heading with a word that the pattern `heading` finds; None without.

    A heading is a line of its own that ends in a colon. Below it stands a quotation as
    `prompts/quoted-text-v1.txt` makes it, or else a paragraph.
    """
    found = _pattern(heading).search(text)
    if found is None:
        return None
    return found["quoted"] if found["mark"] is not None else found["plain"].strip()


@lru_cache(maxsize=64)
def _pattern(heading: str) -> re.Pattern[str]:
    return re.compile(
        rf"^(?=[^\n]{{1,{LONGEST_HEADING}}}$)[^\n]*(?:{heading})[^\n]*[:\uff1a][ \t]*\n"
        r"(?:\([^\n]*\)\n)?"
        r"(?:(?P<mark>={3,} \S+ ={3,})\n(?P<quoted>.*?)\n(?P=mark)[ \t]*$|(?P<plain>.+?)(?:\n\s*\n|\Z))",
        re.IGNORECASE | re.DOTALL | re.MULTILINE,
    )
