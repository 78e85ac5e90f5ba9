"""`harness grade`: answers graded by people in their browsers, blinded, each by a personal link."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cache.location import display, find_store
from harness.cli.grade_deeds import Deeds, delete, do
from harness.cli.grade_finding import find_gradings
from harness.cli.grade_told import print_gradings, print_status
from harness.cli.options import config_option, json_option, print_json, say, store_option
from harness.cli.session_options import comma_list
from harness.config import load_config
from harness.errors import ConfigError

if TYPE_CHECKING:
    from harness.cache.gradings import StoredGrading
    from harness.grading.desk import Desk
    from harness.grading.opening import GradingWanted

_EPILOG = "Example: harness grade night --task tiers --raters alice,bob"


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
@click.option("--status", is_flag=True, help="Tell how it stands; makes and serves nothing.")
@click.option("--links", is_flag=True, help="Print the links (a new one is made); serve nothing.")
@click.option(
    "--open",
    "open_reason",
    metavar="REASON",
    help="Open full grading by hand to all who still calibrate; REASON is kept.",
)
@click.option("--calibrate-again", is_flag=True, help="Begin another round of calibration, of other answers.")
@click.option(
    "--new-link",
    "new_links",
    multiple=True,
    metavar="SEAT",
    help="Replace the link of a rater, of the consensus or of the lead.",
)
@click.option(
    "--add-rater",
    "add_raters",
    multiple=True,
    metavar="NAME",
    help="Another rater, who calibrates and then grades everything; or one who comes back.",
)
@click.option(
    "--in-place-of",
    metavar="NAME",
    help="With --add-rater: this one retires, and the other grades what is left open.",
)
@click.option(
    "--retire",
    multiple=True,
    metavar="NAME",
    help="Wait for a rater no more: grades stay and count, the link opens nothing.",
)
@click.option("--delete", is_flag=True, help="Delete a grading that has no grade yet.")
@click.option("--yes", is_flag=True, help="With --delete: withdraw one that has grades, which stay.")
@click.option("--host", metavar="ADDRESS", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option(
    "--port", metavar="N", type=click.IntRange(0, 65535), help="Default: that of last time, else a free one."
)
@json_option
@store_option
@config_option
def command(
    names: tuple[str, ...],
    host: str,
    port: int | None,
    as_json: bool,
    store: str | None,
    config_path: Path | None,
    **said: Any,
) -> None:
    """Let people grade the answers of RUN in their browsers, blinded, until Ctrl-C.

    Makes a grading with --raters, and prints a link for each rater, for their consensus and for who leads it.
    Given again, or by its NAME, it goes on; what was agreed at first cannot be changed. Without a name all
    gradings are listed. Answers that every rater agrees on, or their consensus, are what `harness score`
    counts.
    """
    wanted, deeds = _wanted(said), _deeds(said, as_json=as_json)
    deeds.check()
    url = find_store(store, os.environ, load_config(config_path).store, Path.cwd())
    say(f"store: {display(url)}")
    if names:
        asyncio.run(_grade(url, names, wanted, deeds, _Place(host, port, as_json)))
    elif wanted != type(wanted)() or deeds.changes or deeds.links:
        raise ConfigError("name the run whose answers are graded, or the grading: harness grade RUN ...")
    else:
        asyncio.run(_list(url, as_json=as_json))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where pages are served, or facts printed."""

    host: str
    port: int | None
    as_json: bool


def _wanted(said: Mapping[str, Any]) -> GradingWanted:
    """Return what is asked for of a grading, by the options that say so."""
    from harness.grading.opening import GradingWanted

    return GradingWanted(
        said["task"], _listed(said["raters"]), said["name"], comma_list(said["models"]),
        comma_list(said["conditions"]), said["limit"], said["calibration"], said["threshold"], said["seed"],
    )  # fmt: skip


def _deeds(said: Mapping[str, Any], *, as_json: bool) -> Deeds:
    names = (one.name for one in fields(Deeds))
    deeds = Deeds(**{name: said[name] for name in names})
    facts = as_json and not deeds.links and not deeds.delete
    return replace(deeds, status=deeds.status or facts)


def _listed(names: str | None) -> tuple[str, ...]:
    """Return the names of raters; one that is there twice stays so, to be refused."""
    return tuple(part for name in (names or "").split(",") if (part := name.strip()))


async def _list(url: str, *, as_json: bool) -> None:
    from harness.cache.store import Store
    from harness.grading.state import was_withdrawn

    async with await Store.open(url, create=False, warn=say) as opened:
        runs = {run.id: run for run in await opened.runs()}
        gradings = await opened.gradings()
    withdrawn = [one.name for one in gradings if was_withdrawn(one.state)]
    facts = [_facts(one, runs[one.run_id].name) for one in gradings if one.name not in withdrawn]
    if as_json:
        print_json({"gradings": facts, "withdrawn": withdrawn})
    else:
        print_gradings(facts, withdrawn)


def _facts(grading: StoredGrading, run: str) -> dict[str, Any]:
    from harness.grading.plan import read_plan
    from harness.grading.roster import Roster
    from harness.grading.state import read_state
    from harness.moments import shown_moment

    plan, state = read_plan(grading.settings), read_state(grading.state)
    return {
        "grading": grading.name,
        "run": run,
        "task": plan.task,
        "raters": list(Roster(plan, state).active),
        "items": len(plan.items),
        "open": state.opened is not None,
        "made": shown_moment(grading.created_at_us),
    }


async def _grade(url: str, names: Sequence[str], wanted: GradingWanted, deeds: Deeds, place: _Place) -> None:
    from harness.cache.store import Store
    from harness.cli.grade_serving import serve_gradings
    from harness.grading.desk import Desk

    async with await Store.open(url, create=False, warn=say) as opened:
        found = await find_gradings(opened, names, wanted, deeds)
        _check_named(names, found, deeds)
        desks = [await Desk.open(opened, one) for one in found]
        if deeds.delete:
            await delete(desks[0], yes=deeds.yes, as_json=place.as_json)
            return
        for desk in desks:
            await do(desk, deeds)
        if deeds.links:
            await _tell_links(desks, place)
        elif deeds.status:
            await _tell(desks, [*deeds.new_links, *deeds.add_raters], place)
        else:
            await serve_gradings(desks, place.host, place.port)


def _check_named(names: Sequence[str], found: Sequence[StoredGrading], deeds: Deeds) -> None:
    """Raise ConfigError where it is not clear which grading is to be changed, or ended."""
    if deeds.changes and len(found) > 1:
        told = ", ".join(one.name for one in found)
        raise ConfigError(f"there are several gradings here ({told}); name the one that is to be changed")
    if deeds.delete and found[0].name not in names:
        raise ConfigError(f"--delete wants the name of the grading itself: {found[0].name}")


async def _tell_links(desks: Sequence[Desk], place: _Place) -> None:
    from harness.cli.grade_serving import links_to_tell, print_links

    found = [(desk, await links_to_tell(desk, place.host, place.port)) for desk in desks]
    if not place.as_json:
        print_links(found)
        return
    facts = [{"grading": desk.name, "links": links} for desk, links in found]
    print_json(facts[0] if len(facts) == 1 else {"gradings": facts})


async def _tell(desks: Sequence[Desk], new: Collection[str], place: _Place) -> None:
    """Tell how gradings stand, and the links of seats that just got a new one, of one grading."""
    from harness.cli.grade_serving import links_to_tell, print_links
    from harness.grading.status import status_of

    facts = [dict(await status_of(desk)) for desk in desks]
    links = await links_to_tell(desks[0], place.host, place.port) if new else {}
    told = {name: link for name, link in links.items() if name in new}
    if place.as_json:
        facts[0] |= {"new_links": told} if new else {}
        print_json(facts[0] if len(facts) == 1 else {"gradings": facts})
        return
    for one in facts:
        print_status(one)
    if told:
        print_links([(desks[0], told)])
