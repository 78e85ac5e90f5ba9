"""Links between pages, and what they ask for: any text survives, NUL and lone surrogates too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import parse_qsl, quote

_MOST_DIGITS: Final = 18


class Query:
    """The query of a request: name -> values, as `link` wrote them; of others, what is no text is U+FFFD."""

    def __init__(self, query: bytes) -> None:
        found: dict[str, list[str]] = {}
        for name, value in _pairs_of(query.decode("latin-1")):
            found.setdefault(name, []).append(value)
        self._found = found

    def one(self, name: str) -> str | None:
        """Return the last value of a name; None where there is none or an empty one."""
        return next((value for value in reversed(self._found.get(name, [])) if value), None)

    def all(self, name: str) -> tuple[str, ...]:
        """Return every value of a name that is not empty."""
        return tuple(value for value in self._found.get(name, []) if value)


def _pairs_of(query: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query, keep_blank_values=True, errors="surrogatepass")
    except UnicodeDecodeError:
        return parse_qsl(query, keep_blank_values=True)


def whole_number(text: str | None) -> int | None:
    """Return what a part of an address or form says as a whole number from 0 on; None where it says none.

    Nor is one of more than 18 digits any: a database has no larger ones.
    """
    if text is None or not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS):
        return None
    return int(text)


def link(path: str, **query: str | int | tuple[str, ...] | None) -> str:
    """Return a link within the site. None and empty values are left out; of a tuple each value is given."""
    pairs = [f"{_quoted(name)}={_quoted(value)}" for name, value in _pairs(query)]
    return path + ("?" + "&".join(pairs) if pairs else "")


def _pairs(query: Mapping[str, str | int | tuple[str, ...] | None]) -> Iterator[tuple[str, str]]:
    for name, given in query.items():
        for value in given if isinstance(given, tuple) else (given,):
            if value is not None and value != "":
                yield name, str(value)


def _quoted(text: str) -> str:
    return quote(text, safe="", errors="surrogatepass")
