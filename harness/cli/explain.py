"""`harness explain`: every exchange of a unit, why it ended so, and why it would be asked anew."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import config_option, json_option, print_json, say, store_option

if TYPE_CHECKING:
    from harness.config import Config
    from harness.explaining.unit_facts import Question


@click.command("explain", epilog="Example: harness explain latest --case syn-001 --model gemini-3-flash")
@click.argument("run", default="latest")
@click.option("--case", "case_id", required=True, metavar="ID", help="The case.")
@click.option("--model", metavar="M", help="The model. Default: the only one of the run.")
@click.option("--of", metavar="M", help="In a step: whose answer to the case, where several were looked at.")
@click.option("--condition", metavar="C", help="The condition. Default: the only one of the run.")
@click.option(
    "--repeat", type=click.IntRange(min=1), default=1, show_default=True, metavar="K", help="The repeat."
)
@click.option(
    "--attempt", type=click.IntRange(min=1), metavar="N", help="Only this attempt, asked already or not."
)
@click.option("--full", is_flag=True, help="Show texts as a whole, and reasoning.")
@click.option("--data", type=click.Path(path_type=Path), metavar="DIR", help="Where the case files are now.")
@config_option
@store_option
@json_option
def command(
    run: str,
    config_path: Path | None,
    store: str | None,
    as_json: bool,
    full: bool,
    data: Path | None,
    **asked: Any,
) -> None:
    """Tell all about one unit of RUN: a name, the start of a digest, or `latest`.

    Shows every exchange in order, and why the unit ended so. Where nothing stored answers what `run` would
    ask now, names what differs from the nearest stored request. Asks nobody, writes nothing. In a step,
    --case is its own case, or one of the run that it follows.
    """
    from harness.cache.location import display, find_store
    from harness.cli.explain_text import render
    from harness.cli.tables import terminal_width
    from harness.config import load_config
    from harness.explaining.unit_facts import Question

    config = load_config(config_path)
    url = find_store(store, os.environ, config.store, Path.cwd())
    say(f"store: {display(url)}")
    folder = None if data is None else str(data.resolve())
    facts = asyncio.run(_facts(url, run, Question(**asked, data=folder), config))
    if as_json:
        print_json(facts)
    else:
        click.echo(render(facts, width=terminal_width(), full=full))


async def _facts(url: str, run: str, question: Question, config: Config) -> dict[str, Any]:
    from harness.cache.store import Store
    from harness.explaining.unit_facts import explain_unit

    async with await Store.open(url, create=False, warn=say) as store:
        return await explain_unit(store, run, question, config)
