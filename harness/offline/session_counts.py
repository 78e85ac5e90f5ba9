"""What sessions of a run did and spent, in one form for all who show it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from harness.budget import Spending, summed
from harness.cache.rows import Run, Session
from harness.cache.store import Store
from harness.errors import StoreError
from harness.moments import shown_moment
from harness.offline.spending import spent_by_model

Facts: TypeAlias = dict[str, Any]
"""JSON."""


def session_facts(session: Session) -> Facts:
    """Return what a session kept of itself; what it counts at its end only is null without one."""
    ended = None if session.ended_at_us is None else shown_moment(session.ended_at_us)
    return {
        "id": session.id,
        "started": shown_moment(session.started_at_us),
        "ended": ended,
        "exit": session.exit_code,
        "shard": session.info.get("shard"),
        "sends": session.info.get("sends"),
        "spent_usd": session.info.get("spent_usd"),
        "unknown_cost_sends": session.info.get("unknown_cost_sends"),
        "at_most_usd": session.info.get("at_most_usd"),
        "cut_off": session.info.get("cut_off"),
        "spent_by_model": session.info.get("spent_by_model"),
        "closed": session.info.get("closed"),
        "import": session.info.get("import"),
    }


def counted_at_end(facts: Facts) -> bool:
    """Tell whether a session counted its own sends; others were killed, are at work, or failed."""
    return facts["spent_by_model"] is not None or facts["sends"] == 0


def counted_by_exchanges(facts: Facts, spent: Mapping[str, Spending]) -> Facts:
    """Return a session with the counts of what it stored."""
    total = summed(spent.values())
    return facts | {
        "sends": total.sends,
        "spent_usd": total.usd,
        "unknown_cost_sends": total.unknown,
        "at_most_usd": None,  # what was in flight is not stored
        "spent_by_model": {name: one.to_json() for name, one in sorted(spent.items())},
        "counted": "exchanges",
    }


async def counted_sessions(
    store: Store, run: Run, sessions: Sequence[Session], note: Callable[[str], None]
) -> list[Facts]:
    """Return all sessions of a run, those that did not count their sends at their end by what they stored.

    `counted` says where the counts are from: "end" or "exchanges", null where an exchange is damaged; `note`
    is told of that.
    """
    found = []
    for session in sessions:
        known = session_facts(session)
        if counted_at_end(known):
            found.append(known | {"counted": "end"})
            continue
        try:
            spent = await spent_by_model(store, run, session, sessions)
        except StoreError as error:
            note(f"note: session {session.id} is not counted: {error}")
            found.append(known | {"counted": None})
            continue
        found.append(counted_by_exchanges(known, spent))
    return found


def spending(sessions: Sequence[Facts]) -> Facts:
    """Return what all sessions spent by model, reformatters among them.

    `usd` is null where the cost of a send is unknown. `from_exchanges` are sessions that were counted by what
    they stored, `uncounted` those with a damaged exchange.
    """
    models: dict[str, Facts] = {}
    for session in sessions:
        for name, one in (session["spent_by_model"] or {}).items():
            known = models.setdefault(name, {"known_usd": 0.0, "sends": 0, "unknown": 0})
            for field in known:
                known[field] += one[field]
    rows = [
        {"model": name, "usd": None if one["unknown"] else one["known_usd"], **one}
        for name, one in sorted(models.items())
    ]
    return {
        "models": rows,
        "from_exchanges": [one["id"] for one in sessions if one["counted"] == "exchanges"],
        "uncounted": [one["id"] for one in sessions if one["counted"] is None],
    }
