"""What would be asked next for a unit: whether it is stored, who asks it now, what comes nearest to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from harness.benchmarks.prompts import placeholders
from harness.cache.rows import LinkedUnit
from harness.cache.store import Store
from harness.canonical import JSON
from harness.explaining.asking import AllServed, CannotAsk, NextAsk, PlannedUnit, next_ask
from harness.explaining.components import wanted_identity
from harness.explaining.nearest import MOST_SHOWN, Neighbour, Sought, nearest_neighbour
from harness.explaining.sentences import difference_sentences, not_needed, way_out, what_next
from harness.moments import shown_moment
from harness.offline.replay import ReplayedUnit

Facts: TypeAlias = dict[str, Any]
"""JSON throughout: what `harness explain --json` prints."""


async def next_facts(
    store: Store,
    planned: PlannedUnit,
    replayed: ReplayedUnit,
    linked: LinkedUnit | None,
    attempt: int | None,
) -> Facts:
    """Return what the next run would ask for a unit, or why nothing; `attempt` None: the next open one."""
    links = () if linked is None else linked.links
    made = attempt in {link.attempt for link, _ in links if link.purpose == "answer"}
    ask = await next_ask(store, planned, attempt, made=made)
    if made and isinstance(ask, NextAsk) and ask.served_by is None:
        # A request for it that is not stored is a miss only where the attempts before it lead to it.
        whole = await next_ask(store, planned)
        ask = whole if isinstance(whole, AllServed) else ask
    facts: Facts = {"by": planned.basis, "why_snapshot": planned.why_snapshot}
    match ask:
        case CannotAsk(reason=reason):
            return facts | {"asks": False, "told": f"nothing can be sent for this unit: {reason}"}
        case AllServed(outcome=outcome, last=last):
            told = what_next(replayed.state, complete=True)
            if attempt is not None and attempt > last:
                told = f"{not_needed(attempt, last, outcome, made=made)}; {told}"
            return facts | {"asks": False, "told": told, "outcome": str(outcome)}
        case NextAsk():
            own = [exchange.id for _, exchange in links]
            return facts | await _ask_facts(store, planned, replayed, ask, own)


async def _ask_facts(
    store: Store, planned: PlannedUnit, replayed: ReplayedUnit, ask: NextAsk, own: Sequence[int]
) -> Facts:
    facts: Facts = {
        "asks": ask.served_by is None,
        "told": what_next(replayed.state, complete=ask.served_by is not None),
        "purpose": ask.purpose,
        "attempt": ask.request.attempt,
        "key": ask.built.key,
        "served_by": ask.served_by,
        "not_counted": ask.hidden,
        "claimed_by": await _claim(store, ask.built.key),
    }
    if ask.served_by is not None:
        return facts
    unit = planned.unit
    sought = Sought(
        identity=wanted_identity(ask.built, ask.request, ask.model),
        key=ask.built.key,
        twin=ask.built.twin,
        purpose=ask.purpose,
        benchmark=planned.benchmark.name,
        unit=unit.id,
        own=own,
        text_tells=ask.purpose == "reformat" or bool(placeholders(unit.condition.prompt)),
    )
    found = await nearest_neighbour(store, sought)
    near = None if found is None else _neighbour_facts(found, ask)
    return facts | {"ever_asked": bool(own), "nearest": near}


def _neighbour_facts(found: Neighbour, ask: NextAsk) -> Mapping[str, JSON]:
    provider = ask.model.provider.name
    return {
        **found.to_json(),
        "told": difference_sentences(found.differences)[:MOST_SHOWN],
        "way_out": way_out(found, model=ask.model.name, provider=provider),
    }


async def _claim(store: Store, key: str) -> Facts | None:
    holder = await store.claim_holder(key)
    if holder is None:
        return None
    return {
        "pid": holder.owner.pid,
        "host": holder.owner.host.partition(" ")[0],
        "until": shown_moment(holder.expires_at_us),
    }
