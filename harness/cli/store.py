"""`harness store`: where the store is, what it holds, and whether it is sound."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from harness.cache.location import as_given_again, display
from harness.cache.postgres_address import is_postgres
from harness.cache.store import Store
from harness.canonical import JSON
from harness.cli.options import config_option, json_option, print_json, say, store_option
from harness.cli.store_backup import backup
from harness.cli.store_merge import merge
from harness.cli.store_place import store_place
from harness.cli.store_vacuum import vacuum
from harness.cli.tables import Column, render_table
from harness.errors import StoreError
from harness.moments import shown_moment


@click.group("store", epilog="Example: harness store verify")
def command() -> None:
    """Find, verify, join and back up the store that holds every raw exchange."""


@command.command(
    "path", short_help="Print which store is used from here.", epilog="Example: harness store path"
)
@store_option
@config_option
def path(store: str | None, config_path: Path | None) -> None:
    """Print which store is used from here, without opening or creating it."""
    click.echo(_again(store_place(store, config_path)))


command.add_command(merge)
command.add_command(backup)
command.add_command(vacuum)


@command.command("stats", epilog="Example: harness store stats --json")
@json_option
@store_option
@config_option
def stats(as_json: bool, store: str | None, config_path: Path | None) -> None:
    """Count what the store holds."""
    url = store_place(store, config_path)
    say(f"store: {display(url)}")
    facts = asyncio.run(_stats(url))
    if as_json:
        print_json(facts)
        return
    click.echo(render_table((Column("what"), Column("how much", right=True)), list(_rows(facts))))


@command.command(
    "verify", short_help="Check that everything is sound.", epilog="Example: harness store verify"
)
@json_option
@store_option
@config_option
def verify(as_json: bool, store: str | None, config_path: Path | None) -> int:
    """Check the store: the database itself, digests, links, keys; exit 1 when anything is wrong.

    Reads everything and changes nothing; a run may be at work meanwhile.
    """
    url = store_place(store, config_path)
    say(f"store: {display(url)}")
    problems, counts = asyncio.run(_verify(url))
    if counts is not None:
        looked = ", ".join(f"{counts[name]} {name}" for name in ("runs", "exchanges", "blobs", "grades"))
        say(f"looked at: {looked}")
    if as_json:
        print_json({"problems": problems})
    else:
        click.echo("\n".join(problems) or "sound: nothing is wrong")
    if problems:
        say(
            "what to do: keep a copy of the store as it is; go back to a backup, and take over what is new "
            "since with `harness store merge`; `harness explain` shows what stands behind a unit"
        )
    return 1 if problems else 0


async def _stats(url: str) -> dict[str, JSON]:
    async with await Store.open(url, create=False, warn=say) as store:
        return await store.stats()


async def _verify(url: str) -> tuple[list[str], dict[str, JSON] | None]:
    """Return what is wrong, and how much there is of everything; None where that cannot be counted."""
    async with await Store.open(url, create=False, warn=say) as store:
        problems = await store.verify()
        try:
            return problems, await store.stats()
        except StoreError:
            if not problems:
                raise
            return problems, None


def _rows(facts: Mapping[str, JSON]) -> Iterator[tuple[str, object]]:
    """Return facts for people: times as dates, groups of counts one a line."""
    for name, value in facts.items():
        if isinstance(value, Mapping):
            yield from ((f"{name.replace('_', ' ')}: {key}", count) for key, count in sorted(value.items()))
        elif name.endswith("_at_us"):
            when = shown_moment(value) if isinstance(value, int) else None
            yield name.removesuffix("_at_us").replace("_", " "), when
        else:
            yield name.replace("_", " "), ("yes" if value else "no") if isinstance(value, bool) else value


def _again(url: str) -> str:
    """Return a store's place as --store takes it again; *** stands for a password."""
    return as_given_again(url) if is_postgres(url) else display(url)
