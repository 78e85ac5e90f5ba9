"""One row becomes one case, or the reasons why it cannot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from harness.benchmarks.base import Case
from harness.canonical import JSON
from harness.case_import.cells import is_empty, value_of
from harness.case_import.column_map import ColumnMap
from harness.case_import.fields import LISTS, MEDIA, CaseTable, Field, Nothing
from harness.case_import.media_files import MediaFiles
from harness.case_import.row import CellError, Row
from harness.media import Media

_ID: Final = "id"


class RowFaultsError(ValueError):
    """A row cannot become a sound case."""

    def __init__(self, reasons: list[str]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons


@dataclass(frozen=True, slots=True)
class Built:
    """A line of a case file, and the case that it is."""

    value: Mapping[str, JSON]
    case: Case


@dataclass(frozen=True, slots=True)
class CaseBuilder:
    """Makes cases of one benchmark from rows; media are written on the way."""

    table: CaseTable
    columns: ColumnMap
    files: MediaFiles

    def case_id(self, row: Row) -> str:
        """Return the id of a row's case. Raises RowFaultsError."""
        (field,) = (one for one in self.table.fields if one.kind == _ID)
        try:
            found = self._value(field, self._cells(field, row), {})
        except CellError as error:
            raise RowFaultsError([f"{field.name!r} {error}"]) from error
        return str(found)

    def build(self, row: Row) -> Built:
        """Return the case of a row, sound by all that its benchmark asks. Raises RowFaultsError."""
        self.files.begin()
        try:
            return self._built(row)
        except RowFaultsError:
            self.files.discard()
            raise

    def _built(self, row: Row) -> Built:
        reasons: list[str] = []
        value: dict[str, JSON] = {}
        media: dict[str, Media] = {}
        for field in self.table.fields:
            try:
                found = self._field(field, row, media)
            except CellError as error:
                reasons.append(f"{field.name!r} {error}")
                continue
            if not isinstance(found, Nothing):
                _put(value, field, found)
        if not reasons:
            reasons.extend(self.table.faults(value))
        if reasons:
            raise RowFaultsError(reasons)
        case = self.table.form.case(value, [media[name] for name in self.table.form.media(value)])
        if case.problem is not None:
            raise RowFaultsError([case.problem])
        return Built(value, case)

    def _field(self, field: Field, row: Row, media: dict[str, Media]) -> JSON | Nothing:
        """Return the value of a field, or that it is left out. Raises CellError."""
        if field.name not in self.columns.columns and field.name not in self.columns.constants:
            return [] if field.empty == () else Nothing.LEFT_OUT
        cells = self._cells(field, row)
        if not cells and field.empty is Nothing.LEFT_OUT:
            return Nothing.LEFT_OUT
        return self._value(field, cells, media)

    def _cells(self, field: Field, row: Row) -> list[object]:
        """Return the cells of a field that hold something."""
        if field.name in self.columns.constants:
            found: list[object] = [self.columns.constants[field.name]]
        else:
            found = [path.cell(row) for path in self.columns.columns[field.name]]
        return [cell for cell in found if not is_empty(cell)]

    def _value(self, field: Field, cells: list[object], media: dict[str, Media]) -> JSON:
        if not cells:
            if field.empty is Nothing.REFUSED:
                raise CellError("is empty")
            return [] if field.empty == () else None
        if field.kind in MEDIA:
            return self._media(field, cells, media)
        if field.kind not in LISTS:
            return value_of(field.kind, cells[0])
        joined: list[JSON] = []
        for cell in cells:
            part = value_of(field.kind, cell)
            assert isinstance(part, list)
            joined.extend(part)
        return joined

    def _media(self, field: Field, cells: list[object], media: dict[str, Media]) -> JSON:
        wanted = "video" if field.kind == "videos" else "image"
        paths: list[JSON] = []
        for cell in cells:
            for taken in self.files.take(cell):
                if taken.media.kind != wanted:
                    raise CellError(f"holds {taken.media.mime}, and it takes {wanted}s")
                if taken.path in paths:
                    first = paths.index(taken.path) + 1
                    raise CellError(f"holds one {wanted} twice, as numbers {first} and {len(paths) + 1}")
                media[taken.path] = taken.media
                paths.append(taken.path)
        if field.kind == "image":
            if len(paths) != 1:
                raise CellError(f"holds {len(paths)} images, and it takes one")
            return paths[0]
        return paths


def _put(value: dict[str, JSON], field: Field, found: JSON) -> None:
    """Set a field, or a part of one over what its whole says of it."""
    whole = field.part_of
    if whole is None:
        value[field.name] = dict(found) if isinstance(found, Mapping) else found
        return
    parts = value.setdefault(whole, {})
    if not isinstance(parts, dict):
        raise RowFaultsError([f"{whole!r} must be an object, since {field.name!r} is a part of it"])
    parts[field.name.partition(".")[2]] = found
