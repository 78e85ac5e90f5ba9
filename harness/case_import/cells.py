"""The value that a field gets from a cell, by rules that never guess: what does not fit is refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from harness.benchmarks.case_files import shown
from harness.canonical import JSON
from harness.case_import.fields import Kind
from harness.case_import.literals import as_json, looks_like_one, read_literal
from harness.case_import.row import CellError

YES: Final = frozenset({"true", "yes", "1"})
NO: Final = frozenset({"false", "no", "0"})
"""How yes and no may be written, in upper or lower case."""

_NUMBERS: Final = re.compile(r"\s*-?\d+(?:\.0+)?(?:\s*,\s*-?\d+(?:\.0+)?)*\s*", re.ASCII)
_WHOLE: Final = re.compile(r"-?\d{1,15}", re.ASCII)


def is_empty(cell: object) -> bool:
    """Tell whether a cell holds nothing: null, or NaN, as some tools write what is missing."""
    return cell is None or (isinstance(cell, float) and cell != cell)


def value_of(kind: Kind, cell: object) -> JSON:
    """Return what a cell that is not empty is to a field of this kind, media apart. Raises CellError."""
    return _READERS[kind](cell)


def _name(cell: object) -> JSON:
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int) and not isinstance(cell, bool):
        return str(cell)
    raise CellError(f"must be text or a whole number, got {_seen(cell)}")


def _text(cell: object) -> JSON:
    if isinstance(cell, str):
        return cell
    raise CellError(f"must be text, got {_seen(cell)}")


def _texts(cell: object) -> JSON:
    if isinstance(cell, str):
        if not looks_like_one(cell):
            raise CellError(f'must be a list as ["a", "b"], got {_seen(cell)}')
        cell = read_literal(cell)
    if isinstance(cell, list | tuple) and all(isinstance(item, str) for item in cell):
        return [str(item) for item in cell]
    raise CellError(f"must be a list of texts, got {_seen(cell)}")


def _tags(cell: object) -> JSON:
    if isinstance(cell, str) and not looks_like_one(cell):
        return [cell] if cell.strip() else []
    return _texts(cell)


def _flag(cell: object) -> JSON:
    if isinstance(cell, bool):
        return cell
    written = str(cell).strip().casefold() if isinstance(cell, str | int) else ""
    if written in YES or written in NO:
        return written in YES
    raise CellError(f"must be true, yes, 1 or false, no, 0, got {_seen(cell)}")


def _described(cell: object) -> JSON:
    if isinstance(cell, str) and looks_like_one(cell):
        cell = read_literal(cell)
    return as_json(cell) if isinstance(cell, Mapping) else _flag(cell)


def _numbers(cell: object) -> JSON:
    if isinstance(cell, str):
        cell = cell.split(",") if _NUMBERS.fullmatch(cell) else read_literal(cell)
    if not isinstance(cell, list | tuple):
        raise CellError(f"must be a list of whole numbers, got {_seen(cell)}")
    return [_whole(item) for item in cell]


def _box(cell: object) -> JSON:
    numbers = _numbers(cell)
    if not isinstance(numbers, list) or len(numbers) != 4:
        raise CellError(f"must be four whole numbers of pixels [x0, y0, x1, y1], got {_seen(cell)}")
    return numbers


def _whole(item: object) -> int:
    """Return a whole number; 12.0 is one, and so is "12"."""
    if isinstance(item, str):
        item = item.strip().partition(".")[0] if _NUMBERS.fullmatch(item) else item
        if _WHOLE.fullmatch(item):
            return int(item)
    elif isinstance(item, float) and item.is_integer():
        return int(item)
    elif isinstance(item, int) and not isinstance(item, bool):
        return item
    raise CellError(f"must hold whole numbers, got {_seen(item)}")


def _json(cell: object) -> JSON:
    return read_literal(cell) if isinstance(cell, str) else as_json(cell)


def _media(cell: object) -> JSON:
    raise AssertionError("media are taken by harness.case_import.media_files")


def _seen(cell: object) -> str:
    """Return how messages show a cell: its start, or what it is where it is no JSON."""
    try:
        return shown(as_json(cell))
    except CellError:
        return f"{len(cell):,} bytes" if isinstance(cell, bytes) else type(cell).__name__


_READERS: Final[Mapping[Kind, Callable[[object], JSON]]] = MappingProxyType(
    {
        "id": _name,
        "name": _name,
        "text": _text,
        "texts": _texts,
        "tags": _tags,
        "flag": _flag,
        "described": _described,
        "numbers": _numbers,
        "box": _box,
        "json": _json,
        "image": _media,
        "images": _media,
        "videos": _media,
    }
)
