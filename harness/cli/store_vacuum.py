"""`harness store vacuum`: throw out what nothing refers to, and give the space back."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from harness.cache.location import display, sqlite_path
from harness.cache.postgres_address import is_postgres
from harness.cache.store import Store
from harness.cache.vacuum import Vacuumed
from harness.cache.vacuum import vacuum as vacuum_file
from harness.cli.options import config_option, json_option, print_json, say, store_option
from harness.cli.store_place import store_place
from harness.cli.tables import Column, render_table
from harness.errors import ConfigError, StoreError


@click.command(
    "vacuum",
    short_help="Throw out what nothing refers to.",
    epilog="Example: harness store vacuum --derived",
)
@click.option("--derived", is_flag=True, help="Drop records and scores too; `harness score` makes them anew.")
@json_option
@store_option
@config_option
def vacuum(derived: bool, as_json: bool, store: str | None, config_path: Path | None) -> None:
    """Throw out lapsed claims, and prompts, snapshots and kept images that no run refers to.

    Exchanges, runs and units are never touched. Writes the file anew, which takes about its size in free
    space meanwhile; refuses while another process has the store open.
    """
    url = store_place(store, config_path)
    if is_postgres(url):
        raise ConfigError(
            f"{display(url)!r} is on a Postgres server, which gives space back by itself (autovacuum); "
            "VACUUM FULL in psql does it at once, while nobody works on the store"
        )
    say(f"store: {display(url)}")
    done = asyncio.run(_vacuum(url, derived=derived))
    if as_json:
        print_json(done.to_json())
        return
    rows = [
        ("bytes before", f"{done.bytes_before:,}"),
        ("bytes after", f"{done.bytes_after:,}"),
        ("lapsed claims", done.claims),
        ("blobs nothing refers to", done.blobs),
        ("kept images nothing refers to", done.media),
        ("derived rows", done.derived),
    ]
    click.echo(render_table((Column("what"), Column("how much", right=True)), rows))


async def _vacuum(url: str, *, derived: bool) -> Vacuumed:
    # Opened once as always: an older store is brought up to date first.
    async with await Store.open(url, create=False, warn=say) as store:
        if store.read_only:
            raise StoreError(f"{display(url)!r} can only be read; make its file and folder writable")
    return await vacuum_file(sqlite_path(url), derived=derived)
