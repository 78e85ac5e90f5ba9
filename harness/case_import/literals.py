"""Lists and objects that stand as text in a cell: JSON, or what Python prints, and nothing that is run."""

from __future__ import annotations

import ast
import io
import json
import tokenize
from typing import Final, NoReturn

from harness.canonical import JSON
from harness.case_import.row import CellError

MAX_PYTHON_CHARACTERS: Final = 64_000_000
"""Longest text that is read as Python; images in base64 stand in some."""
_OPENING: Final = ("[", "{", "(")


def looks_like_one(text: str) -> bool:
    """Tell whether a text begins as a list or an object does."""
    return text.lstrip().startswith(_OPENING)


def read_literal(text: str) -> JSON:
    """Return the value of a text: JSON, else a Python literal of the same kinds. Raises CellError.

    Two Python texts side by side (`['a' 'b']`, as numpy prints a list) would be one text by Python's rules,
    and are refused.
    """
    try:
        value: JSON = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        value = _python(text)
    return value


def as_json(value: object) -> JSON:
    """Return a value whose parts are all of JSON's kinds, tuples as lists. Raises CellError."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            if value != value or value in (float("inf"), float("-inf")):
                raise CellError("holds NaN or an infinity, which is no number")
            return value
        case list() | tuple():
            return [as_json(item) for item in value]
        case dict():
            if not all(isinstance(key, str) for key in value):
                raise CellError("holds an object whose names are not all text")
            return {str(key): as_json(item) for key, item in value.items()}
        case _:
            raise CellError(f"holds {type(value).__name__}, which is no JSON")


def _python(text: str) -> JSON:
    if len(text) > MAX_PYTHON_CHARACTERS:
        raise CellError(
            f"is a Python list of more than {MAX_PYTHON_CHARACTERS:,} characters; write it as JSON"
        )
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError) as error:
        raise CellError("is neither JSON nor a Python list or object") from error
    if _has_joined_texts(text.strip()):
        raise CellError("has two texts side by side without a comma; separate them")
    return as_json(value)


def _has_joined_texts(text: str) -> bool:
    """Tell whether two string tokens follow each other, which Python joins into one."""
    before = None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT):
            continue
        if token.type == before == tokenize.STRING:
            return True
        before = token.type
    return False


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)
