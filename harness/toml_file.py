"""Reading of TOML files: every fault is told with the file, and the line where there is one."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from harness.errors import ConfigError

Table: TypeAlias = dict[str, object]

_PLACE = re.compile(
    r"^(?P<what>.*) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)$", re.DOTALL
)


def read_toml(path: Path) -> Table:
    """Return the tables of a UTF-8 file, with or without a byte order mark.

    Raises ConfigError that names the file, and the line where the fault is on one.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read {str(path)!r}: {error.strerror or error}; check the path") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}: line {line}: not UTF-8; save the file in UTF-8") from error
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: {_place(str(error), text)}") from error


def merge(base: Mapping[str, object], over: Mapping[str, object]) -> Table:
    """Return `base` overridden key by key: tables merge, everything else is replaced."""
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        merged[key] = merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged


def _place(message: str, text: str) -> str:
    found = _PLACE.match(message)
    if found is None:
        return f"not TOML: {message}"
    if found["line"] is None:
        return f"line {text.count(chr(10)) + 1}: not TOML: {found['what']} (the file ends here)"
    return f"line {found['line']}, column {found['column']}: not TOML: {found['what']}"
