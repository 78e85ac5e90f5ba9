"""`harness store backup`: a consistent copy of the store."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from harness.cache.backup import Backup
from harness.cache.location import display
from harness.cache.store import Store
from harness.cli.options import config_option, json_option, print_json, say, store_option
from harness.cli.store_place import store_place


@click.command(
    "backup",
    short_help="Copy the store, while runs may go on.",
    epilog="Example: harness store backup backups/monday.sqlite3",
)
@click.argument("target", type=click.Path(path_type=Path))
@json_option
@store_option
@config_option
def backup(target: Path, as_json: bool, store: str | None, config_path: Path | None) -> None:
    """Copy the store to the new file TARGET, while runs may go on.

    The copy holds all that was committed, and is checked before it gets its name; that of a Postgres store is
    an SQLite store. To restore it, put it in the store's place, or name it with --store.
    """
    url = store_place(store, config_path)
    say(f"store: {display(url)}")
    made = asyncio.run(_backup(url, target.absolute()))
    if as_json:
        facts = {"path": str(made.path), "bytes": made.size, "runs": made.runs, "exchanges": made.exchanges}
        print_json(facts)
    else:
        held = f"{made.size:,} bytes, {made.runs} runs, {made.exchanges:,} exchanges"
        click.echo(f"{target}: {held}; checked and sound")


async def _backup(url: str, target: Path) -> Backup:
    async with await Store.open(url, create=False, warn=say) as store:
        return await store.backup(target)
