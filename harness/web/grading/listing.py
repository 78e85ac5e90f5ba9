"""The numbered sheets of a seat, a page of them at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from harness.grading.desk import SheetState
from harness.web.links import Query, whole_number

A_PAGE: Final = 200
"""Sheets on one page: each is one small link."""

_SIGNS: Final[Mapping[SheetState, tuple[str, str]]] = {
    "open": ("", "open"),
    "partly": ("◐", "begun"),
    "done": ("✓", "done"),
    "gone": ("-", "has no answer now"),
}


@dataclass(frozen=True, slots=True)
class Numbered:
    """One sheet of the list, with its state for eyes and ears."""

    position: int
    state: SheetState
    sign: str
    words: str


def listing(states: Sequence[SheetState], query: Query) -> Mapping[str, Any]:
    """Return the page of sheets that a query asks for, as templates want it."""
    pages = max(1, -(-len(states) // A_PAGE))
    number = min(max(whole_number(query.one("page")) or 1, 1), pages)
    first = (number - 1) * A_PAGE
    some = enumerate(states[first : first + A_PAGE], first + 1)
    sheets = [Numbered(position, state, *_SIGNS[state]) for position, state in some]
    return {"sheets": sheets, "pages": pages, "page_number": number}
