"""JSON as the standard has it, with nothing guessed and nothing lost."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import cast

from harness.canonical import JSON

MAX_DEPTH = 100
"""Levels of nesting; deeper values are no answer to anything, and overflow the stack of later steps."""


class StrictJsonError(ValueError):
    """A text is not strict JSON; the message says why and where, without quoting the text."""


def parse_strict(text: str) -> JSON:
    """Return the one JSON value that a text is.

    Refused: NaN and infinities (written out or by overflow), repeated keys, raw control characters
    in strings, a byte-order mark, numbers too long to hold, nesting beyond `MAX_DEPTH`. 7.0 stays a float.
    """
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        raise StrictJsonError(f"{error.msg.lower().removesuffix(' at')}, {place}") from error
    except RecursionError as error:
        raise StrictJsonError(_TOO_DEEP) from error
    except StrictJsonError:
        raise
    except ValueError as error:
        raise StrictJsonError("a number is too long") from error
    if text.count("[") + text.count("{") > MAX_DEPTH and _deeper_than(value, MAX_DEPTH):
        raise StrictJsonError(_TOO_DEEP)
    return value


_TOO_DEEP = "the value is nested too deeply"


def _object(pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise StrictJsonError("an object repeats a key")
    return result


def _float(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise StrictJsonError("a number is beyond what can be held")
    return number


def _constant(name: str) -> JSON:
    raise StrictJsonError(f"{name} is not a JSON number")


class _Decoder(json.JSONDecoder):
    def decode(self, s: str) -> JSON:  # type: ignore[override]
        return cast(JSON, super().decode(s))


_DECODER = _Decoder(object_pairs_hook=_object, parse_float=_float, parse_constant=_constant)


def _deeper_than(value: JSON, levels: int) -> bool:
    layer = _containers([value])
    for _ in range(levels):
        layer = [item for outer in layer for item in _containers(_members(outer))]
        if not layer:
            return False
    return True


def _containers(values: Iterable[JSON]) -> list[JSON]:
    return [value for value in values if isinstance(value, dict | list)]


def _members(value: JSON) -> Iterable[JSON]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
