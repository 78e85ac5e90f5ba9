"""`harness export`: the records of a stored run as files."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import IO

import click

from harness.cache.location import display, find_store
from harness.cache.runs import LATEST
from harness.cache.store import Store
from harness.cli.options import config_option, say, store_option
from harness.config import load_config
from harness.errors import ConfigError
from harness.offline.export import FORMATS, Format, RecordWriter, format_for, open_writer, whole_file
from harness.offline.records import RecordMaker
from harness.offline.replay import Replayer
from harness.offline.replay_stream import replay_units
from harness.offline.stored_run import load_run


@click.command("export", epilog="Example: harness export latest --format csv --out records.csv")
@click.argument("run", default=LATEST)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(FORMATS),
    help="Default: as FILE is named, else jsonl. JSON lines keep everything as it is; tables escape text "
    "reversibly (see the documentation).",
)
@click.option(
    "--out", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="Default, and -: stdout."
)
@click.option("--raw", is_flag=True, help="Add requests, response headers and raw bodies.")
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@store_option
@config_option
def command(
    run: str,
    file_format: Format | None,
    out: Path | None,
    raw: bool,
    force: bool,
    store: str | None,
    config_path: Path | None,
) -> None:
    """Write one record for every unit that RUN wants, with every exchange behind it."""
    if out == Path("-"):
        out = None
    chosen = format_for(file_format, out)
    if out is None and chosen == "parquet":
        raise ConfigError("Parquet is no text for a terminal or a pipe; give --out FILE")
    url = find_store(store, os.environ, load_config(config_path).store, Path.cwd())
    say(f"store: {display(url)}")
    with _opened(out, force=force) as stream:
        writer = open_writer(chosen, stream)
        count = asyncio.run(_export(url, run, writer, raw=raw))
        writer.close()
    say(f"{count} records written to {'stdout' if out is None else str(out)} as {chosen}")


async def _export(url: str, ref: str, writer: RecordWriter, *, raw: bool) -> int:
    count = 0
    async with await Store.open(url, create=False, warn=say) as store:
        stored = await load_run(store, await store.find_run(ref))
        replayer = Replayer(stored)
        maker = RecordMaker(stored, raw=raw)
        async with aclosing(replay_units(store, stored, replayer)) as stream:
            async for replayed in stream:
                writer.write(maker.record(replayed))
                count += 1
    return count


@contextmanager
def _opened(out: Path | None, *, force: bool) -> Iterator[IO[bytes]]:
    if out is None:
        yield sys.stdout.buffer
        return
    with whole_file(out, force=force) as stream:
        yield stream
