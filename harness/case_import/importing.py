"""A whole table into a case folder: every row is a sound case, or the folder is not made."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from harness.benchmarks.base import Case
from harness.benchmarks.case_files import CASES_FILE, DATASET_FILE, line_of
from harness.canonical import JSON
from harness.case_import.building import CaseBuilder, RowFaultsError
from harness.case_import.column_map import ColumnMap
from harness.case_import.fields import CaseTable
from harness.case_import.media_files import MediaFiles
from harness.case_import.row import Row, Source
from harness.errors import ImportFileError
from harness.new_folder import new_folder

SKIPPED_FILE: Final = "skipped.jsonl"
"""Where rows stand that were left out: row, line, id and reasons, one object a line."""
MOST_KEPT: Final = 1_000
"""Bad rows that are kept to be listed; the others are counted."""

_EVERY: Final = 5_000


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What the user wants. `check` returns what is wrong with a written folder; None: nobody looks."""

    out: Path
    media_dir: Path | None = None
    link: bool = False
    ids: Mapping[str, None] | None = None
    limit: int | None = None
    skip_bad: bool = False
    synthetic: bool = False
    check: Callable[[Path], list[str]] | None = None


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that is no sound case: how messages name it, its id where it has one, and why."""

    place: str
    case_id: str | None
    reasons: tuple[str, ...]


@dataclass(slots=True)
class Imported:
    """What came of it: `rows` looked at; `bad`, the first of `n_bad`; `unused` columns, which fill nothing.

    `missing_ids`: wanted ones that no row has. `second_ids`: those of cases whose id an earlier row had too,
    which was left out. `problems`: what the check of the folder found.
    """

    rows: int = 0
    cases: int = 0
    n_bad: int = 0
    bad: list[BadRow] = field(default_factory=list)
    missing_ids: list[str] = field(default_factory=list)
    second_ids: list[str] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    written: bool = False


Noted = Callable[[Case], None]
Progress = Callable[[int], None]


def import_cases(
    source: Source,
    table: CaseTable,
    columns: ColumnMap,
    options: ImportOptions,
    *,
    noted: Noted = lambda case: None,
    progress: Progress = lambda rows: None,
) -> Imported:
    """Make the case folder of a table; `noted` sees each case, `progress` the number of rows now and then.

    Raises ImportFileError for a source that cannot be read or has no rows that are wanted, ConfigError where
    the folder exists, SpoolError where the disk fails. Nothing is left behind then.
    """
    found = Imported()
    with new_folder(options.out) as draft:
        files = MediaFiles(draft.path, options.media_dir or source.folder, options.link)
        writing = _Writing(CaseBuilder(table, columns, files), options, found, noted, progress)
        with (draft.path / CASES_FILE).open("wb") as cases, (draft.path / SKIPPED_FILE).open("wb") as skipped:
            writing.write(source.rows(columns.wanted), cases, skipped)
            cases.flush()
            os.fsync(cases.fileno())
        names = dict.fromkeys([*(one.name for one in source.columns()), *writing.seen_columns])
        found.unused = [name for name in names if name not in columns.wanted]
        if not found.n_bad:
            (draft.path / SKIPPED_FILE).unlink()
        if options.synthetic:
            (draft.path / DATASET_FILE).write_bytes(b'{"synthetic": true}\n')
        sound = options.skip_bad or not (found.n_bad or found.missing_ids)
        if sound and found.cases:
            found.problems = [] if options.check is None else options.check(draft.path)
            if not found.problems:
                draft.keep()
    found.written = draft.kept
    return found


@dataclass(slots=True)
class _Writing:
    """The loop over rows, and what it remembers: ids, since each may stand there once.

    A row that is left out has no claim on its id. Where none may be left out, all that is wrong is told.
    """

    builder: CaseBuilder
    options: ImportOptions
    found: Imported
    noted: Noted
    progress: Progress
    seen_columns: dict[str, None] = field(default_factory=dict)
    _places: dict[str, tuple[int, int | None]] = field(default_factory=dict)
    _left_out: set[str] = field(default_factory=set)

    def write(self, rows: Iterator[Row], cases: IO[bytes], skipped: IO[bytes]) -> None:
        for row in self._wanted(rows):
            try:
                value = self._case(row)
            except RowFaultsError as error:
                self._bad(row, error.reasons, skipped)
                continue
            cases.write(line_of(value))
            self.found.cases += 1
            if (case_id := str(value["id"])) in self._left_out:
                self._left_out.remove(case_id)
                self.found.second_ids.append(case_id)
        if self.options.ids is not None and not self._limited:
            self.found.missing_ids = [one for one in self.options.ids if one not in self._places]
        if not self.found.rows:
            raise ImportFileError(
                "the table has no rows" if self.options.ids is None else "no row has one of the ids of --ids"
            )

    @property
    def _limited(self) -> bool:
        return self.options.limit is not None and self.found.rows >= self.options.limit

    def _wanted(self, rows: Iterator[Row]) -> Iterator[Row]:
        for row in rows:
            if row.number % _EVERY == 0:
                self.progress(row.number)
            self.seen_columns |= dict.fromkeys(row.cells)
            if self._is_wanted(row):
                self.found.rows += 1
                yield row
                if self._limited:
                    return

    def _is_wanted(self, row: Row) -> bool:
        """Tell whether a row is one of those of --ids, or might be: one without an id is told as bad."""
        ids = self.options.ids
        return ids is None or (case_id := self._id(row)) is None or case_id in ids

    def _id(self, row: Row) -> str | None:
        try:
            return None if row.fault else self.builder.case_id(row)
        except RowFaultsError:
            return None

    def _case(self, row: Row) -> Mapping[str, JSON]:
        if row.fault is not None:
            raise RowFaultsError([row.fault])
        case_id = self.builder.case_id(row)
        if case_id in self._left_out:
            self._places[case_id] = row.number, row.line
        number, line = self._places.setdefault(case_id, (row.number, row.line))
        if number != row.number:
            raise RowFaultsError(
                [f"id {case_id!r} is that of {Row(number, {}, line).place}; give each case its own"]
            )
        built = self.builder.build(row)
        self.noted(built.case)
        return built.value

    def _bad(self, row: Row, reasons: Collection[str], skipped: IO[bytes]) -> None:
        case_id = self._id(row)
        if self.options.skip_bad and case_id is not None and self._places[case_id][0] == row.number:
            self._left_out.add(case_id)
        self.found.n_bad += 1
        if len(self.found.bad) < MOST_KEPT:
            self.found.bad.append(BadRow(row.place, case_id, tuple(reasons)))
        told: dict[str, JSON] = {"row": row.number, "line": row.line, "id": case_id, "reasons": [*reasons]}
        skipped.write(line_of(told))
