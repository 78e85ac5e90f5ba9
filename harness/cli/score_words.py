"""How the words of a table of scores are shown: in lines, and safe for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from harness.phrases import listed

Json: TypeAlias = Mapping[str, Any]

_LISTED = 5


def shown_name(row: Json) -> str:
    """Return how a row is called."""
    name = printable(row["model"])
    return f"{name} (imported)" if row["imported"] else name


def some(ids: Iterable[Any]) -> str:
    """Return how many there are, and the first few."""
    names = [one["case_id"] if isinstance(one, Mapping) else one for one in ids]
    return f"{len(names)}: {listed(names, _LISTED)}"


def wrap(text: str, width: int, indent: str = "  ") -> list[str]:
    """Return a text in lines of at most `width` columns; no name is broken at a hyphen."""
    return textwrap.wrap(printable(text), width, subsequent_indent=indent, break_on_hyphens=False)


def printable(text: str) -> str:
    """Return a text without what could steer a terminal."""
    # Ids and names are other people's text: no escape sequence of theirs may reach the terminal.
    return "".join(character if character.isprintable() else "\ufffd" for character in text)
