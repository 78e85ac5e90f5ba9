r"""Text cells of tables: a reversible escape that keeps every character and holds no live formula.

`\\` is a backslash; `\n`, `\r`, `\t` are line feed, carriage return and tab; `\uXXXX` is any other control
character, a lone surrogate, U+2028, U+2029 or a byte order mark; `\e` alone is the empty text (a cell
without anything is null). A cell that would start like a formula (`=`, `+`, `-`, `@`, their full-width forms)
or with an apostrophe or a blank starts with one more apostrophe. All other characters stand for themselves.
"""

from __future__ import annotations

import json
import re

from harness.canonical import JSON
from harness.errors import CaseFileError

EMPTY = r"\e"
"""The cell of an empty text."""

_SHORT = {"\\": r"\\", "\n": r"\n", "\r": r"\r", "\t": r"\t"}
_LONG = {escape: char for char, escape in _SHORT.items()}
_UNSAFE = re.compile("[\\\\\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]")
# JSON allows these inside strings as they are, but a line of CSV or valid UTF-8 does not.
_UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]")
_ESCAPE = re.compile(r"\\(u[0-9a-f]{4}|.|$)", re.DOTALL)
# Spreadsheets trim blanks and fold full-width signs before they look for a formula.
_FORMULA_START = re.compile("['=+\\-@\uff1d\uff0b\uff0d\uff20\\s]")


def json_cell(value: JSON) -> str:
    """Return a value as JSON on one line of valid UTF-8; what JSON takes and a line does not is escaped."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return _UNSAFE_IN_JSON.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def escape_cell(text: str) -> str:
    """Return a text as one line of valid UTF-8 that no spreadsheet takes for a formula."""
    if not text:
        return EMPTY
    escaped = _UNSAFE.sub(_escaped, text)
    return f"'{escaped}" if _FORMULA_START.match(escaped) else escaped


def unescape_cell(cell: str) -> str:
    """Undo `escape_cell`. Raises CaseFileError on an escape that it never writes."""
    if cell == EMPTY:
        return ""
    return _ESCAPE.sub(_unescaped, cell[1:] if cell.startswith("'") else cell)


def _escaped(match: re.Match[str]) -> str:
    char = match.group()
    return _SHORT.get(char) or f"\\u{ord(char):04x}"


def _unescaped(match: re.Match[str]) -> str:
    escape = match.group()
    if escape in _LONG:
        return _LONG[escape]
    if len(escape) == len(r"\u0000"):
        return chr(int(escape[2:], 16))
    raise CaseFileError(f"unknown escape {escape!r} in a table cell; harness export did not write this file")
