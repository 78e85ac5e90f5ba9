"""How a run that goes on is told in words: how sessions stand and ended, waits, times, amounts."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from typing import Final

from harness import exit_codes
from harness.live_state import ToldPool
from harness.moments import shown_moment
from harness.phrases import count
from harness.session_standing import Standing
from harness.web.viewing.live_board import Seen, SeenSession

__all__ = [
    "ago", "chip", "closed_until", "count", "ending", "first_of", "foremost", "lasting", "named", "quoted",
    "rate", "share", "stands", "usd", "waiting",
]  # fmt: skip

_DAY_S: Final = 86_400
_FARTHEST_S: Final = 315_576_000.0
"""Ten years: the farthest date that is shown."""

_ENDED: Final = {
    exit_codes.OK: "ended: nothing is left to ask",
    exit_codes.FAILED: "ended: the store or the program failed",
    exit_codes.USAGE: "ended: what was asked for cannot be done",
    exit_codes.INCOMPLETE: "ended: some units have no answer",
    exit_codes.BUDGET: "stopped at --max-cost",
    exit_codes.INTERRUPTED: "interrupted",
}

_CHIPS: Final = {
    Standing.AT_WORK: "chip-ok",
    Standing.STOPPING: "chip-warn",
    Standing.PAUSED: "chip-warn",
    Standing.SILENT: "chip-warn",
    Standing.ENDED: "chip-quiet",
    Standing.KILLED: "chip-bad",
}

_STANDS: Final = {
    Standing.AT_WORK: "at work",
    Standing.STOPPING: "interrupted: finishing what is in flight",
    Standing.PAUSED: "paused: its process was stopped (Ctrl-Z), and can go on",
    Standing.SILENT: "nothing heard of it: still running, or killed",
    Standing.KILLED: "killed: its process is gone",
}

_URGENCY: Final = tuple(Standing)
_BAD_ENDS: Final = frozenset({exit_codes.FAILED, exit_codes.USAGE})
_INCOMPLETE_ENDS: Final = frozenset({exit_codes.INCOMPLETE, exit_codes.BUDGET, exit_codes.INTERRUPTED})


def stands(seen: SeenSession) -> str:
    """Return how a session stands, an ended one by its exit code."""
    if seen.standing is Standing.ENDED:
        return ending(seen.session.exit_code)
    if seen.told is None and seen.standing is Standing.AT_WORK:
        return "just begun"
    return _STANDS[seen.standing]


def quoted(name: str) -> str:
    """Return a name as a shell takes it."""
    return shlex.quote(name)


def ending(code: int | None) -> str:
    """Return how a session ended, by its exit code."""
    return _ENDED.get(code, f"ended with exit code {code}") if code is not None else "ended"


def chip(seen: SeenSession) -> str:
    """Return the class of the chip that says how a session stands."""
    if seen.standing is Standing.ENDED and seen.session.exit_code in _BAD_ENDS:
        return "chip-bad"
    if seen.standing is Standing.ENDED and seen.session.exit_code in _INCOMPLETE_ENDS:
        return "chip-warn"
    return _CHIPS[seen.standing]


def foremost(seen: Seen) -> SeenSession | None:
    """Return the session that says how the run stands: one that goes on, else the last one."""
    return first_of(seen.sessions)


def first_of(sessions: Sequence[SeenSession]) -> SeenSession | None:
    """Return the session that says how its run stands, as `foremost`."""
    if not sessions:
        return None
    going_on = (one for one in sessions if not one.standing.over)
    return min(going_on, key=lambda one: _URGENCY.index(one.standing), default=sessions[-1])


def lasting(seconds: float) -> str:
    """Return a time in words, rounded as nobody minds."""
    if seconds < 90:
        return f"{math.ceil(seconds)} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 24 else f"{hours // 24} d {hours % 24} h"


def ago(seen: SeenSession) -> str:
    """Return when a session told of itself."""
    return "never told" if seen.told_s_ago is None else f"told {lasting(seen.told_s_ago)} ago"


def rate(units_a_second: float) -> str:
    """Return a rate that stays readable when it is slow."""
    if units_a_second >= 1:
        return f"{units_a_second:.1f} units/s"
    if units_a_second * 60 >= 1:
        return f"{60 * units_a_second:.1f} units/min"
    return f"{3600 * units_a_second:.1f} units/h" if units_a_second else "no unit ended lately"


def waiting(pool: ToldPool, told_at_us: int, told_s_ago: float) -> str | None:
    """Return until when a pool lets nothing out, and why; None where it does not wait now."""
    if pool.held_s is None or pool.held_s <= told_s_ago:
        return None
    day, time_of_day = _moment(told_at_us, pool.held_s).split(" ", 1)
    moment = time_of_day if pool.held_s < _DAY_S / 2 else f"{day} {time_of_day}"
    return f"{pool.held_why or 'waiting'}: {lasting(pool.held_s - told_s_ago)} more, until {moment}"


def closed_until(pool: ToldPool, told_at_us: int) -> str:
    """Return until when a closed pool would have had to wait, as an ending; "" where nobody can say."""
    return "" if pool.closed_s is None else f"; until {_moment(told_at_us, pool.closed_s)}"


def _moment(told_at_us: int, seconds: float) -> str:
    return shown_moment(told_at_us + round(min(seconds, _FARTHEST_S) * 1_000_000))


def share(done: int, of: int) -> str:
    """Return a share in percent, never 100 before all is done, never 0 once something is."""
    if 0 < done < of:
        return f"{min(max(100 * done / of, 0.1), 99.9):.1f} %"
    return f"{100 * done // of} %"


def usd(amount: float) -> str:
    """Return an amount as `harness status` shows it."""
    return f"${amount:,.4f}"


def named(outcome: str) -> str:
    """Return an outcome as words."""
    return outcome.replace("_", " ")
