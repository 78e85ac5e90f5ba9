"""`harness store merge`: join another store into this one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from harness.cache.location import display
from harness.cache.merge_report import MergeReport
from harness.cache.store import Store, bring_up_to_date
from harness.canonical import JSON
from harness.cli.going_on import told_when_interrupted
from harness.cli.options import config_option, json_option, print_json, say, store_option
from harness.cli.store_place import store_place
from harness.cli.tables import Column, render_table
from harness.event_loop import run_session

PROGRESS_EVERY = 20_000
"""Exchanges between two lines of progress."""


@click.command(
    "merge",
    short_help="Join another store into this one.",
    epilog="Example: harness store merge other/store.sqlite3 --dry-run",
)
@click.argument("other", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Show what would be taken over; write nothing.")
@json_option
@store_option
@config_option
def merge(other: Path, dry_run: bool, as_json: bool, store: str | None, config_path: Path | None) -> None:
    """Take over all runs and answers of the store in the file OTHER, which stays as it is.

    What is here already is not taken twice; the same merge again changes nothing, and finishes one that was
    interrupted. Where both stores answer a request or a unit, what is here stands.
    """
    url = store_place(store, config_path)
    say(f"store: {display(url)}")
    again = "give the same command again: what was taken over is kept, and only the rest is added"
    with told_when_interrupted("nothing was written" if dry_run else again):
        report = run_session(_merge(url, other, dry_run=dry_run))
    if as_json:
        print_json(report.to_json())
        return
    click.echo(render_table((Column("what"), Column("how many", right=True)), list(_rows(report.to_json()))))
    _explain(report)


async def _merge(url: str, other: Path, *, dry_run: bool) -> MergeReport:
    def progress(done: int, total: int) -> None:
        if done // PROGRESS_EVERY != (done - 1) // PROGRESS_EVERY and done < total:
            say(f"exchanges: {done:,} of {total:,}")

    # A dry run makes no store; a merge may start one.
    async with await Store.open(url, create=not dry_run, warn=say) as store:
        return await store.merge(other, bring_up_to_date, dry_run=dry_run, progress=progress)


_LABELS: Mapping[str, str] = {
    "runs_new": "runs taken over",
    "runs_known": "runs that are here already",
    "sessions_new": "sessions taken over",
    "exchanges_new": "exchanges taken over",
    "exchanges_known": "exchanges that are here already",
    "served_new": "requests answered now that were not before",
    "units_new": "units taken over",
    "units_updated": "units brought further",
    "units_known": "units that stand as they are",
    "units_twice": "units answered in both, ours stands",
    "conflicts": "of those, ended differently",
    "units_reopened": "units to be asked again",
    "blobs_new": "prompts, schemas and case snapshots",
    "media_new": "media",
    "grades_new": "grades",
    "gradings_new": "gradings",
    "gradings_updated": "gradings brought further",
}


def _rows(facts: Mapping[str, JSON]) -> Iterator[tuple[str, Any]]:
    for name, label in _LABELS.items():
        if facts[name]:
            yield label, facts[name]


def _explain(report: MergeReport) -> None:
    for old, new in report.renamed.items():
        say(f"note: the run {old!r} is called {new!r} here: another run holds its name")
    for old, new in report.gradings_renamed.items():
        say(f"note: the grading {old!r} is called {new!r} here: another grading holds its name")
    if report.conflicts:
        shown = "; ".join(report.conflicts_named)
        more = report.conflicts - len(report.conflicts_named)
        say(
            "note: these units (case / condition / model / repeat) ended differently here and there; they "
            f"stand as they ended here: {shown}{f'; and {more} more' if more else ''}"
        )
    if report.units_reopened:
        say(
            f"note: {report.units_reopened} units are asked again by the next run: their rounds of --again "
            "cannot be told apart here"
        )
    if report.dry_run:
        say("nothing was written")
    elif report.is_nothing:
        say("everything was here already")
