"""Files of grades: JSON lines and CSV, read line by line with everything that is wrong, and written."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Final, Literal, NamedTuple, TypeAlias

from harness.cache.grades import Grade
from harness.canonical import JSON
from harness.errors import CaseFileError, ImportFileError
from harness.file_json import TwiceError, read_json
from harness.grading.rows import (
    FIELDS,
    OPTIONAL,
    Fault,
    FieldError,
    GradeRow,
    cell_value,
    read_row,
    row_fields,
)
from harness.nearest import nearest_or_known
from harness.offline.cells import escape_cell, unescape_cell

GradeFormat: TypeAlias = Literal["jsonl", "csv"]
MOST_NAMED: Final = 20
"""Faults that are named; the others are counted."""

_FEW_LINES: Final = 3
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


def read_rows(path: Path, file_format: GradeFormat) -> tuple[list[GradeRow], list[Fault]]:
    """Return the lines of a file, and what is wrong with any of their fields.

    A line of which only some fields can be read is among them, since more may be wrong with those.
    Raises ImportFileError for a file that cannot be read at all.
    """
    text = _text_of(path)
    rows: list[GradeRow] = []
    faults: list[Fault] = []
    for line in _json_lines(text) if file_format == "jsonl" else _csv_lines(text):
        told = line.faults
        if line.fields is not None:
            row, wrong = read_row(line.number, line.fields, line.unread)
            rows.append(row)
            told = [*told, *wrong]
        faults += [Fault(line.number, text) for text in told]
    return rows, faults


def refuse(name: str, faults: Sequence[Fault]) -> None:
    """Raise ImportFileError where there are faults; names the first, one that many lines have only once.

    They are told by the order of their lines; one of the whole file comes first.
    """
    if faults:
        named = _gathered(sorted(faults, key=lambda one: one.line))
        more = len(named) - MOST_NAMED
        told = "; ".join([*named[:MOST_NAMED], *([f"and {more} more"] if more > 0 else [])])
        raise ImportFileError(f"{name!r}: nothing was imported: {told}")


def _gathered(faults: Sequence[Fault]) -> list[str]:
    """Return the faults in words, in order; one that many lines have is said once, with the first of them."""
    lines: dict[str, list[int]] = {}
    for fault in faults:
        lines.setdefault(fault.text, []).append(fault.line)
    told: list[str] = []
    for fault in faults:
        numbers = lines[fault.text]
        if len(numbers) <= _FEW_LINES:
            told.append(str(fault))
        elif fault.line == numbers[0]:
            first = ", ".join(map(str, numbers[:_FEW_LINES]))
            told.append(f"{len(numbers)} lines ({first} ...): {fault.text}")
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
        cells = [escape_cell(str(fields[name])) if name in _TEXTS else str(fields[name]) for name in FIELDS]
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


class _Line(NamedTuple):
    """A line as it is read: None where nothing of it can be; `unread`: fields that `faults` speak of."""

    number: int
    fields: Mapping[str, JSON] | None
    faults: Sequence[str] = ()
    unread: Sequence[str] = ()


def _json_lines(text: str) -> Iterator[_Line]:
    # Only LF ends a line: U+2028 may stand in a text.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield _object(number, line)


def _object(number: int, line: str) -> _Line:
    try:
        found = read_json(line)
    except TwiceError as error:
        return _Line(number, None, [f"{error.name!r} stands twice in it; leave one out"])
    except (ValueError, RecursionError) as error:
        return _Line(number, None, [f"it is no JSON: {error}"])
    if not isinstance(found, dict):
        return _Line(number, None, ['it is no JSON object; write {"model": ..., "case_id": ..., ...}'])
    return _Line(number, found, list(_column_faults(list(found))))


def _csv_lines(text: str) -> Iterator[_Line]:
    """Yield the lines of a table; the first is its head, where anything is wrong with that."""
    csv.field_size_limit(sys.maxsize)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        columns = [column.strip() for column in next(reader, [])]
        faults = list(_column_faults(columns))
        if faults:
            yield _Line(1, None, faults)
        began = reader.line_num + 1
        for cells in () if _is_cut_otherwise(columns) else reader:
            line, began = began, reader.line_num + 1
            if any(cell.strip() for cell in cells):
                yield _row_line(line, columns, cells)
    except csv.Error as error:
        yield _Line(reader.line_num, None, [f"it is no CSV: {error}"])


def _row_line(number: int, columns: Sequence[str], cells: Sequence[str]) -> _Line:
    if len(cells) != len(columns):
        told = f"{len(cells)} cells, and the head has {len(columns)}; put a text with commas in double quotes"
        return _Line(number, None, [told])
    found: dict[str, JSON] = {}
    faults: list[str] = []
    unread = [name for name in columns if columns.count(name) > 1]
    for column, cell in zip(columns, cells, strict=True):
        try:
            found[column] = _cell(column, cell)
        except CaseFileError as error:
            faults.append(f"{error}; write a backslash of the text itself twice")
            unread.append(column)
        except FieldError as error:
            faults.append(str(error))
            unread.append(column)
    return _Line(number, found, faults, unread)


def _cell(column: str, cell: str) -> JSON:
    if not cell.strip():
        return None
    if column in _TEXTS:
        return unescape_cell(cell)
    return cell_value(cell.strip()) if column == "value" else cell.strip()


def _column_faults(columns: Sequence[str]) -> Iterator[str]:
    """Yield what is wrong with the names of columns: those that are unknown, there twice, or missing."""
    for name in dict.fromkeys(columns):
        if name not in FIELDS:
            hint = (
                "; separate cells by commas" if _is_cut_otherwise([name]) else nearest_or_known(name, FIELDS)
            )
            yield f"unknown column {name!r}{hint}"
        if columns.count(name) > 1:
            yield f"the column {name!r} stands twice; leave one out"
    missing = [name for name in FIELDS if name not in columns and name not in OPTIONAL]
    if missing and not _is_cut_otherwise(columns):
        yield f"there is no {', '.join(map(repr, missing))}; add it"


def _is_cut_otherwise(columns: Sequence[str]) -> bool:
    """Tell whether cells are cut by what is no comma, so that nothing else can be said of them."""
    return any(";" in name or "\t" in name for name in columns)
