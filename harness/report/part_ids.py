"""Ids of the parts of a report: unique, and names of files everywhere."""

from __future__ import annotations

import re
from typing import Final

from harness.canonical import sha256_hex

_OTHER: Final = re.compile(r"[^a-z0-9]+")
_LONGEST: Final = 60


class PartIds:
    """Gives each part an id of lower-case letters, digits and "-", which no other part of the report has."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    def make(self, *words: str) -> str:
        """Return an id made of words, which may be anybody's text; the same calls give the same ids."""
        wanted = "-".join(slug for word in words if (slug := _slug(word))) or "part"
        found, number = wanted, 1
        while found in self._given:
            number += 1
            found = f"{wanted}-{number}"
        self._given.add(found)
        return found


def _slug(word: str) -> str:
    slug = _OTHER.sub("-", word.lower()).strip("-")
    if len(slug) <= _LONGEST:
        return slug
    # Two long names that begin alike stay apart.
    return f"{slug[:_LONGEST]}-{sha256_hex(word.encode('utf-8', 'surrogatepass'))[:8]}"
