"""`harness data import`: case files made from tables."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.options import json_option


@click.command(
    "import",
    epilog="\b\nExamples:\n"
    "  harness data import --benchmark triage --from cases.csv --dry-run\n"
    "  harness data import --benchmark triage --from cases.csv --map image=opg \\\n"
    "      --map chief_complaint=complaint --out data/triage\n"
    "  harness data import --benchmark pandent --layout pr-reports \\\n"
    "      --from PR-Reports --out data/pr-reports",
)
@click.option("--benchmark", required=True, metavar="NAME", help="See `harness benchmarks`.")
@click.option(
    "--from",
    "source",
    required=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="CSV, TSV, JSON, JSON lines, Parquet, or a saved `datasets` folder.",
)
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="A new or an empty folder.")
@click.option(
    "--map",
    "maps",
    multiple=True,
    metavar="FIELD=COLUMN",
    help="What fills a field; COLUMN.NAME goes inside.",
)
@click.option(
    "--set", "sets", multiple=True, metavar="FIELD=VALUE", help="The same in every case: JSON, else text."
)
@click.option("--layout", metavar="NAME", help="A released layout: see docs/case-import.md.")
@click.option("--split", metavar="NAME", help="Which split of a data set.")
@click.option(
    "--media-dir",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where paths lead. Default: beside PATH.",
)
@click.option(
    "--ids", type=click.Path(path_type=Path), metavar="FILE", help="Only these: a JSON list, or lines."
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the first N rows.")
@click.option("--encoding", metavar="NAME", help="Of a text file. Default: UTF-8.")
@click.option("--delimiter", metavar="CHAR", help="Between cells; TAB is one. Default: as the file is named.")
@click.option("--skip-bad", is_flag=True, help="Leave out rows that are no sound cases, and list them.")
@click.option("--link", is_flag=True, help="Hard links to media files, no copies.")
@click.option("--synthetic", is_flag=True, help="Mark the cases as made up.")
@click.option("--no-check", is_flag=True, help="Do not read the folder again at the end.")
@click.option(
    "--dry-run", "--show", is_flag=True, help="Show columns and what fills each field; write nothing."
)
@json_option
def import_(
    benchmark: str,
    source: Path,
    out: Path | None,
    maps: tuple[str, ...],
    sets: tuple[str, ...],
    layout: str | None,
    split: str | None,
    media_dir: Path | None,
    ids: Path | None,
    limit: int | None,
    encoding: str | None,
    delimiter: str | None,
    skip_bad: bool,
    link: bool,
    synthetic: bool,
    no_check: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Make a case folder from a table: every row is a sound case, or nothing is written.

    Text is kept to the character, and images to the byte. A field takes the column of its own name unless
    --map or --set says otherwise. Look first with --dry-run.
    """
    from harness.cli.data_importing import TableOptions, import_table, show_table, table_to_import
    from harness.errors import ConfigError

    table = table_to_import(TableOptions(benchmark, source, maps, sets, layout, split, encoding, delimiter))
    if dry_run:
        return show_table(table, as_json=as_json)
    if out is None:
        raise ConfigError("--out is missing; name a new folder for the cases, or look first with --dry-run")
    return import_table(
        table,
        out,
        media_dir=media_dir,
        ids=ids,
        limit=limit,
        skip_bad=skip_bad,
        link=link,
        synthetic=synthetic,
        check=not no_check,
        as_json=as_json,
    )
