"""Case files into cases, in memory that does not grow with them: checked first, then their media looked at.

So a bad line is told before a single image is read, and what is asked is what was checked, whatever
happens to the file in between.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final, TypeAlias

from harness.benchmarks.base import Case, CaseSet
from harness.benchmarks.case_files import CASES_FILE, Fields, Line, Reader, is_synthetic
from harness.canonical import JSON
from harness.case_spool import SpooledCases, SpoolWriter
from harness.errors import CaseFileError, MediaError
from harness.line_spool import LineSpool
from harness.media import Media, MediaKind, of_kind
from harness.media_reading import MediaReader, Note

BATCH: Final = 500
"""Cases whose media are looked up at once."""

_IMAGE: Final[MediaKind] = "image"

FaultsOf: TypeAlias = Callable[[Mapping[str, JSON]], Iterator[str]]


@dataclass(frozen=True, slots=True)
class CaseForm:
    """How the lines of one benchmark become cases.

    `faults` yields what is wrong with a line, `media` returns the paths of its files as written, `case` makes
    the case of a line without faults and of what these files are. `kinds` returns what each file must be;
    None: images, all of them.
    """

    fields: Fields
    faults: FaultsOf
    media: Callable[[Mapping[str, JSON]], Sequence[str]]
    case: Callable[[Mapping[str, JSON], Sequence[Media | MediaError]], Case]
    kinds: Callable[[Mapping[str, JSON]], Sequence[MediaKind]] | None = None


class CheckedLines:
    """The sound lines of a case file, kept in a temporary file until their cases are wanted."""

    def __init__(self, form: CaseForm) -> None:
        self._form = form
        self._n_media = 0
        self.ids: list[str] = []
        self._lines = LineSpool()

    def read(self, reader: Reader) -> None:
        """Check the case file of the reader's folder; what is wrong goes into its problems."""
        lines = reader.lines(CASES_FILE, self._form.fields)
        for line in without_faults(reader, lines, self._form.faults):
            self.ids.append(str(line.value["id"]))
            self._n_media += len(self._form.media(line.value))
            self._lines.append(json.dumps(line.value).encode("ascii"))
        self._lines.flush()

    def cases(self, folder: Path, media: MediaReader) -> SpooledCases:
        """Return the cases, their media looked at. Raises SpoolError."""
        media.counts.expected = self._n_media
        spool = SpoolWriter()
        with media:
            for start in range(0, len(self._lines), BATCH):
                batch = range(start, min(start + BATCH, len(self._lines)))
                values = [json.loads(self._lines.line(position)) for position in batch]
                self._spool_batch(values, folder, media, spool)
        return spool.finish()

    def _spool_batch(
        self, values: Sequence[Mapping[str, JSON]], folder: Path, media: MediaReader, spool: SpoolWriter
    ) -> None:
        names = [list(self._form.media(value)) for value in values]
        found = media.read([(folder / name, name) for of_case in names for name in of_case])
        for value, of_case in zip(values, names, strict=True):
            seen = list(islice(found, len(of_case)))
            kinds = self._form.kinds(value) if self._form.kinds else [_IMAGE] * len(seen)
            case = self._form.case(value, [*map(_wanted, seen, kinds, of_case)])
            spool.append(case, [one for one in seen if isinstance(one, Note)])


def load_folder(folder: Path, form: CaseForm, media: MediaReader | None = None) -> CaseSet:
    """Read a folder of cases without raters; `media` tells what files are, None: each of them is read.

    Raises CaseFileError that names the first bad line, before any medium is read.
    """
    reader = Reader(folder)
    lines = checked_lines(reader, form)
    reader.raise_first()
    return CaseSet(cases=lines.cases(folder, media or MediaReader()), synthetic=is_synthetic(folder))


def check_folder(folder: Path, form: CaseForm) -> list[str]:
    """Return everything that is wrong with a folder of cases without raters, unusable media included."""
    reader = Reader(folder)
    return folder_problems(reader, checked_lines(reader, form))


def checked_lines(reader: Reader, form: CaseForm) -> CheckedLines:
    """Return the sound lines of the reader's folder; a folder without any case is a problem too."""
    lines = CheckedLines(form)
    if not reader.folder.is_dir():
        shown = str(reader.folder)
        reader.problems.append(f"there is no folder {shown!r}; give --data the folder of {CASES_FILE}")
        return lines
    lines.read(reader)
    if not lines.ids and not reader.problems:
        reader.problems.append(f"{CASES_FILE} holds no cases")
    return lines


def folder_problems(reader: Reader, lines: CheckedLines) -> list[str]:
    """Return what is wrong with a folder that was read: its lines, its mark and its images."""
    problems = list(reader.problems)
    try:
        is_synthetic(reader.folder)
    except CaseFileError as error:
        problems.append(str(error))
    cases = lines.cases(reader.folder, MediaReader())
    problems.extend(f"case {case.id!r}: {case.problem}" for case in cases if case.problem)
    return problems


def _wanted(found: Media | Note | MediaError, kind: MediaKind, name: str) -> Media | MediaError:
    """Return a medium of the wanted kind, else what is wrong with it."""
    if isinstance(found, MediaError):
        return found
    try:
        return of_kind(found.media if isinstance(found, Note) else found, kind, name)
    except MediaError as error:
        return error


def without_faults(reader: Reader, lines: Iterable[Line], faults_of: FaultsOf) -> Iterator[Line]:
    """Give the lines without faults; those of the others go into the reader's problems."""
    for line in lines:
        faults = list(faults_of(line.value))
        reader.problems.extend(f"{line.place}: {fault}" for fault in faults)
        if not faults:
            yield line
