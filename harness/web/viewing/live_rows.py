"""The rows of what is shown of a run that goes on: pools, limits, sessions, and what must be said below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from harness.live_state import ToldPool
from harness.outcomes import UNUSABLE, USABLE, UnitOutcome
from harness.session_standing import Standing
from harness.web.viewing.live_board import Seen, SeenSession
from harness.web.viewing.live_words import closed_until, lasting, usd, waiting

_MOST_SESSIONS: Final = 20
_SOUND: Final = frozenset(one.value for one in USABLE)
_WEAK: Final = frozenset(one.value for one in UNUSABLE)


@dataclass(frozen=True, slots=True)
class PoolRow:
    """A pool of a session that goes on, and why it waits, in words."""

    session: int
    pool: ToldPool
    waits: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit of `--max-cost` in words; what counts against it, and the limit, in USD."""

    told: str
    counted: float
    most: float


def pools(seen: Seen) -> list[PoolRow]:
    """Return the pools that did anything, or are kept from it, of all sessions that go on."""
    return [
        PoolRow(one.session.id, pool, tuple(_waits(one, pool)))
        for one in seen.going_on
        if one.told is not None
        for pool in one.told.pools
        if pool.sends or pool.in_flight or pool.waiting or pool.closed or pool.held_s
    ]


def _waits(seen: SeenSession, pool: ToldPool) -> list[str]:
    found = []
    if pool.closed:
        until = "" if seen.told_at_us is None else closed_until(pool, seen.told_at_us)
        found.append(f"no more requests in this session: {pool.closed}{until}")
    if seen.told_at_us is not None and (told := waiting(pool, seen.told_at_us, seen.told_s_ago or 0.0)):
        found.append(told)
    if not pool.connected:
        found.append("nothing connects: one request at a time is tried")
    found += [f"{n} back off before they are sent again: {why}" for why, n in pool.backing_off.items()]
    if seen.told is not None:
        waits = sum(seen.told.claim_waits.get(model, 0) for model in pool.models)
        found += [f"{waits} wait for another process that asks the same"] if waits else []
    return found


def waits(seen: Seen) -> list[str]:
    """Return, in a few words, which models wait until when."""
    found = []
    for one in seen.going_on:
        for pool in one.told.pools if one.told is not None else ():
            told = None if one.told_at_us is None else waiting(pool, one.told_at_us, one.told_s_ago or 0.0)
            if told is not None:
                found.append(f"{', '.join(pool.models[:2])}: {told}")
    found = list(dict.fromkeys(found))  # two sessions may wait for the same
    return found[:3] + ([f"{len(found) - 3} more wait"] if len(found) > 3 else [])


def in_flight(seen: Seen) -> int:
    """Return how many requests are in flight in all sessions together."""
    return sum(one.told.in_flight for one in seen.going_on if one.told is not None)


def many(seen: Seen) -> bool:
    """Tell whether several sessions go on, so that rows must say whose they are."""
    return len(seen.going_on) > 1


def limits(seen: Seen) -> list[Limit]:
    """Return the limits of `--max-cost` of all sessions that go on, or else of the last one."""
    found = []
    for one in seen.going_on or seen.sessions[-1:]:
        told = one.told
        if told is None:
            continue
        whose = f" of session {one.session.id}" if many(seen) else ""
        if told.max_usd is not None:
            words = f"{usd(told.counted_usd)} of --max-cost {usd(told.max_usd)} count{whose}"
            found.append(Limit(words + _unknown(told.unknown_cost), told.counted_usd, told.max_usd))
        for model, most in told.max_usd_by_model.items():
            spent = told.spent_by_model.get(model, {})
            counted = float(spent.get("known_usd") or 0.0)
            words = f"{usd(counted)} of --max-cost {usd(most)} for {model}{whose}"
            found.append(Limit(words + _unknown(int(spent.get("unknown") or 0)), counted, most))
    return found


def _unknown(sends: int) -> str:
    if not sends:
        return ""
    if sends == 1:
        return "; 1 send of unknown cost counts with the most that it may have cost"
    return f"; {sends:,} sends of unknown cost count with the most that they may have cost"


def stopped(seen: Seen) -> list[str]:
    """Return which limits were reached, in words, by the sessions that go on, or else by the last one."""
    return [
        told
        for one in seen.going_on or seen.sessions[-1:]
        if one.told is not None
        for told in one.told.stopped
    ]


def total(seen: Seen) -> Mapping[str, Any]:
    """Return what all models cost together."""
    return {
        name: sum(one[name] for one in seen.spent["models"]) for name in ("known_usd", "sends", "unknown")
    }


def spending_notes(seen: Seen) -> list[str]:
    """Return where the numbers of spending are from, where that is not the end of a session."""
    by: dict[str, list[str]] = {}
    for one in seen.sessions:
        by.setdefault(one.spent, []).append(str(one.session.id))
    said = {
        "told": "as told while at work, without what is in flight",
        "exchanges": "counted by stored answers, without what was in flight",
        "counting": "being counted by stored answers; until then, as told last",
        "damaged": "not counted, as a stored answer is damaged",
    }
    return [
        f"Session{'s' if len(by[source]) > 1 else ''} {', '.join(by[source])}: {told}."
        for source, told in said.items()
        if source in by
    ]


def newest(seen: Seen) -> Sequence[SeenSession]:
    """Return the sessions, the newest first; those that go on before the others."""
    ordered = sorted(seen.sessions, key=lambda one: (one.standing.over, -one.session.id))
    return ordered[: max(_MOST_SESSIONS, len(seen.going_on))]


def left_out(seen: Seen) -> int:
    """Return how many sessions `newest` leaves out."""
    return len(seen.sessions) - len(newest(seen))


def done(seen: SeenSession) -> str:
    """Return how many units a session has done, of how many."""
    told = seen.told
    if told is None:
        return ""
    if told.kind == "import":
        return f"{told.answers:,} answers read"
    return f"{told.done:,} of {told.open:,}"


def flying(seen: SeenSession) -> str:
    """Return what a session has in flight; of a killed one that may have been paid for, and is not stored."""
    if seen.told is None or seen.standing is Standing.ENDED:
        return ""
    return f"{seen.told.in_flight} when it told" if seen.standing.over else str(seen.told.in_flight)


def closed(seen: SeenSession) -> list[str]:
    """Return which models an ended session asked no more, and why."""
    found = [f"{model}: {why}" for model, why in (seen.facts["closed"] or {}).items() if why != "interrupted"]
    return found[:5] + ([f"{len(found) - 5} more models were asked no more"] if len(found) > 5 else [])


def causes(seen: SeenSession) -> Mapping[str, int]:
    """Return why a session sent requests again: outcome -> how often."""
    if seen.told is not None:
        return seen.told.causes
    found = seen.session.info.get("causes")
    return {str(one): n for one, n in found.items()} if isinstance(found, dict) else {}


def outcome_chip(outcome: str) -> str:
    """Return the class of the chip of a unit's outcome: the same as in lists of units."""
    if outcome in _SOUND:
        return "chip-ok"
    if outcome == UnitOutcome.NOT_APPLICABLE.value:
        return "chip-quiet"
    return "chip-bad" if outcome in _WEAK else "chip-warn"


def left(seen: Seen) -> str:
    """Return about how long the rest takes; "" where nobody can say."""
    return "" if seen.left_s is None else f"about {lasting(seen.left_s)} left"
