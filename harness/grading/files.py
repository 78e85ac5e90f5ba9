"""Files of grades: JSON lines and CSV, read line by line with everything that is wrong, and written."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Final, Literal, TypeAlias

from harness.cache.grades import Grade
from harness.canonical import JSON
from harness.errors import CaseFileError, ImportFileError
from harness.grading.rows import FIELDS, OPTIONAL, FieldError, GradeRow, cell_value, read_row, row_fields
from harness.nearest import nearest_or_known
from harness.offline.cells import escape_cell, unescape_cell

GradeFormat: TypeAlias = Literal["jsonl", "csv"]
FORMATS: Final[tuple[GradeFormat, ...]] = ("jsonl", "csv")
MOST_NAMED: Final = 10
"""Faults that are named; the others are counted."""

_FEW_LINES: Final = 3
_LINE: Final = re.compile(r"line (\d+): ")
_TEXTS: Final = ("model", "condition", "case_id", "rater", "question")


def format_of(path: Path) -> GradeFormat:
    """Return the format that a file's name tells. Raises ImportFileError."""
    match path.suffix.casefold():
        case ".jsonl" | ".ndjson":
            return "jsonl"
        case ".csv":
            return "csv"
        case _:
            raise ImportFileError(
                f"{str(path)!r} is named neither .csv nor .jsonl; say which it is with --format"
            )


def read_rows(path: Path, file_format: GradeFormat) -> tuple[list[GradeRow], list[str]]:
    """Return the lines of a file that can be read, and what is wrong with the others, each with its line.

    Raises ImportFileError for a file that cannot be read at all.
    """
    text = _text_of(path)
    lines = _json_lines(text) if file_format == "jsonl" else _csv_lines(text, path.name)
    rows, faults = [], []
    for line, fields in lines:
        if isinstance(fields, str):
            faults.append(f"line {line}: {fields}")
            continue
        try:
            rows.append(read_row(line, fields))
        except FieldError as error:
            faults.append(f"line {line}: {error}")
    return rows, faults


def refuse(name: str, faults: Sequence[str]) -> None:
    """Raise ImportFileError where there are faults; names the first, one that many lines have only once."""
    if faults:
        named = _gathered(faults)
        more = len(named) - MOST_NAMED
        told = "; ".join([*named[:MOST_NAMED], *([f"and {more} more"] if more > 0 else [])])
        raise ImportFileError(f"{name!r}: nothing was imported: {told}")


def _gathered(faults: Sequence[str]) -> list[str]:
    """Return the faults in order; one that many lines have is said once, with the first of the lines."""
    lines: dict[str, list[str]] = {}
    for fault in faults:
        found = _LINE.match(fault)
        number, text = ("", fault) if found is None else (found[1], fault[found.end() :])
        lines.setdefault(text, []).append(number)
    told: list[str] = []
    for fault in faults:
        text = _LINE.sub("", fault)
        numbers = lines[text]
        if len(numbers) <= _FEW_LINES:
            told.append(fault)
        elif fault == f"line {numbers[0]}: {text}":
            told.append(f"{len(numbers)} lines ({', '.join(numbers[:_FEW_LINES])} ...): {text}")
    return told


def write_grades(grades: Iterable[Grade], file_format: GradeFormat, stream: IO[bytes]) -> int:
    """Write grades so that `read_rows` gives them back, and return how many there were."""
    count = 0
    if file_format == "csv":
        stream.write(_csv_line(FIELDS))
    for grade in grades:
        count += 1
        fields = row_fields(grade)
        if file_format == "jsonl":
            stream.write(json.dumps(fields, allow_nan=False).encode("ascii") + b"\n")
            continue
        cells = [
            escape_cell(str(fields[name])) if name in _TEXTS else str(fields[name]) for name in FIELDS
        ]
        cells[FIELDS.index("value")] = json.dumps(grade.value, allow_nan=False)
        stream.write(_csv_line(cells))
    return count


def _csv_line(cells: Sequence[str]) -> bytes:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue().encode("utf-8")


def _text_of(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ImportFileError(f"cannot read {str(path)!r}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ImportFileError(
            f"{path.name!r} is not UTF-8 at byte {error.start + 1}; save it as UTF-8"
        ) from error


def _json_lines(text: str) -> Iterator[tuple[int, Mapping[str, JSON] | str]]:
    # Only LF ends a line: U+2028 may stand in a text.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, _object(line)


def _object(line: str) -> Mapping[str, JSON] | str:
    try:
        found = json.loads(line, object_pairs_hook=_once, parse_constant=_no_constant)
    except _TwiceError as error:
        return f"{str(error)!r} stands twice in it; leave one out"
    except (ValueError, RecursionError) as error:
        return f"it is no JSON: {error}"
    if not isinstance(found, dict):
        return 'it is no JSON object; write {"model": ..., "case_id": ..., ...}'
    try:
        _check_columns(list(found))
    except FieldError as error:
        return str(error)
    return found


class _TwiceError(Exception):
    """A field stands twice in one object."""


def _once(pairs: Sequence[tuple[str, JSON]]) -> dict[str, JSON]:
    found: dict[str, JSON] = {}
    for name, value in pairs:
        if name in found:
            raise _TwiceError(name)
        found[name] = value
    return found


def _no_constant(text: str) -> JSON:
    raise ValueError(f"{text} is no JSON number")


def _csv_lines(text: str, name: str) -> Iterator[tuple[int, Mapping[str, JSON] | str]]:
    csv.field_size_limit(sys.maxsize)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        columns = [column.strip() for column in next(reader, [])]
        try:
            _check_columns(columns)
        except FieldError as error:
            raise ImportFileError(f"{name!r}, line 1: {error}") from None
        began = reader.line_num + 1
        for cells in reader:
            line, began = began, reader.line_num + 1
            if any(cell.strip() for cell in cells):
                yield line, _fields(columns, cells)
    except csv.Error as error:
        raise ImportFileError(f"{name!r}, line {reader.line_num}: it is no CSV: {error}") from error


def _fields(columns: Sequence[str], cells: Sequence[str]) -> Mapping[str, JSON] | str:
    if len(cells) != len(columns):
        return f"{len(cells)} cells, and the head has {len(columns)}; put a text with commas in double quotes"
    found: dict[str, JSON] = {}
    try:
        for column, cell in zip(columns, cells, strict=True):
            if not cell.strip():
                found[column] = None
            elif column in _TEXTS:
                found[column] = unescape_cell(cell)
            else:
                found[column] = cell_value(cell.strip()) if column == "value" else cell.strip()
    except CaseFileError as error:
        return f"{error}; write a backslash of the text itself twice"
    except FieldError as error:
        return str(error)
    return found


def _check_columns(columns: Sequence[str]) -> None:
    """Raise FieldError for columns that are unknown, missing or there twice."""
    for name in columns:
        if name not in FIELDS:
            hint = "; separate cells by commas" if ";" in name or "\t" in name else ""
            raise FieldError(f"unknown column {name!r}{hint or nearest_or_known(name, FIELDS)}")
        if columns.count(name) > 1:
            raise FieldError(f"the column {name!r} stands twice; leave one out")
    missing = [name for name in FIELDS if name not in columns and name not in OPTIONAL]
    if missing:
        raise FieldError(f"there is no {', '.join(map(repr, missing))}; add it")
