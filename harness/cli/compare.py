"""`harness compare`: which of two is better, on the cases that both answered."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import click

from harness.cache.location import display, find_store
from harness.cache.store import Store
from harness.cli.compare_table import render
from harness.cli.corrected import data_option
from harness.cli.options import config_option, json_option, print_json, say, store_option
from harness.cli.scoring_options import convention_option, grades_option, read_conventions
from harness.cli.step_told import say_whose_step
from harness.cli.tables import terminal_width
from harness.comparison.common_cases import Reading
from harness.comparison.result import Comparison, Correction
from harness.config import load_config
from harness.offline.compared_runs import HowCompared, compare_runs
from harness.offline.contender_names import wanted
from harness.offline.corrected_cases import corrected_cases


@click.command(
    "compare", epilog="Example: harness compare latest --metric fine.exact_match --metric fine.macro_f1"
)
@click.argument("names", nargs=-1, metavar="[RUN|MODEL|RUN:MODEL]...")
@click.option(
    "--baseline",
    metavar="NAME",
    help="Compare all others with this one, and nobody else: fewer tests. Name it before you look.",
)
@click.option("--condition", metavar="NAME", help="A condition or union. Default: the first that all have.")
@click.option(
    "--metric",
    "metrics",
    metavar="PATH",
    multiple=True,
    help="A metric path of `harness score --json`; each one makes the family larger. Default: what ranks.",
)
@click.option(
    "--correction",
    type=click.Choice(["holm", "bh", "none"]),
    default="holm",
    show_default=True,
    help="For many tests: of any false claim (holm), of the share of false ones (bh), none.",
)
@click.option(
    "--reading",
    type=click.Choice(["as_answered", "valid_only"]),
    default="as_answered",
    show_default=True,
    help="valid_only leaves out each case to which anybody has an unusable answer.",
)
@data_option
@convention_option
@grades_option
@json_option
@store_option
@config_option
def command(
    names: Sequence[str],
    baseline: str | None,
    condition: str | None,
    metrics: Sequence[str],
    correction: str,
    reading: str,
    data: Path | None,
    conventions: Sequence[str],
    grades: str | None,
    as_json: bool,
    store: str | None,
    config_path: Path | None,
) -> None:
    """Say which of several is better, on the cases that all of them answered, offline.

    RUN (a name, a digest prefix, latest) means all its complete models; with MODELs beside it, these of it;
    no name means the latest run. MODELs alone are those of the latest run that has them all. RUN:MODEL is
    exact, rater:NAME and baseline:NAME (or RUN:rater:NAME) are raters and baselines, run:NAME and model:NAME
    tell a run from a model of the same name. An incomplete model is compared only where it is named.

    Up to six are compared pair by pair; of more, each with the one that has the best value. That one is
    chosen by looking, so the correction then counts all pairs; --baseline counts only its own.
    """
    url = find_store(store, os.environ, load_config(config_path).store, Path.cwd())
    say(f"store: {display(url)}")
    how = HowCompared(
        condition=condition,
        metrics=list(metrics) or None,
        correction=cast(Correction, correction),
        reading=cast(Reading, reading),
        conventions=read_conventions(conventions),
        grades=grades,
    )
    found = asyncio.run(_compare(url, names, baseline, how, data)).to_json()
    if as_json:
        print_json(found)
    else:
        click.echo(render(found, width=terminal_width()))


async def _compare(
    url: str, names: Sequence[str], baseline: str | None, how: HowCompared, data: Path | None
) -> Comparison:
    async with await Store.open(url, create=False, warn=say) as store:
        found = await wanted(store, names, baseline)
        corrected = corrected_cases(found.runs(), await store.runs(), data)
        compared = await compare_runs(store, found, replace(how, corrected=corrected), tell=say)
        if not names:
            say_whose_step(found.whole, "harness compare")
        return compared
