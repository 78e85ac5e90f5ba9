"""`harness data translated`: a case folder with the translations of a step filled in."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.options import config_option, json_option, print_json, say, store_option
from harness.exit_codes import INCOMPLETE, OK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.benchmarks.radm.translated_cases import Translation, Translator

_SHOWN = 10
"""Ids that are listed of each kind; --json has all."""


@click.command(
    "translated", epilog="Example: harness data translated latest --data data/radm --out data/radm-translated"
)
@click.argument("run")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder of the translated cases. Default: the one of harness.toml, else the bundled sample.",
)
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), metavar="DIR", help="A new or empty folder."
)
@config_option
@store_option
@json_option
def translated(
    run: str, data: Path | None, out: Path, config_path: Path | None, store: str | None, as_json: bool
) -> int:
    """Write the cases again with the translations of RUN as `history_en`.

    RUN is a run of `harness step translate`. Each case's history must be the one that was translated. Media
    are linked or copied; nothing is overwritten. Exit 3 if a Chinese case is left without a translation.
    """
    from harness.benchmarks.radm.translated_cases import write_translated
    from harness.benchmarks.registry import get_benchmark
    from harness.cache.location import find_store
    from harness.config import load_config

    config = load_config(config_path)
    url = find_store(store, os.environ, config.store, Path.cwd())
    found, by = asyncio.run(_translations(url, run))
    folder = data or config.benchmark("radm").data or get_benchmark("radm").sample_dir()
    report = write_translated(folder, out, found, by)
    left = {"changed": report.changed, "missing": report.missing}
    if as_json:
        done = {"filled": report.filled, "kept": report.kept, **left}
        print_json({"data": str(folder), "out": str(out), **{name: [*ids] for name, ids in done.items()}})
    else:
        say(f"data: {folder}")
        click.echo(f"{len(report.filled):>7}  translated")
        if report.kept:
            click.echo(f"{len(report.kept):>7}  had a translation, which was kept")
        _tell("not translated: no usable answer, or not asked", report.missing)
        _tell("not translated: the history has changed since", report.changed)
        click.echo(f"written to {out}; ask with `--data {out} --conditions text,text_translated`")
    return INCOMPLETE if any(left.values()) else OK


async def _translations(url: str, reference: str) -> tuple[dict[str, Translation], Translator]:
    """Return case id -> translation by a stored step, and who translated. Raises ConfigError."""
    from harness.cache.store import Store
    from harness.offline.translations import translations

    async with await Store.open(url, create=False, warn=say) as store:
        return await translations(store, await store.find_run(reference))


def _tell(what: str, ids: Sequence[str]) -> None:
    if ids:
        more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
        click.echo(f"{len(ids):>7}  {what}: {', '.join(ids[:_SHOWN])}{more}")
