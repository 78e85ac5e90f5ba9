"""The gate to full grading: rounds that all raters grade first, and how far they must agree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from harness.errors import ConfigError
from harness.grading.agreement import PairAgreement
from harness.grading.book import Said
from harness.grading.joining import opened_to_newcomers, own_round_ended
from harness.grading.order import CALIBRATION, drawn
from harness.grading.plan import Plan
from harness.grading.roster import Roster
from harness.grading.standing import Standing
from harness.grading.state import Joined, Opened, Round, State


def first_state(plan: Plan, state: State, now_us: int) -> State:
    """Return the state in which a grading begins: with its first round, or open where there is no gate."""
    if not plan.gated:
        return replace(state, opened=Opened(now_us, "no gate"))
    return state.with_round(Round(drawn_round(plan, state), now_us))


def drawn_round(plan: Plan, state: State, size: int | None = None) -> tuple[int, ...]:
    """Return the items of the next round: drawn from all that were in none, the same for all raters."""
    used = {number for one in state.rounds for number in one.items}
    fresh = [number for number in range(len(plan.items)) if number not in used]
    found = drawn(fresh, plan.seed, CALIBRATION, len(state.rounds) + 1)
    return tuple(found[: plan.calibration if size is None else size])


def ended_round(
    plan: Plan, state: State, current: Round, ended_us: int, pairs: Sequence[PairAgreement], now_us: int
) -> State | None:
    """Return the state with its round ended by what it came to; None where others ended it meanwhile."""
    latest = state.round
    if state.opened is not None or latest is None or latest != current:
        return None
    ended = replace(latest, ended_at_us=ended_us, pairs=tuple(pairs))
    new = state.with_round_ended(ended)
    return replace(new, opened=Opened(now_us, "agreement")) if ended.reaches(plan.threshold) else new


@dataclass(frozen=True, slots=True)
class Due:
    """A round that all who partake have finished: what is compared, and `last`, the grade that finished it.

    `whose`: that of somebody who came later, by themselves; None: that of all raters.
    """

    items: tuple[int, ...]
    pairs: tuple[tuple[str, str], ...]
    last: Said
    round: Round
    whose: Joined | None = None

    def ended(self, plan: Plan, state: State, pairs: Sequence[PairAgreement], now_us: int) -> State | None:
        """Return the state with the round ended by what it came to; None where others ended it meanwhile."""
        if self.pairs != self._pairs_now(Roster(plan, state)):
            return None
        at_us = self.last.graded_at_us
        if self.whose is not None:
            return own_round_ended(plan, state, self.whose, at_us, pairs, now_us)
        return ended_round(plan, state, self.round, at_us, pairs, now_us)

    def _pairs_now(self, roster: Roster) -> tuple[tuple[str, str], ...]:
        """Return who would be compared by now: somebody may have come or left since the round was due."""
        if self.whose is not None:
            return _pairs_alone(roster, self.whose)
        return tuple(combinations(roster.partakers(len(roster.state.rounds) - 1), 2))


def _pairs_alone(roster: Roster, one: Joined) -> tuple[tuple[str, str], ...]:
    return tuple((other, one.name) for other in roster.held_against(one))


def due_rounds(roster: Roster, standing: Standing) -> Iterator[Due]:
    """Yield the rounds that can be ended: each wants two raters at least, who are done with all its items."""
    state = roster.state
    if state.opened is None and state.round is not None and state.round.ended_at_us is None:
        raters = roster.partakers(len(state.rounds) - 1)
        last = standing.ended_by(state.round.items, raters) if len(raters) > 1 else None
        if last is not None:
            yield Due(state.round.items, tuple(combinations(raters, 2)), last, state.round)
    for one in roster.pending:
        own, others = one.rounds[-1], roster.held_against(one)
        if own.ended_at_us is None and others:
            last = standing.ended_by(own.items, (*others, one.name))
            if last is not None:
                yield Due(own.items, _pairs_alone(roster, one), last, own, one)


def another_round(plan: Plan, state: State, now_us: int, size: int | None = None) -> State:
    """Return the state with a further round of other items. Raises ConfigError where none can be begun."""
    _check_waits(state)
    items = drawn_round(plan, state, size)
    if not items:
        raise ConfigError(
            "every answer was in a round of calibration already; open full grading with --open REASON, or "
            "make another grading"
        )
    # Who graded a round of their own meanwhile grades this one as all do.
    with_all = Opened(now_us, "with all")
    joint = state.with_joined(*(replace(one, opened=with_all) for one in Roster(plan, state).pending))
    return joint.with_round(Round(items, now_us))


def opened_by_lead(plan: Plan, state: State, reason: str, now_us: int) -> State:
    """Return the state, opened by hand: to all, or, where it is, to who came later and still calibrates.

    Raises ConfigError without a reason, or where it is open to everybody already.
    """
    if state.opened is not None and not Roster(plan, state).pending:
        raise ConfigError("full grading is open already")
    if not reason.strip():
        raise ConfigError("say why full grading is opened though the raters do not agree as was asked")
    if state.opened is not None:
        return opened_to_newcomers(plan, state, reason, now_us)
    return replace(state, opened=Opened(now_us, "lead", reason.strip()))


def _check_waits(state: State) -> None:
    if state.opened is not None:
        raise ConfigError("full grading is open already; there is nothing to calibrate")
    if state.round is not None and state.round.ended_at_us is None:
        raise ConfigError("the raters have not finished the round of calibration that is going on")
