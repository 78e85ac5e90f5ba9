"""One grade as it stands in a file: its fields, their kinds, and the values that they may have."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple, TypeVar

from harness.benchmarks.sheets import COMMENT
from harness.cache.grades import Grade, GradeValue
from harness.canonical import JSON
from harness.file_json import read_json

FIELDS: Final = ("model", "condition", "case_id", "repeat", "rater", "question", "value", "time")
"""The columns of a file of grades, in the order in which they are written."""

OPTIONAL: Final = frozenset({"repeat", "rater", "time"})
"""A file need not have these: repeat 1, the rater of the command line, now."""

T = TypeVar("T")

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_BARE: Final = re.compile(r"[^\W\d_][^\x00-\x1f\x7f]*")
_NO_WORDS: Final = frozenset({"true", "false", "null", "none", "nan", "na", "inf", "infinity"})
_WHOLE: Final = re.compile(r"[1-9][0-9]{0,8}")


@dataclass(frozen=True, slots=True)
class GradeRow:
    """A line of a file of grades, read; `line` counts from 1. None where the file says nothing.

    `unread`: the fields that could not be read, whose values here mean nothing.
    """

    line: int
    model: str
    condition: str
    case_id: str
    repeat: int
    rater: str | None
    question: str
    value: GradeValue
    graded_at_us: int | None
    unread: frozenset[str] = frozenset()


class Fault(NamedTuple):
    """What is wrong with a file of grades: with a line of it, counted from 1; 0: with all of it."""

    line: int
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}" if self.line else self.text


class FieldError(Exception):
    """A field cannot be read; says why and what to write."""


def read_row(
    line: int, fields: Mapping[str, JSON], unread: Collection[str] = ()
) -> tuple[GradeRow, list[str]]:
    """Return a line's grade, and what is wrong with its fields, each by itself.

    `value` is a JSON scalar, everything else text (`repeat` may be a number). `unread`: fields that are known
    to be wrong already; so are those that a line must have and does not.
    """
    faults: list[str] = []
    wrong = {name for name in FIELDS if name in unread or (name not in fields and name not in OPTIONAL)}

    def read(name: str, how: Callable[[], T], nothing: T) -> T:
        if name in wrong:
            return nothing
        try:
            return how()
        except FieldError as error:
            faults.append(str(error))
            wrong.add(name)
            return nothing

    no_value: GradeValue = ""
    row = GradeRow(
        line=line,
        model=read("model", lambda: _text(fields, "model"), ""),
        condition=read("condition", lambda: _text(fields, "condition"), ""),
        case_id=read("case_id", lambda: _text(fields, "case_id"), ""),
        repeat=read("repeat", lambda: _repeat(fields.get("repeat")), 1),
        rater=None if fields.get("rater") is None else read("rater", lambda: _text(fields, "rater"), ""),
        question=read("question", lambda: _text(fields, "question"), ""),
        value=read(
            "value", lambda: _value(fields["value"], blank=fields.get("question") == COMMENT), no_value
        ),
        graded_at_us=read("time", lambda: _moment(fields.get("time")), None),
    )
    return replace(row, unread=frozenset(wrong)), faults


def row_fields(grade: Grade) -> dict[str, JSON]:
    """Return a grade as a line has it; `read_row` gives the same grade back."""
    return {
        "model": grade.unit.model,
        "condition": grade.unit.condition,
        "case_id": grade.unit.case_id,
        "repeat": grade.unit.repeat,
        "rater": grade.rater,
        "question": grade.question,
        "value": grade.value,
        "time": shown_time(grade.graded_at_us),
    }


def shown_time(microseconds: int) -> str:
    """Return a moment as 2026-01-31T12:00:00.000000Z."""
    return f"{_EPOCH + timedelta(microseconds=microseconds):%Y-%m-%dT%H:%M:%S.%fZ}"


def cell_value(cell: str) -> JSON:
    """Return what a table's cell says: JSON, or a plain word or phrase as text. Raises FieldError.

    What looks like a number, a truth or nothing, and is not written as JSON writes it, is no text: whoever
    wrote it meant something else.
    """
    try:
        found = read_json(cell)
    except (ValueError, RecursionError):
        if _BARE.fullmatch(cell) and cell.casefold() not in _NO_WORDS:
            return cell
        raise FieldError(
            f"'value' {cell!r} is no JSON scalar; write a number as 1 or 0.5, true or false, and a text that "
            "does not begin with a letter in double quotes"
        ) from None
    return found


def _text(fields: Mapping[str, JSON], name: str) -> str:
    value = fields.get(name)
    if value is None or (isinstance(value, str) and not value.strip()):
        raise FieldError(f"{name!r} is blank; fill it in")
    if not isinstance(value, str):
        raise FieldError(f"{name!r} must be text, got {json.dumps(value)}; put it in double quotes")
    return value


def _repeat(value: JSON) -> int:
    if value is None:
        return 1
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 999_999_999:
        return value
    raise FieldError(f"'repeat' must be a whole number from 1, got {value!r}")


def _value(value: JSON, *, blank: bool) -> GradeValue:
    """Return a grade's value; a text may be `blank` where it takes back an earlier one."""
    if value is None or (isinstance(value, str) and not value.strip() and not blank):
        raise FieldError("'value' is blank; leave out the line where nothing was graded")
    if isinstance(value, float) and not math.isfinite(value):
        raise FieldError("'value' is a number beyond all bounds; correct it")
    if isinstance(value, str | int | float):
        return value
    raise FieldError("'value' must be one number, text, true or false, and no list or object")


def _moment(value: JSON) -> int | None:
    if value is None:
        return None
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise FieldError(
            f"'time' {value!r} is no moment with a zone; write 2026-01-31T12:00:00Z, say, or leave it out"
        )
    return (found - _EPOCH) // timedelta(microseconds=1)
