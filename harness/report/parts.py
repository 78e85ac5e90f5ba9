"""The parts of a report in the order in which it is read, and whether it is one that can be written."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from harness.report.document import Facts, Figure, Part, Report, Section, Table

_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,200}")


def sections(report: Report) -> Iterator[tuple[int, Section]]:
    """Yield every section with its level, from 1, each before those within it."""
    pending = [(1, section) for section in reversed(report.sections)]
    while pending:
        level, section = pending.pop()
        yield level, section
        pending.extend((level + 1, inner) for inner in reversed(section.sections))


def parts(report: Report) -> Iterator[Part]:
    """Yield every part of a report in order."""
    for _, section in sections(report):
        yield from section.parts


def tables(report: Report) -> Sequence[Table]:
    """Return the tables of a report in order."""
    return [part for part in parts(report) if isinstance(part, Table)]


def figures(report: Report) -> Sequence[Figure]:
    """Return the figures of a report in order."""
    return [part for part in parts(report) if isinstance(part, Figure)]


def check_report(report: Report) -> None:
    """Raise ValueError for a report that files cannot be named after, or that writers would misread.

    Ids are unique, upper and lower case alike (they name files), each row has a cell a column, no two columns
    of a table have one id, and every figure's table is there.
    """
    ids = [section.id for _, section in sections(report)]
    ids += [part.id for part in parts(report) if isinstance(part, Table | Figure | Facts)]
    _all_unique("the report", [identity.casefold() for identity in ids])
    for identity in ids:
        if not _ID.fullmatch(identity):
            raise ValueError(f"{identity[:80]!r} is no id; letters, digits, '-' and '_' make one")
    known = {table.id for table in tables(report)}
    for figure in figures(report):
        if figure.table not in known:
            raise ValueError(
                f"the figure {figure.id!r} has its numbers in {figure.table!r}, which is no table"
            )
    for table in tables(report):
        _check_table(table)


def _check_table(table: Table) -> None:
    _all_unique(f"the table {table.id!r}", [column.id for column in table.columns])
    for row in table.rows:
        if len(row.cells) != len(table.columns):
            raise ValueError(
                f"a row of the table {table.id!r} has {len(row.cells)} cells for {len(table.columns)} columns"
            )


def _all_unique(where: str, ids: Sequence[str]) -> None:
    twice = [identity for identity, times in Counter(ids).items() if times > 1]
    if twice:
        raise ValueError(f"{where} has the id {twice[0][:80]!r} more than once")
