"""Case files as every benchmark reads them: JSON lines, strict, with errors that name the line.

A `Reader` gathers every problem of a file, so that `harness data check` lists all and `load` the first.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

from harness.canonical import JSON
from harness.errors import CaseFileError
from harness.file_json import read_json
from harness.nearest import nearest_or_known

CASES_FILE: Final = "cases.jsonl"
DATASET_FILE: Final = "dataset.json"
"""Optional facts about a folder: {"synthetic": true|false, "note": "..."}."""

_MEND_MARK: Final = 'write {"synthetic": true} where the cases are made up, else delete the file'
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Fields:
    """The names that one object of a file must have and may have."""

    required: tuple[str, ...]
    optional: tuple[str, ...] = ()

    @property
    def known(self) -> tuple[str, ...]:
        """All names, the required ones first."""
        return (*self.required, *self.optional)


@dataclass(frozen=True, slots=True)
class Line:
    """One object of a file, and where it stands; `number` counts from 1."""

    file: str
    number: int
    value: Mapping[str, JSON]

    @property
    def place(self) -> str:
        """Return how messages name this line."""
        return f"{self.file} line {self.number}"


@dataclass(slots=True)
class Reader:
    """Reads the files of one folder; `problems` grows with each fault, in the order of the lines."""

    folder: Path
    problems: list[str] = field(default_factory=list)

    def lines(self, name: str, fields: Fields) -> Iterator[Line]:
        """Give the sound lines of a JSONL file below the folder, each with a unique text `id`.

        The file is read as it is asked for, never held in memory. One that changes meanwhile is a problem.
        """
        path = self.folder / name
        try:
            with path.open("rb") as file:
                before = _state(os.fstat(file.fileno()))
                yield from self._sound(_objects(name, file), fields, {}, {})
                if before != _state(os.fstat(file.fileno())) or before != _state(path.stat()):
                    self.problems.append(
                        f"{name} in {str(self.folder)!r} changed while it was read; wait until it is "
                        "written, then run again"
                    )
        except FileNotFoundError:
            mend = "; `harness data import` makes one from a table" if name == CASES_FILE else ""
            self.problems.append(f"{name} does not exist in {str(self.folder)!r}{mend}")
        except OSError as error:
            self.problems.append(f"cannot read {name} in {str(self.folder)!r}: {error.strerror}")

    def _sound(
        self, lines: Iterable[Line | str], fields: Fields, seen: dict[str, int], odd: dict[str, JSON]
    ) -> Iterator[Line]:
        for line in lines:
            if isinstance(line, str):
                self.problems.append(line)
                continue
            faults = [*_field_faults(line.value, fields), *_id_faults(line, seen, odd)]
            self.problems.extend(f"{line.place}: {fault}" for fault in faults)
            if not faults:
                yield line

    def raise_first(self) -> None:
        """Raise CaseFileError when there are problems, with the first one and the number of the others."""
        if not self.problems:
            return
        more = len(self.problems) - 1
        rest = f" (and {more} more; `harness data check` lists all)" if more else ""
        raise CaseFileError(f"{self.problems[0]}{rest}")


def text_fault(name: str, value: JSON) -> str | None:
    """Return what is wrong with a field that must be text with something in it."""
    if not isinstance(value, str):
        return f"{name!r} must be text, got {shown(value)}"
    return None if value.strip() else f"{name!r} is blank"


def text_list_fault(name: str, value: JSON) -> str | None:
    """Return what is wrong with a field that must be a list of distinct texts."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return f"{name!r} must be a list of texts, got {shown(value)}"
    twice = sorted({str(item) for item in value if value.count(item) > 1})
    return f"{name!r} names {twice[0]!r} twice" if twice else None


def path_fault(name: str, value: JSON) -> str | None:
    """Return what is wrong with a medium's path, which must stay below the folder.

    The path is judged as written: links that the owner of the folder made are followed.
    """
    if (fault := text_fault(name, value)) is not None:
        return fault
    written = str(value)
    if "\\" in written or "\0" in written:
        return f"{name!r} must be a path with forward slashes, got {written!r}"
    path = PurePosixPath(written)
    if path.is_absolute() or ".." in path.parts or written[1:2] == ":":
        return f"{name!r} must stay below the folder of the cases, got {written!r}"
    return None


def id_fault(found: JSON) -> str | None:
    """Return what is wrong with a case's id by itself."""
    if not isinstance(found, str):
        return f"'id' must be text, got {shown(found)}; write it in quotes"
    if not found or found != found.strip() or not found.isprintable():
        return f"'id' must be visible text without spaces around it, got {found!r}"
    return None


def shown(value: JSON) -> str:
    """Return how messages show a value that is wrong: as JSON, the start of it where it is long."""
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= 60 else f"{text[:57]}..."


def is_synthetic(folder: Path) -> bool:
    """Tell whether a folder says that its cases are made up. Raises CaseFileError on a bad marker file."""
    path = folder / DATASET_FILE
    try:
        data = path.read_bytes().removeprefix(_BOM)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise CaseFileError(f"cannot read {str(path)!r}: {error.strerror}; check its permissions") from error
    try:
        facts = json.loads(data.decode("utf-8"))
    except ValueError as error:
        raise CaseFileError(f"{DATASET_FILE} is no JSON: {error}; {_MEND_MARK}") from error
    if not isinstance(facts, dict) or not isinstance(facts.get("synthetic"), bool):
        raise CaseFileError(f'{DATASET_FILE} must be an object with "synthetic" true or false; {_MEND_MARK}')
    for name in facts:
        if name not in ("synthetic", "note"):
            raise CaseFileError(
                f"{DATASET_FILE}: unknown field {name!r}{nearest_or_known(name, ('synthetic', 'note'))}"
            )
    return bool(facts["synthetic"])


def line_of(value: Mapping[str, JSON]) -> bytes:
    """Return an object as a line of a file: as text, or in ASCII where a lone surrogate stands in it."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8") + b"\n"
    except UnicodeEncodeError:
        return json.dumps(value, ensure_ascii=True, allow_nan=False).encode("ascii") + b"\n"


def _state(found: os.stat_result) -> tuple[int, ...]:
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def _objects(name: str, file: Iterable[bytes]) -> Iterator[Line | str]:
    """Yield each object, or what is wrong with its line. Only LF ends a line: U+2028 may stand in text.

    A file that begins with a bracket alone in its line is no JSON lines: that is said once, for all of it.
    """
    first = True
    for number, ended in enumerate(file, start=1):
        raw = ended.removesuffix(b"\n")
        if number == 1:
            raw = raw.removeprefix(_BOM)
        if first and raw.strip() in (b"{", b"["):
            yield (
                f"{name} line {number}: {raw.decode().strip()!r} stands alone in its line; write each object "
                "on one line, with no list around them and no comma between them"
            )
            return
        if raw.strip():
            first = False
            yield _object(name, number, raw)


def _object(name: str, number: int, raw: bytes) -> Line | str:
    try:
        value = read_json(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        where = f"byte {error.start + 1} of the line"
        return f"{name} line {number}: not UTF-8 at {where}; save the file as UTF-8"
    except json.JSONDecodeError as error:
        return f"{name} line {number}: no JSON object: {error.msg} at column {error.colno}"
    except (ValueError, RecursionError) as error:
        return f"{name} line {number}: {error}"
    if isinstance(value, dict):
        return Line(name, number, value)
    return f"{name} line {number}: must be one JSON object, got {shown(value)}"


def _field_faults(value: Mapping[str, JSON], fields: Fields) -> Iterator[str]:
    for name in value:
        if name not in fields.known:
            yield f"unknown field {name!r}{nearest_or_known(name, fields.known)}"
    for name in fields.required:
        if name not in value:
            yield f"field {name!r} is missing"


def _id_faults(line: Line, seen: dict[str, int], odd: dict[str, JSON]) -> Iterator[str]:
    """Yield what is wrong with a line's id; `seen`: id -> line, `odd`: ids that are no text, as written."""
    if "id" not in line.value:
        return
    found = line.value["id"]
    shape = id_fault(found)
    if shape is not None:
        yield shape
    if isinstance(found, bool) or not isinstance(found, str | int | float):
        return
    text = str(found)
    earlier = seen.setdefault(text, line.number)
    if earlier != line.number:
        yield f"id {found!r} is that of line {earlier} ({odd.get(text, text)!r}); give each case its own"
    elif not isinstance(found, str):
        odd[text] = found
