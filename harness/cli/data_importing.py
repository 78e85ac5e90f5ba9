"""The work of `harness data import`, and what it tells."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from harness.benchmarks.registry import get_benchmark
from harness.case_import.column_map import ColumnMap, lacking, read_wish, resolved
from harness.case_import.describing import described, to_json
from harness.case_import.fields import CaseTable, case_table
from harness.case_import.id_list import read_ids
from harness.case_import.importing import SKIPPED_FILE, Imported, ImportOptions, import_cases
from harness.case_import.layouts import Layout, get_layout, table_of
from harness.case_import.opening import open_source
from harness.case_import.row import Source
from harness.case_import.text_file import TextFile
from harness.cli.case_counts import CaseCounts, print_counts
from harness.cli.options import print_json, say, tell
from harness.cli.tables import Column, render_table
from harness.errors import ConfigError
from harness.exit_codes import OK, USAGE
from harness.new_folder import check_free

_LISTED = 20
"""Bad rows that are listed for people."""
_IDS_LISTED = 10


@dataclass(frozen=True, slots=True)
class TableOptions:
    """The options of the command line that say what the table is, and what fills the fields."""

    benchmark: str
    path: Path
    maps: tuple[str, ...]
    sets: tuple[str, ...]
    layout: str | None
    split: str | None
    encoding: str | None
    delimiter: str | None


@dataclass(frozen=True, slots=True)
class Table:
    """An opened table, the benchmark's fields, and what fills them."""

    path: Path
    source: Source
    fields: CaseTable
    columns: tuple[str, ...]
    map: ColumnMap
    layout: Layout | None

    @property
    def lacking(self) -> str | None:
        """What nothing fills, in words."""
        return lacking(self.map, self.columns, self.fields)


def table_to_import(options: TableOptions) -> Table:
    """Open a table and find the columns. Raises ConfigError, ImportFileError."""
    fields = case_table(options.benchmark)
    wish = read_wish(options.maps, options.sets, fields)
    layout = None if options.layout is None else get_layout(options.layout, options.benchmark)
    path = options.path if layout is None else table_of(layout, options.path)
    source = _source(path, layout, options)
    wish = wish.over(layout.wish) if layout is not None else wish
    columns = tuple(one.name for one in source.columns())
    try:
        found = resolved(wish, columns, fields)
    except ConfigError:
        found = None
    if found is None or lacking(found, columns, fields) is not None:
        columns = tuple(one.name for one in source.columns(whole=True))
        found = resolved(wish, columns, fields)
    return Table(path, source, fields, columns, found, layout)


def show_table(table: Table, *, as_json: bool) -> int:
    """Print the columns of a table and what fills each field."""
    columns = described(table.source)
    filled = dict(table.map.told(table.fields))
    unused = [name for name in table.columns if name not in table.map.wanted]
    if as_json:
        fields = [
            {"name": one.name, "kind": one.kind, "required": one.required, "filled_by": filled.get(one.name)}
            for one in table.fields.fields
        ]
        facts = {"source": str(table.path), "kind": table.source.kind, "columns": to_json(columns)}
        print_json({**facts, "fields": fields, "unused": unused, "lacking": table.lacking})
        return OK
    say(f"source: {table.path} ({table.source.kind})")
    shape = [(one.name, one.type, one.first) for one in columns]
    heads = (Column("column", shrink=True), Column("type", shrink=True), Column("first value", shrink=True))
    click.echo(render_table(heads, shape))
    click.echo()
    click.echo(render_table((Column("field"), Column("filled by", shrink=True)), _fields(table, filled)))
    _notes(table, unused)
    if (told := table.lacking) is not None:
        say(f"note: {told}")
    return OK


def import_table(
    table: Table,
    out: Path,
    *,
    media_dir: Path | None,
    ids: Path | None,
    limit: int | None,
    skip_bad: bool,
    link: bool,
    synthetic: bool,
    check: bool,
    as_json: bool,
) -> int:
    """Make the case folder, and tell what came of it; exit 2 where nothing was written."""
    if (told := table.lacking) is not None:
        raise ConfigError(told)
    if media_dir is not None and not media_dir.is_dir():
        raise ConfigError(f"there is no folder {str(media_dir)!r}; correct --media-dir")
    check_free(out.resolve())
    if not as_json:
        say(f"source: {table.path} ({table.source.kind})")
        for field, by in table.map.told(table.fields):
            say(f"  {field:<16} {by}" if len(by) < 200 else f"  {field:<16} {by[:197]}...")
    known = get_benchmark(table.fields.benchmark)
    counted = CaseCounts()
    options = ImportOptions(
        out=out,
        media_dir=media_dir,
        link=link,
        ids=None if ids is None else read_ids(ids),
        limit=limit,
        skip_bad=skip_bad,
        synthetic=synthetic,
        check=known.check if check else None,
    )
    found = import_cases(
        table.source,
        table.fields,
        table.map,
        options,
        noted=counted.add,
        progress=lambda rows: say(f"rows read: {rows:,}"),
    )
    if as_json:
        print_json(_facts(table, out, found, counted))
    else:
        _tell(table, out, found, counted, skip_bad=skip_bad)
    return OK if found.written else USAGE


def _source(path: Path, layout: Layout | None, options: TableOptions) -> Source:
    if layout is not None and layout.reader is not None:
        if not path.is_file():
            raise ConfigError(f"the layout {options.layout!r} is one JSON file; name it with --from")
        return layout.reader(TextFile(path, options.encoding))
    return open_source(path, split=options.split, encoding=options.encoding, delimiter=options.delimiter)


def _fields(table: Table, filled: dict[str, str]) -> list[tuple[str, str]]:
    """Return each field with what fills it; parts of fields only where something fills them."""
    rows = []
    for one in table.fields.fields:
        if one.name in filled:
            rows.append((one.name, filled[one.name]))
        elif one.part_of is None:
            parts = any(name.startswith(f"{one.name}.") for name in filled)
            rows.append(
                (one.name, "its parts" if parts else "nothing (needed)" if one.required else "nothing")
            )
    return rows


def _notes(table: Table, unused: list[str]) -> None:
    if unused:
        named = ", ".join(name or "(one without a name)" for name in unused)
        say(f"note: columns that fill nothing: {named}")
    for told in () if table.layout is None else table.layout.notes:
        say(f"note: {told}")


def _tell(table: Table, out: Path, found: Imported, counted: CaseCounts, *, skip_bad: bool) -> None:
    _notes(table, found.unused)
    for bad in found.bad[:_LISTED]:
        tell(f"{bad.place}: {'; '.join(bad.reasons)}")
    if found.n_bad > _LISTED:
        tell(f"and {found.n_bad - _LISTED:,} more rows (--json lists the first thousand)")
    for one in found.missing_ids[:_IDS_LISTED]:
        tell(f"id {one!r} of --ids: no row has it")
    if len(found.missing_ids) > _IDS_LISTED:
        tell(f"and {len(found.missing_ids) - _IDS_LISTED:,} more ids that no row has")
    for problem in found.problems:
        tell(problem)
    if not found.written:
        say(f"error: nothing was written: {_why(found, skip_bad=skip_bad)}")
        return
    if found.n_bad:
        of = f"{found.n_bad:,} of {found.rows:,}"
        say(f"warning: rows left out: {of}; {SKIPPED_FILE} in the new folder lists them")
    if found.second_ids:
        first = ", ".join(map(repr, found.second_ids[:_IDS_LISTED]))
        of = f"{len(found.second_ids):,} ({first}{', ...' if len(found.second_ids) > _IDS_LISTED else ''})"
        say(f"warning: ids of rows left out that a later row has too, which is the case now: {of}")
    if found.missing_ids:
        say(f"warning: ids of --ids that no row has: {len(found.missing_ids):,}")
    say(f"data: {out}")
    print_counts(counted.counts())
    command = [
        "harness",
        "run",
        "--benchmark",
        table.fields.benchmark,
        "--data",
        str(out),
        "--models",
        "MODEL",
    ]
    say(f"next: {shlex.join(command)} --dry-run")


def _why(found: Imported, *, skip_bad: bool) -> str:
    if found.problems:
        return "the check of the new folder found the problems above"
    if not found.cases:
        return f"none of {found.rows:,} rows is a sound case; mend them, or correct --map"
    parts = []
    if found.n_bad:
        parts.append(f"rows that are no sound cases: {found.n_bad:,} of {found.rows:,}")
    if found.missing_ids:
        parts.append(f"ids of --ids that no row has: {len(found.missing_ids):,}")
    return f"{' and '.join(parts)}; mend them, or go without them by --skip-bad"


def _facts(table: Table, out: Path, found: Imported, counted: CaseCounts) -> dict[str, Any]:
    return {
        "benchmark": table.fields.benchmark,
        "source": str(table.path),
        "data": str(out),
        "written": found.written,
        "rows": found.rows,
        "cases": found.cases,
        "bad_rows": found.n_bad,
        "bad": [{"row": bad.place, "id": bad.case_id, "reasons": bad.reasons} for bad in found.bad],
        "missing_ids": found.missing_ids,
        "second_ids": found.second_ids,
        "filled_by": dict(table.map.told(table.fields)),
        "unused": found.unused,
        "notes": () if table.layout is None else table.layout.notes,
        "problems": found.problems,
        "counts": counted.counts() if found.written else {},
    }
