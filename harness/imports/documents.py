"""One row of a file as JSON: parsed with limits, looked into by dotted paths."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from harness.answers.strict_json import MAX_DEPTH

Document: TypeAlias = Mapping[str, Any]
"""A row: an object with the fields that its tool wrote."""

MISSING: Final = object()
"""What `look_up` returns for a path that leads nowhere; null is found."""


class BadRowError(Exception):
    """A row cannot be read; the message says why and what was looked for, without quoting an answer."""


def parse(body: bytes) -> Document:
    """Return the object in a row's bytes. Raises BadRowError.

    Tools write NaN and Infinity where they have no number: both are read as null, a number beyond what can be
    held too. Refused: bytes that are not UTF-8, a repeated key, a raw control character, what is no object.
    """
    value = parse_any(body)
    if not isinstance(value, dict):
        raise BadRowError(f"it is {kind_of(value)}, and not an object")
    if _depth(value) > MAX_DEPTH:
        raise BadRowError("it is nested too deeply")
    return value


def parse_any(body: bytes) -> Any:
    """Return the value in JSON bytes, whatever it is and however deep. Raises BadRowError as `parse` does."""
    try:
        return _DECODER.decode(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise BadRowError(f"it is not UTF-8 at byte {error.start + 1}") from error
    except json.JSONDecodeError as error:
        raise BadRowError(f"it is no JSON: {error.msg.lower()}, column {error.colno}") from error
    except RecursionError as error:
        raise BadRowError("it is nested too deeply") from error
    except ValueError as error:
        raise BadRowError("it holds a number that is too long") from error


def look_up(document: Document, path: str) -> Any:
    """Return what stands at a path: a field of just that name, else by its parts between dots.

    A part that is a number goes into a list. MISSING where there is nothing.
    """
    if path in document:
        return document[path]
    value: Any = document
    for part in path.split("."):
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isascii() and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return MISSING
    return value


def kind_of(value: object) -> str:
    """Return what a JSON value is, in words for a message."""
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case _:
            return "an object"


def as_number(value: object) -> float | None:
    """Return a finite number that is not negative; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise BadRowError(f"an object has the key {twice[:60]!r} twice")
    return result


def _float(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None


def _depth(value: Any) -> int:
    """Return the levels of nesting, without recursion."""
    depth, layer = 0, [value]
    while layer:
        depth += 1
        members = (list(one.values()) if isinstance(one, dict) else one for one in layer)
        layer = [item for many in members for item in many if isinstance(item, dict | list)]
    return depth


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_float=_float, parse_constant=lambda name: None)
