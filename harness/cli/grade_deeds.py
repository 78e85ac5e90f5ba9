"""What `harness grade` does to a grading before it is served, or instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.cli.options import print_json, say, tell
from harness.errors import ConfigError
from harness.phrases import count

if TYPE_CHECKING:
    from harness.grading.desk import Desk


@dataclass(frozen=True, slots=True)
class Deeds:
    """What was asked for; `status` is told and `links` are printed instead of serving anything."""

    status: bool = False
    links: bool = False
    open_reason: str | None = None
    calibrate_again: bool = False
    new_links: Sequence[str] = ()
    add_raters: Sequence[str] = ()
    in_place_of: str | None = None
    retire: Sequence[str] = ()
    delete: bool = False
    yes: bool = False

    @property
    def changes(self) -> bool:
        """Tell whether a grading that is there is to be changed: none is made for it."""
        changed = self.new_links or self.add_raters or self.retire
        return bool(changed) or self.calibrate_again or self.delete or self.open_reason is not None

    @property
    def makes(self) -> bool:
        """Tell whether a grading may be made, where there is none."""
        return not self.status and not self.changes

    def check(self) -> None:
        """Raise ConfigError for what does not go together."""
        if self.status and self.links:
            raise ConfigError("--status and --links are two things to print; give one of them")
        if self.in_place_of is not None and len(self.add_raters) != 1:
            raise ConfigError("--in-place-of NAME says whose place one --add-rater NAME takes; give both")
        if self.yes and not self.delete:
            raise ConfigError("--yes goes with --delete alone")
        if self.delete and self != Deeds(delete=True, yes=self.yes):
            raise ConfigError("--delete ends a grading; leave out what else is to be done to it")


async def do(desk: Desk, deeds: Deeds) -> None:
    """Do what was asked for to one grading, and tell each on stderr. Raises ConfigError, StoreError."""
    if deeds.open_reason is not None:
        waiting = [one.name for one in desk.roster.pending] if desk.state.opened is not None else []
        await desk.open_by_hand(deeds.open_reason)
        say(f"{desk.name}: full grading is open{' to ' + ', '.join(waiting) if waiting else ''}")
    if deeds.calibrate_again:
        await _calibrate_again(desk)
    for seat in deeds.new_links:
        await desk.replace_link(seat)
        say(f"{desk.name}: {seat} has another link; the one before opens nothing any more")
    for name in deeds.add_raters:
        await _add(desk, name, deeds.in_place_of)
    for name in deeds.retire:
        await _retire(desk, name)


async def delete(desk: Desk, *, yes: bool, as_json: bool) -> None:
    """Delete a grading that has no grade, or withdraw one that has some if that was said."""
    from harness.grading.ending import end_grading, grades_words

    given = await end_grading(desk, withdraw=yes)
    if as_json:
        how = "withdrawn" if given else "deleted"
        print_json({"grading": desk.name, "run": desk.stored.run.name, "ended": how, "grades": dict(given)})
        return
    if not given:
        tell(f"grading {desk.name} is deleted; it had no grade, and its links open nothing any more")
        return
    run = desk.stored.run.name
    tell(f"grading {desk.name} is withdrawn; its links open nothing any more")
    say(
        f"note: {grades_words(given)} stay with run {run}: `harness grades export {run}` writes them, and "
        f"`harness score {run}` counts them unless its --grades names others"
    )


async def _calibrate_again(desk: Desk) -> None:
    alone = desk.state.opened is not None
    await desk.calibrate_again()
    if not alone:
        n = len(desk.state.rounds)
        say(f"{desk.name}: round {n} of calibration, {len(desk.state.rounds[-1].items)} other answers")
        return
    for one in desk.roster.pending:
        sheets = count(len(one.rounds[-1].items), "other answer")
        say(f"{desk.name}: round {len(one.rounds)} of calibration for {one.name} alone, {sheets}")


async def _add(desk: Desk, name: str, in_place_of: str | None) -> None:
    back = name in desk.roster.names
    await desk.add_rater(name, in_place_of)
    if in_place_of is not None:
        say(f"{desk.name}: {in_place_of} has retired; their grades stay and count")
    came = "is back, with the same sheets in the same order" if back else "grades too"
    say(f"{desk.name}: {name} {came}, by a link of their own")
    own = next((one for one in desk.roster.pending if one.name == name), None)
    share = sum(desk.roster.grades(name, number) for number in range(len(desk.plan.items)))
    if own is not None:
        first = count(len(own.rounds[-1].items), "sheet")
        others = ", ".join(desk.roster.held_against(own)) or "another rater"
        say(
            f"note: first {name} grades {first} of calibration, held against what {others} said of them; a "
            f"kappa of at least {desk.plan.threshold:g} with each opens the others ({share} in all)"
        )
    elif desk.state.opened is None:
        say(f"note: {name} takes part in the calibration that goes on, which waits for them")
    else:
        say(f"note: {count(share, 'sheet')} for {name}")


async def _retire(desk: Desk, name: str) -> None:
    await desk.retire(name)
    say(f"{desk.name}: {name} has retired")
    say(
        "note: their grades stay and count, what they left open is not waited for, and their link opens "
        "nothing any more"
    )
    if len(desk.roster.active) == 1:
        say(f"note: {desk.roster.active[0]} is the only rater left; --add-rater NAME adds another one")
