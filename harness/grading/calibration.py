"""The gate to full grading: rounds that all raters grade first, and how far they must agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.errors import ConfigError
from harness.grading.agreement import PairAgreement
from harness.grading.order import CALIBRATION, drawn
from harness.grading.plan import Plan
from harness.grading.state import Opened, Round, State


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


def another_round(plan: Plan, state: State, now_us: int, size: int | None = None) -> State:
    """Return the state with a further round of other items. Raises ConfigError where none can be begun."""
    _check_waits(state)
    items = drawn_round(plan, state, size)
    if not items:
        raise ConfigError(
            "every answer was in a round of calibration already; open full grading with --open REASON, or "
            "make another grading"
        )
    return state.with_round(Round(items, now_us))


def opened_by_lead(state: State, reason: str, now_us: int) -> State:
    """Return the state, opened by hand. Raises ConfigError without a reason, or if it is open already."""
    if state.opened is not None:
        raise ConfigError("full grading is open already")
    if not reason.strip():
        raise ConfigError("say why full grading is opened though the raters do not agree as was asked")
    return replace(state, opened=Opened(now_us, "lead", reason.strip()))


def _check_waits(state: State) -> None:
    if state.opened is not None:
        raise ConfigError("full grading is open already; there is nothing to calibrate")
    if state.round is not None and state.round.ended_at_us is None:
        raise ConfigError("the raters have not finished the round of calibration that is going on")
