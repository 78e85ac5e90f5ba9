"""`harness grade`: answers graded by people in their browsers, blinded, each by a personal link."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cache.location import display, find_store
from harness.cli.grade_told import print_gradings, print_made, print_status
from harness.cli.options import config_option, json_option, print_json, say, store_option
from harness.cli.session_options import comma_list
from harness.config import load_config
from harness.errors import ConfigError, UnknownNameError
from harness.nearest import nearest_or_known

if TYPE_CHECKING:
    from harness.cache.gradings import StoredGrading
    from harness.cache.store import Store
    from harness.grading.desk import Desk
    from harness.grading.opening import GradingWanted

_EPILOG = "Example: harness grade night --task tiers --raters alice,bob"


@dataclass(frozen=True, slots=True)
class _Deed:
    """What is to be done to a grading before it is served, or instead."""

    status: bool
    open_reason: str | None
    calibrate_again: bool
    new_links: Sequence[str]
    as_json: bool
    host: str
    port: int | None


@click.command("grade", epilog=_EPILOG)
@click.argument("names", nargs=-1, metavar="[RUN | NAME ...]")
@click.option("--task", metavar="TASK", help="What is asked of each answer (`harness benchmarks NAME`).")
@click.option("--raters", metavar="NAME,..", help="Who grades; each gets a link of their own.")
@click.option("--name", metavar="NAME", help="Of the grading. Default: RUN-TASK.")
@click.option("--models", metavar="NAME,..", help="Whose answers. Default: of all models.")
@click.option("--conditions", metavar="NAME,..", help="Default: all that the task is about.")
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(0),
    help="Grade N answers, drawn by the seed; 0: all. Default: the task's (tiers: all).",
)
@click.option(
    "--calibration",
    metavar="N",
    type=click.IntRange(0),
    help="Sheets that all grade first; 0: no gate. Default: the task's (tiers: 50, others: 0).",
)
@click.option(
    "--threshold",
    metavar="K",
    type=click.FloatRange(-1, 1),
    help="Cohen's kappa that opens full grading. Default: 0.75.",
)
@click.option("--seed", metavar="N", type=click.IntRange(0), help="Of all that is drawn. Default: 20050.")
@click.option("--status", is_flag=True, help="Tell how it stands (a new one is made); serve nothing.")
@click.option("--open", "open_reason", metavar="REASON", help="Open full grading by hand; kept with REASON.")
@click.option("--calibrate-again", is_flag=True, help="Begin another round of calibration, of other answers.")
@click.option(
    "--new-link",
    "new_links",
    multiple=True,
    metavar="SEAT",
    help="Replace the link of a rater, of the consensus or of the lead.",
)
@click.option("--host", metavar="ADDRESS", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option(
    "--port", metavar="N", type=click.IntRange(0, 65535), help="Default: that of last time, else a free one."
)
@json_option
@store_option
@config_option
def command(
    names: tuple[str, ...],
    task: str | None,
    raters: str | None,
    name: str | None,
    models: str | None,
    conditions: str | None,
    limit: int | None,
    calibration: int | None,
    threshold: float | None,
    seed: int | None,
    status: bool,
    open_reason: str | None,
    calibrate_again: bool,
    new_links: tuple[str, ...],
    host: str,
    port: int | None,
    as_json: bool,
    store: str | None,
    config_path: Path | None,
) -> None:
    """Let people grade the answers of RUN in their browsers, blinded, until Ctrl-C.

    Makes a grading with --raters, and prints a link for each rater, for their consensus and for who leads it.
    Given again, or by its NAME, it goes on; what was agreed at first cannot be changed. Without a name all
    gradings are listed. Answers that every rater agrees on, or their consensus, are what `harness score`
    counts.
    """
    from harness.grading.opening import GradingWanted

    wanted = GradingWanted(
        task, _listed(raters), name, comma_list(models), comma_list(conditions),
        limit, calibration, threshold, seed,
    )  # fmt: skip
    deed = _Deed(status or as_json, open_reason, calibrate_again, new_links, as_json, host, port)
    url = find_store(store, os.environ, load_config(config_path).store, Path.cwd())
    say(f"store: {display(url)}")
    if names:
        asyncio.run(_grade(url, names, wanted, deed))
    elif wanted != GradingWanted() or open_reason is not None or calibrate_again or new_links:
        raise ConfigError("name the run whose answers are graded, or the grading: harness grade RUN ...")
    else:
        asyncio.run(_list(url, as_json=as_json))


def _listed(names: str | None) -> tuple[str, ...]:
    """Return the names of raters; one that is there twice stays so, to be refused."""
    return tuple(part for name in (names or "").split(",") if (part := name.strip()))


async def _list(url: str, *, as_json: bool) -> None:
    from harness.cache.store import Store

    async with await Store.open(url, create=False, warn=say) as opened:
        runs = {run.id: run for run in await opened.runs()}
        facts = [_facts(one, runs[one.run_id].name) for one in await opened.gradings()]
    if as_json:
        print_json({"gradings": facts})
    else:
        print_gradings(facts)


def _facts(grading: StoredGrading, run: str) -> dict[str, Any]:
    from harness.grading.plan import read_plan
    from harness.grading.state import read_state
    from harness.moments import shown_moment

    plan, state = read_plan(grading.settings), read_state(grading.state)
    return {
        "grading": grading.name,
        "run": run,
        "task": plan.task,
        "raters": list(plan.raters),
        "items": len(plan.items),
        "open": state.opened is not None,
        "made": shown_moment(grading.created_at_us),
    }


async def _grade(url: str, names: Sequence[str], wanted: GradingWanted, deed: _Deed) -> None:
    from harness.cache.store import Store
    from harness.grading.desk import Desk

    async with await Store.open(url, create=False, warn=say) as opened:
        desks = [await Desk.open(opened, one) for one in await _gradings(opened, names, wanted)]
        for desk in desks:
            await _do(desk, deed)
        if deed.status:
            await _tell(desks, as_json=deed.as_json)
            return
        from harness.cli.grade_serving import serve_gradings

        await serve_gradings(desks, deed.host, deed.port)


async def _gradings(store: Store, names: Sequence[str], wanted: GradingWanted) -> Sequence[StoredGrading]:
    """Return the gradings that are meant: by name, of a run, or one that is made."""
    from harness.grading.opening import GradingWanted, check_same, make_grading, name_of
    from harness.grading.plan import read_plan

    if wanted == GradingWanted():
        return [one for name in names for one in await _known(store, name)]
    if len(names) > 1:
        raise ConfigError("one run at a time is graded anew; name several gradings without further options")
    named = wanted.task is None and wanted.name is None
    found = await store.grading_named(names[0]) if named else None
    if found is not None:
        run = next(run for run in await store.runs() if run.id == found.run_id)
    else:
        run = await store.find_run(names[0])
        found = await store.grading_named(await name_of(store, run, wanted))
        if found is None:
            made = await make_grading(store, run, wanted)
            print_made(made.name, read_plan(made.settings), run.name)
            return [made]
    check_same(found, read_plan(found.settings), run, wanted)
    return [found]


async def _known(store: Store, name: str) -> Sequence[StoredGrading]:
    """Return the grading of a name, or those of the run of this name."""
    named = await store.grading_named(name)
    if named is not None:
        return [named]
    try:
        run = await store.find_run(name)
    except UnknownNameError as error:
        names = (*await store.grading_names(), *(run.name for run in await store.runs()))
        raise UnknownNameError(
            f"there is no grading and no run {name!r}{nearest_or_known(name, names)}"
        ) from error
    found = await store.gradings_of(run.id)
    if not found:
        raise ConfigError(
            f"run {run.name!r} is not graded yet; say who grades it, and how: `harness grade {run.name} "
            "--task TASK --raters NAME,NAME`"
        )
    return found


async def _do(desk: Desk, deed: _Deed) -> None:
    if deed.open_reason is not None:
        await desk.open_by_hand(deed.open_reason)
        say(f"{desk.name}: full grading is open")
    if deed.calibrate_again:
        await desk.calibrate_again()
        n = len(desk.state.rounds)
        say(f"{desk.name}: round {n} of calibration, {len(desk.state.rounds[-1].items)} other answers")
    for seat in deed.new_links:
        await desk.replace_link(seat)
        say(f"{desk.name}: {seat} has another link; the one before opens nothing any more")


async def _tell(desks: Sequence[Desk], *, as_json: bool) -> None:
    from harness.grading.status import status_of

    facts = [await status_of(desk) for desk in desks]
    if as_json:
        print_json(facts[0] if len(facts) == 1 else {"gradings": facts})
        return
    for one in facts:
        print_status(one)
