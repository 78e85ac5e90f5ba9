"""`harness score`: metrics of a stored run, recomputed offline."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

import click

from harness.cache.location import display, find_store
from harness.cache.runs import LATEST
from harness.cache.store import Store
from harness.cli.corrected import data_option
from harness.cli.options import config_option, json_option, say, store_option
from harness.cli.scored import show_score
from harness.cli.scoring_options import convention_option, grades_option, read_conventions
from harness.cli.step_told import score_notes
from harness.config import load_config
from harness.offline.corrected_cases import corrected_cases
from harness.offline.score import Score, score_run


@click.command("score", epilog="Example: harness score latest --convention zero_division=skip-empty --json")
@click.argument("run", default=LATEST)
@data_option
@convention_option
@grades_option
@json_option
@store_option
@config_option
def command(
    run: str,
    data: Path | None,
    conventions: Sequence[str],
    grades: str | None,
    as_json: bool,
    store: str | None,
    config_path: Path | None,
) -> None:
    """Score the stored answers of RUN (a name, a digest prefix or latest): no network, key or media."""
    url = find_store(store, os.environ, load_config(config_path).store, Path.cwd())
    say(f"store: {display(url)}")
    score = asyncio.run(_score(url, run, data, read_conventions(conventions), grades))
    for line in score.references.told():
        say(line)
    show_score(score, as_json=as_json)


async def _score(
    url: str, ref: str, data: Path | None, conventions: dict[str, str], grades: str | None
) -> Score:
    async with await Store.open(url, create=False, warn=say) as store:
        run = await store.find_run(ref)
        runs = await store.runs()
        corrected = corrected_cases([run], runs, data)
        score = await score_run(store, run, conventions=conventions, corrected=corrected, grades=grades)
    for note in score_notes(run, runs):
        say(f"note: {note}")
    return score
