"""Raters who come when a grading is under way, and raters who leave: what that makes of its state.

Who comes after a round of calibration has ended first grades the sheets of the last one, alone, and is held
against what the others said of them: the same threshold opens full grading to them. Nothing changes for the
others, neither sheets nor order, nor what was opened to them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from harness.errors import ConfigError, UnknownNameError
from harness.grading.agreement import PairAgreement
from harness.grading.order import CALIBRATION, drawn
from harness.grading.plan import Plan
from harness.grading.roster import Roster
from harness.grading.seats import Draw, check_raters, new_token, with_rater
from harness.grading.state import Joined, Opened, Retired, Round, State
from harness.nearest import nearest_or_known


def check_joins(plan: Plan, state: State, name: str) -> None:
    """Raise ConfigError for a name that cannot be another rater's."""
    roster = Roster(plan, state)
    if name in roster.active:
        raise ConfigError(f"--add-rater: {name!r} grades here already")
    check_raters([*(one for one in roster.names if one != name), name], "--add-rater")


def active_rater(plan: Plan, state: State, name: str, option: str) -> None:
    """Raise ConfigError for somebody who does not grade (any more)."""
    roster = Roster(plan, state)
    if name in roster.active:
        return
    if name in roster.names:
        raise ConfigError(f"{option}: {name!r} has retired already")
    raise UnknownNameError(f"{option}: there is no rater {name!r}{nearest_or_known(name, roster.active)}")


def check_takes_place(roster: Roster, name: str, of: str) -> None:
    """Raise ConfigError where a rater cannot take another one's place, UnknownNameError for nobody's."""
    if of not in roster.names:
        raise UnknownNameError(f"--in-place-of: there is no rater {of!r}{nearest_or_known(of, roster.names)}")
    taken = next((one.name for one in roster.state.joined if one.in_place_of == of), None)
    if taken is not None and of not in roster.active and name not in roster.active:
        raise ConfigError(
            f"--in-place-of: {taken!r} has taken the place of {of!r} already; name {taken!r} to take theirs, "
            "or leave out --in-place-of for somebody who grades everything"
        )
    if name == of:
        raise ConfigError("--in-place-of: nobody takes their own place; name another rater with --add-rater")
    if name in roster.names and name not in roster.active:
        raise ConfigError(
            f"--add-rater: {name!r} graded here before and comes back to their own sheets; leave out "
            "--in-place-of"
        )


def with_another(
    plan: Plan, state: State, name: str, now_us: int,
    *, share: Collection[int] | None = None, in_place_of: str | None = None, draw: Draw = new_token,
) -> State:  # fmt: skip
    """Return the state with another rater, or with one who comes back: they keep their order and sheets.

    `share`: the items that they grade beside calibration, for somebody who takes the place of another one.
    """
    check_joins(plan, state, name)
    left = next((one for one in state.retired if one.name == name), None)
    state = replace(state, seats=with_rater(state.seats, name, draw))
    if left is None:
        chosen = None if share is None else tuple(sorted(share))
        return state.with_joined(_newcomer(state, name, now_us, chosen, in_place_of))
    state = state.with_returned(left, now_us)
    known = state.joined_as(name)
    if known is not None:
        return state.with_joined(_back_again(state, left, known, now_us))
    if _took_part(state, left):
        return state
    return state.with_joined(replace(_newcomer(state, name, now_us, None, None), after=0))


def _back_again(state: State, left: Retired, known: Joined, now_us: int) -> Joined:
    """Return how somebody goes on who came later, left and comes back."""
    latest = state.round
    if latest is not None and _goes_on(state, latest):
        return replace(known, opened=Opened(now_us, "with all")) if known.round is not None else known
    if latest is None or known.round is not None or _took_part(state, left):
        return known
    if any(one.items == latest.items for one in known.rounds):
        return known
    return replace(known, rounds=(*known.rounds, Round(latest.items, now_us)), opened=None)


def _newcomer(
    state: State, name: str, now_us: int, share: tuple[int, ...] | None, in_place_of: str | None
) -> Joined:
    latest, ended = state.round, len(state.rounds)
    if latest is None or _goes_on(state, latest):
        # No calibration, or one that goes on: then it is theirs too.
        with_all = Opened(now_us, "with all")
        return Joined(name, now_us, max(0, ended - 1), (), with_all, share, in_place_of)
    return Joined(name, now_us, ended, (Round(latest.items, now_us),), None, share, in_place_of)


def _goes_on(state: State, latest: Round) -> bool:
    return state.opened is None and latest.ended_at_us is None


def _took_part(state: State, left: Retired) -> bool:
    """Tell whether there is no round that a rater missed while they were gone."""
    latest = state.round
    if latest is None or _goes_on(state, latest):
        return True
    if state.opened is not None and left.at_us >= state.opened.at_us:
        return True
    return any(left.name in pair.raters for pair in latest.pairs)


def without(plan: Plan, state: State, name: str, now_us: int) -> State:
    """Return the state without a rater: their link opens nothing, what they left open is not waited for.

    Raises ConfigError for the only one.
    """
    active_rater(plan, state, name, "--retire")
    if len(Roster(plan, state).active) == 1:
        raise ConfigError(
            f"--retire: {name!r} is the only rater left; add another one first (--add-rater), or give the "
            "grading up with --delete"
        )
    return state.with_retired(name, now_us)


def own_round_ended(
    plan: Plan, state: State, current: Joined, ended_us: int, pairs: Sequence[PairAgreement], now_us: int
) -> State | None:
    """Return the state with a newcomer's round ended by what it came to; None where others ended it."""
    now = state.joined_as(current.name)
    if now != current or now.round is None:
        return None
    ended = replace(now.round, ended_at_us=ended_us, pairs=tuple(pairs))
    opened = Opened(now_us, "agreement") if ended.reaches(plan.threshold) else None
    return state.with_joined(replace(now, rounds=(*now.rounds[:-1], ended), opened=opened))


def own_round_again(
    plan: Plan, state: State, graded: Collection[int], now_us: int, size: int | None = None
) -> State:
    """Return the state with a further round for each newcomer whose round did not open full grading.

    `graded`: the items that the others have done, which alone somebody can be held against. Raises
    ConfigError where there is nobody, or nothing.
    """
    waiting = [one for one in Roster(plan, state).pending if one.rounds[-1].ended_at_us is not None]
    if not waiting:
        raise ConfigError("full grading is open already; there is nothing to calibrate")
    changed = []
    for one in waiting:
        used = {number for each in (*state.rounds, *one.rounds) for number in each.items}
        fresh = [number for number in graded if number not in used]
        items = drawn(fresh, plan.seed, CALIBRATION, one.name, len(one.rounds) + 1)
        if not items:
            raise ConfigError(
                f"the others have graded nothing yet that {one.name} could calibrate on again; wait for "
                "them, or open full grading with --open REASON"
            )
        new = Round(tuple(items[: plan.calibration if size is None else size]), now_us)
        changed.append(replace(one, rounds=(*one.rounds, new)))
    return state.with_joined(*changed)


def opened_to_newcomers(plan: Plan, state: State, reason: str, now_us: int) -> State:
    """Return the state with full grading opened by hand to all who grade a round of their own."""
    opened = Opened(now_us, "lead", reason.strip())
    return state.with_joined(*(replace(one, opened=opened) for one in Roster(plan, state).pending))
