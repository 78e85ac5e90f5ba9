"""What comes next for a unit, who asks it right now, and which sessions may be at work on its run."""

from __future__ import annotations

from dataclasses import dataclass

from harness.cache.claims import ClaimHolder
from harness.errors import HarnessError
from harness.explaining.asking import AllServed, NextAsk, PlannedUnit, next_ask, snapshot_unit
from harness.explaining.exchange_sentences import not_ended_text
from harness.explaining.imported import imported_next
from harness.explaining.sentences import what_next
from harness.moments import shown_moment
from harness.offline.stored_run import StoredRun
from harness.outcomes import ASKED_AGAIN_ON_RESUME
from harness.web.viewing.library import Library
from harness.web.viewing.unit_evidence import UnitRead


@dataclass(frozen=True, slots=True)
class Standing:
    """What comes next for a unit, and who asks it right now."""

    told: str
    claim: str | None = None


async def standing(library: Library, read: UnitRead) -> Standing:
    """Return what the next run would do for a unit, by what the run keeps of itself; nothing is asked."""
    state = read.replayed.state
    if read.imported:
        return Standing(str(imported_next(answered=bool(read.replayed.result.used))["told"]))
    if state is not None and state.outcome is not None and state.outcome not in ASKED_AGAIN_ON_RESUME:
        return Standing(what_next(state, complete=True))
    if read.case.problem is not None:
        return Standing(f"nothing can be sent for this unit: {read.case.problem}")
    try:
        made = snapshot_unit(read.stored, read.unit, 0 if state is None else state.again_after)
        planned = PlannedUnit(made, read.stored.benchmark, read.stored.manifest.structured, "snapshot")
        ask = await next_ask(library.store, planned)
    except HarnessError:
        return Standing(what_next(state, complete=False))
    if isinstance(ask, NextAsk):
        holder = await library.store.claim_holder(ask.built.key)
        return Standing(what_next(state, complete=False), None if holder is None else _claim(holder))
    # What cannot be told without the files of the case says nothing against the unit.
    return Standing(what_next(state, complete=isinstance(ask, AllServed)))


def _claim(holder: ClaimHolder) -> str:
    host, until = holder.owner.host.partition(" ")[0], shown_moment(holder.expires_at_us)
    return f"it is being asked right now by process {holder.owner.pid} on {host}, until {until} at least"


def open_sessions(stored: StoredRun) -> str | None:
    """Return which sessions of a run have no end, in a sentence; None where all have."""
    found = [
        {"session": one.id, "started": shown_moment(one.started_at_us)}
        for one in stored.sessions
        if one.ended_at_us is None
    ]
    return not_ended_text(found) if found else None
