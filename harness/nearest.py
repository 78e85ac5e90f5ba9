"""Suggestions for misspelt names."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from typing import Final

FEW: Final = 6
"""Up to so many known names are listed where none is near."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean ...?" with at most three near names, or an empty string."""
    by_folded = {item.casefold(): item for item in known}
    near = get_close_matches(name.casefold(), by_folded, n=3, cutoff=0.6)
    if not near:
        return ""
    return f"; did you mean {' or '.join(repr(by_folded[item]) for item in near)}?"


def nearest_or_known(name: str, known: Collection[str]) -> str:
    """Return "; did you mean ...?" with at most three near names, else "; known: ..." with all of them."""
    return nearest(name, known) or f"; known: {', '.join(map(repr, known)) or 'none'}"


def nearest_of(name: str, known: Collection[str]) -> str:
    """Return "; did you mean ...?" with near names, else all known ones, or the nearest of many."""
    if near := nearest(name, known):
        return near
    if len(known) <= FEW:
        return nearest_or_known(name, known)
    by_folded = {item.casefold(): item for item in known}
    [least_far] = get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.0)
    return f"; nearest of {len(known)}: {by_folded[least_far]!r}"
