"""One call of `run` or `resume`, and what is said of it: its share, and how to go on."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness import exit_codes
from harness.cache.location import as_given_again
from harness.cli.options import say
from harness.outcomes import INCOMPLETE, UnitOutcome
from harness.run_opening import Opening
from harness.run_options import RunOptions, SessionOptions
from harness.unit_states import Totals


@dataclass(frozen=True, slots=True)
class Invocation:
    """One call of `run`, its arguments read."""

    options: RunOptions
    session: SessionOptions
    config_path: Path | None
    store: str | None
    name: str | None
    dry_run: bool = False
    as_json: bool = False


def say_shard(opening: Opening, how: str = "") -> None:
    """Say what share of the run this session has; `how` it stands, if that is known."""
    shard = opening.states.wanted.shard
    if shard is None:
        return
    others = opening.states.n_elsewhere
    own = opening.states.wanted.n_units - others
    say(f"shard {shard}: {how}{own} units are this one's; {others} belong to other shards")


def say_how_to_go_on(code: int, opening: Opening, by_model: Totals, invocation: Invocation) -> None:
    """Say what this session's units lack, and the command that goes on with them."""
    totals: Counter[UnitOutcome] = Counter()
    for counts in by_model.values():
        totals += counts
    beyond = {name: counts[UnitOutcome.NOT_APPLICABLE] for name, counts in by_model.items()}
    for name, plan in opening.work.models.items():
        if beyond.get(name) and plan.model.inputs == ("text",):
            say(
                f"{name} takes text alone: {beyond.pop(name)} units are not applicable to it; if that was a "
                "setting, mend `inputs` and add --again not_applicable"
            )
    if any(beyond.values()):
        say(
            f"units beyond a model's inputs or limits: {sum(beyond.values())} (`harness data check --models "
            "A --conditions B` says by which); shrink or convert images by --image-recipe, or, if that was a "
            "setting, mend it and add --again not_applicable"
        )
    if code == 0:
        say_shard(opening, "done; ")
        return
    missing = sum(totals[outcome] for outcome in INCOMPLETE)
    if totals[UnitOutcome.CASE_ERROR]:
        say(
            f"units of cases that cannot be asked: {totals[UnitOutcome.CASE_ERROR]}; mend the files "
            "(`harness data check` lists what is wrong), then give the same `harness run` again, without "
            "--again"
        )
    if missing:
        why = {exit_codes.INTERRUPTED: "interrupted; ", exit_codes.BUDGET: "stopped at --max-cost; "}.get(
            code, ""
        )
        shard = opening.states.wanted.shard
        share = f"units without an answer: {missing} of {totals.total()}"
        share += f" in shard {shard}" if shard else ""
        say(f"{why}{share}; to go on: {_resume(opening, invocation)}")


def _resume(opening: Opening, invocation: Invocation) -> str:
    words = ["harness", "resume", opening.run.name, *where_again(invocation.config_path, invocation.store)]
    if invocation.session.shard is not None:
        words += ["--shard", str(invocation.session.shard)]
    return shlex.join(words)


@contextmanager
def told_when_interrupted(how: str) -> Iterator[None]:
    """Say how to go on where Ctrl-C ends the work; the exit code is that of every interruption."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"interrupted; {how}")
        raise


def where_again(config_path: Path | None, store: str | None) -> list[str]:
    """Return the options with which another command finds the same store; no password is repeated."""
    config = [] if config_path is None else ["--config", str(config_path)]
    return config if store is None else [*config, "--store", as_given_again(store)]
