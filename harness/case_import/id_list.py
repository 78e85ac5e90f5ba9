"""The list of ids of `--ids`: which cases are wanted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from harness.errors import ImportFileError


def read_ids(path: Path) -> Mapping[str, None]:
    """Return the ids of a file in order, each once: a JSON list, or one in a line. Raises ImportFileError."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ImportFileError(f"cannot read {str(path)!r}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ImportFileError(
            f"{path.name!r} is not UTF-8 at byte {error.start + 1}; save it as UTF-8"
        ) from error
    ids = _json_ids(path, text) if text.lstrip()[:1] in ("[", "{") else text.replace("\r\n", "\n").split("\n")
    found = dict.fromkeys(one for one in ids if one.strip())
    if not found:
        raise ImportFileError(f"{path.name!r} holds no ids; write a JSON list, or one id in a line")
    return found


def _json_ids(path: Path, text: str) -> list[str]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ImportFileError(f"{path.name!r} is no JSON: {error}") from error
    if not isinstance(value, list):
        raise ImportFileError(f"{path.name!r} must be a JSON list of ids")
    for one in value:
        if isinstance(one, bool) or not isinstance(one, str | int):
            raise ImportFileError(
                f"{path.name!r} must be a JSON list of ids; it holds {json.dumps(one)[:60]}"
            )
    return [str(one) for one in value]
