"""`harness report`: pages, tables and figures of stored runs, offline."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cache.location import display, find_store
from harness.cache.rows import Run
from harness.cache.runs import LATEST
from harness.cache.store import Store
from harness.cli.corrected import data_option
from harness.cli.options import config_option, json_option, print_json, say, store_option, tell
from harness.cli.scoring_options import convention_option, grades_option, read_conventions
from harness.cli.step_told import say_whose_step
from harness.config import load_config
from harness.errors import ConfigError
from harness.offline.corrected_cases import corrected_cases

if TYPE_CHECKING:
    from harness.report.document import Report
    from harness.report.folder import Drawers


@click.command("report", epilog="Example: harness report latest --out report; open report/index.html")
@click.argument("runs", metavar="[RUN ...]", nargs=-1)
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Required: a new or empty folder, or one of an earlier report, which is replaced.",
)
@data_option
@convention_option
@grades_option
@json_option
@store_option
@config_option
def command(
    runs: Sequence[str],
    out: Path | None,
    data: Path | None,
    conventions: Sequence[str],
    grades: str | None,
    as_json: bool,
    store: str | None,
    config_path: Path | None,
) -> None:
    """Write a report of each RUN (a name, a digest prefix or latest) into DIR: no network, key or media.

    DIR/index.html is the page; the same stands there as CSV, JSON, Markdown and LaTeX, the figures as SVG and
    PNG. Without RUN: latest.
    """
    from harness.report.folder import check_replaceable, write_report

    if out is None:
        raise ConfigError("a report needs a folder to stand in; give --out DIR, e.g. --out report")
    url = find_store(store, os.environ, load_config(config_path).store, Path.cwd())
    say(f"store: {display(url)}")
    check_replaceable(out.resolve())
    wanted = runs or [LATEST]
    found, report = asyncio.run(_report(url, wanted, data, read_conventions(conventions), grades))
    files = write_report(report, out, _drawers())
    _tell(out, found, files, as_json=as_json)
    if not runs:
        say_whose_step(found, "harness report")


async def _report(
    url: str, refs: Sequence[str], data: Path | None, conventions: Mapping[str, str], grades: str | None
) -> tuple[Sequence[Run], Report]:
    from harness.report.building import build_report

    async with await Store.open(url, create=False, warn=say) as store:
        named = [await store.find_run(ref) for ref in refs]
        runs = list({run.digest: run for run in named}.values())
        corrected = corrected_cases(runs, await store.runs(), data)
        report = await build_report(
            store, runs, conventions=conventions, grades=grades, corrected=corrected, tell=say
        )
        return runs, report


def _drawers() -> Drawers:
    # It is for windows, which nobody opens here; a name that matplotlib does not know ends its import.
    os.environ.pop("MPLBACKEND", None)
    from harness.report.figures import drawn
    from harness.report.folder import Drawers
    from harness.report.html import page

    return Drawers(page, drawn)


def _tell(out: Path, runs: Sequence[Run], files: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "out": str(out),
                "page": str(out / "index.html"),
                "runs": [{"name": run.name, "digest": run.digest} for run in runs],
                "files": [str(out / name) for name in files],
            }
        )
        return
    tell(f"{'run' if len(runs) == 1 else 'runs'}: {', '.join(run.name for run in runs)}")
    tell(f"page: {out / 'index.html'}")
    tell(f"all of it as data and text: {out / 'report.json'}, {out / 'report.md'}")
    for folder, what, kinds in (("tables", "table", "CSV and LaTeX"), ("figures", "figure", "SVG and PNG")):
        number = sum(name.startswith(f"{folder}/") for name in files) // 2
        many = "" if number == 1 else "s"
        tell(f"{number} {what}{many} as {kinds}: {out / folder}{os.sep}")
