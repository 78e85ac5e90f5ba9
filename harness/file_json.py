"""JSON of the files that people make, of which nothing is lost: no name twice in an object, no NaN."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NoReturn

from harness.canonical import JSON


class TwiceError(ValueError):
    """A name stands in one object twice, and a reader would drop the first value."""

    def __init__(self, name: str) -> None:
        super().__init__(f"field {name!r} stands there twice")
        self.name = name


def read_json(text: str) -> JSON:
    """Return the one JSON value that a text is.

    Raises TwiceError; json.JSONDecodeError for what is no JSON; other ValueErrors for NaN, infinities and
    numbers too long to hold; RecursionError for what is nested too deeply.
    """
    value: JSON = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    return value


def _once(pairs: Sequence[tuple[str, JSON]]) -> dict[str, JSON]:
    found: dict[str, JSON] = {}
    for name, value in pairs:
        if name in found:
            raise TwiceError(name)
        found[name] = value
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")
