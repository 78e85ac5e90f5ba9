"""Which column or constant fills each field: as the user wrote it, else by a layout, else by its name."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from harness.canonical import JSON
from harness.case_import.fields import LISTS, CaseTable, Field
from harness.case_import.literals import read_literal
from harness.case_import.row import CellError, Row
from harness.errors import ConfigError
from harness.nearest import nearest, nearest_or_known

ROW: Final = "@row"
"""What --map takes in place of a column for the number of the row, as in id=@row."""


@dataclass(frozen=True, slots=True)
class ColumnPath:
    """A column, or a place inside of its objects and lists."""

    column: str
    inner: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ".".join((self.column, *self.inner))

    def cell(self, row: Row) -> object:
        """Return what stands there, None where there is nothing. Raises CellError."""
        if self.column == ROW:
            return f"row-{row.number:06d}"
        value = row.cells.get(self.column)
        for step in self.inner:
            if isinstance(value, str):
                value = read_literal(value)
            if isinstance(value, Mapping):
                value = value.get(step)
            elif isinstance(value, list) and step.isdecimal():
                value = value[int(step)] if int(step) < len(value) else None
            elif value is not None:
                raise CellError(f"has no {step!r}: {self.column!r} holds {type(value).__name__} there")
        return value


@dataclass(frozen=True, slots=True)
class Wish:
    """What a user or a layout wants: field -> columns as written, field -> constant."""

    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    constants: Mapping[str, JSON] = field(default_factory=dict)

    def over(self, other: Wish) -> Wish:
        """Return this wish, and what another one says of the fields that this one is silent about."""
        taken = {*self.columns, *self.constants}
        return Wish(
            {name: value for name, value in other.columns.items() if name not in taken} | dict(self.columns),
            {name: value for name, value in other.constants.items() if name not in taken}
            | dict(self.constants),
        )


@dataclass(frozen=True, slots=True)
class ColumnMap:
    """What fills each field of a table, resolved against the columns that there are."""

    columns: Mapping[str, tuple[ColumnPath, ...]]
    constants: Mapping[str, JSON]

    @property
    def wanted(self) -> frozenset[str]:
        """The columns that are looked at."""
        return frozenset(path.column for paths in self.columns.values() for path in paths) - {ROW}

    def told(self, table: CaseTable) -> Iterator[tuple[str, str]]:
        """Yield each field that is filled, and by what."""
        for name in table.names:
            if name in self.columns:
                yield name, " + ".join(map(str, self.columns[name]))
            elif name in self.constants:
                yield name, f"= {json.dumps(self.constants[name], ensure_ascii=False)}"


def read_wish(maps: Sequence[str], sets: Sequence[str], table: CaseTable) -> Wish:
    """Return what `--map FIELD=COLUMN` and `--set FIELD=JSON` ask for. Raises ConfigError.

    A constant that is no JSON is text. Fields of lists may be mapped several times, in order.
    """
    columns: dict[str, list[str]] = {}
    constants: dict[str, JSON] = {}
    for pair in maps:
        one, written = _pair("--map", pair, "COLUMN", table)
        if one.name in columns and one.kind not in LISTS:
            raise ConfigError(f"--map {one.name}= is given twice; it takes one column")
        columns.setdefault(one.name, []).append(written)
    for pair in sets:
        one, written = _pair("--set", pair, "VALUE", table)
        if one.name in constants or one.name in columns:
            raise ConfigError(f"{one.name!r} is given twice; give one --map or one --set for it")
        try:
            constants[one.name] = json.loads(written)
        except ValueError:
            constants[one.name] = written
    return Wish(columns, constants)


def resolved(wish: Wish, columns: Sequence[str], table: CaseTable) -> ColumnMap:
    """Return the wish with each column found; a field without any takes the column of its own name.

    Raises ConfigError for columns that do not exist.
    """
    paths = {
        name: tuple(_path(name, one, columns) for one in written) for name, written in wish.columns.items()
    }
    for name in table.names:
        if name not in paths and name not in wish.constants and name in columns:
            paths[name] = (ColumnPath(name),)
    ordered = {name: paths[name] for name in table.names if name in paths}
    return ColumnMap(ordered, wish.constants)


def lacking(columns: ColumnMap, names: Sequence[str], table: CaseTable) -> str | None:
    """Return in words which fields nothing fills, with near names and all columns; None: all are filled."""
    missing = table.missing([*columns.columns, *columns.constants])
    if not missing:
        return None
    named = []
    for name in missing:
        near = nearest(name, names).removeprefix("; did you mean ").removesuffix("?")
        named.append(f"{name} (perhaps {near})" if near else name)
    return (
        f"no column and no constant for {', '.join(named)}; give --map FIELD=COLUMN or --set FIELD=VALUE for "
        f"each; columns: {', '.join(names) or 'none'}"
    )


def _pair(option: str, pair: str, what: str, table: CaseTable) -> tuple[Field, str]:
    name, equals, written = pair.partition("=")
    if not equals or not name or not written:
        raise ConfigError(f"{option} {pair!r} is not FIELD={what}, as in {option} {name or 'id'}=...")
    for one in table.fields:
        if one.name == name:
            return one, written
    known = [one.name for one in table.fields if one.part_of is None]
    hint = nearest(name, table.names) or nearest_or_known(name, known)
    raise ConfigError(f"{option}: {table.benchmark} has no field {name!r}{hint}")


def _path(name: str, written: str, columns: Sequence[str]) -> ColumnPath:
    found = _found(written, columns)
    if found is None:
        raise ConfigError(
            f"there is no column {written!r} for {name!r}{nearest_or_known(written, columns)}; give --map "
            f"{name}=COLUMN"
        )
    return found


def _found(written: str, columns: Collection[str]) -> ColumnPath | None:
    """Return the column with the longest name that the path begins with."""
    if written == ROW or written in columns:
        return ColumnPath(written)
    steps = written.split(".")
    for length in range(len(steps) - 1, 0, -1):
        if (column := ".".join(steps[:length])) in columns:
            return ColumnPath(column, tuple(steps[length:]))
    return None
