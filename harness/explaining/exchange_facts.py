"""All that is known about each exchange of a unit, as JSON: for `harness explain`, and for pages."""

from __future__ import annotations

from collections.abc import Sequence

from harness.answers.readings import read_answer
from harness.attempts import AttemptPolicy, read_reply
from harness.cache.rows import Session
from harness.cache.store import Store
from harness.explaining.imported import import_facts
from harness.explaining.next_facts import Facts
from harness.messages import Reply
from harness.moments import shown_moment
from harness.offline.replay import ReplayedUnit
from harness.offline.sends import Send
from harness.providers.litellm_format import translated_request
from harness.settings import IMPORTED


async def exchange_facts(
    store: Store, replayed: ReplayedUnit, sends: Sequence[Send], policy: AttemptPolicy, attempt: int | None
) -> list[Facts]:
    """Return the facts of every exchange in order; `attempt`: of this one alone."""
    runs = await store.run_of_session(send.exchange.session for send in sends)
    after = 0 if replayed.state is None else replayed.state.again_after
    return [
        send_facts(send, policy, runs.get(send.exchange.session), after)
        for send in sends
        if attempt is None or (send.link.purpose == "answer" and send.link.attempt == attempt)
    ]


def send_facts(send: Send, policy: AttemptPolicy, run: str | None, after: int) -> Facts:
    """Return the facts of one exchange, paid by `run`; those up to `after` are of an earlier round."""
    data, reading, usage = send.exchange.data, send.reading, send.usage
    replied = isinstance(reading, Reply)
    return {
        "exchange": send.exchange.id,
        "purpose": send.link.purpose,
        "attempt": send.link.attempt,
        "send": send.send,
        "used": send.used,
        "earlier_round": send.exchange.id <= after,
        "at": shown_moment(data.started_at_us),
        "session": send.exchange.session,
        "paid_by_run": run,
        "imported": data.adapter == IMPORTED,
        "cached": not send.paid_here,
        "provider": data.provider,
        "endpoint": data.endpoint,
        "pool": data.pool,
        "model": data.model,
        "served_model": data.served_model,
        "status": data.raw.status,
        "outcome": str(reading.outcome),
        "stored_outcome": str(data.outcome),
        "finish_reason": reading.finish_reason if isinstance(reading, Reply) else None,
        "message": reading.detail if isinstance(reading, Reply) else reading.message,
        "quoted": isinstance(reading, Reply) or reading.quoted,
        "not_usable_because": _complaint(send, policy) if replied else None,
        "maybe_billed": data.maybe_billed,
        "masked": data.masked,
        "translated": translated_request(data.raw),
        "latency_s": data.total_s,
        "first_byte_s": data.first_byte_s,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "cached_tokens": usage.cached_tokens,
        "cost_usd": send.cost_usd,
        "key": data.key,
        "text": reading.text if isinstance(reading, Reply) else None,
        "reasoning": reading.reasoning if isinstance(reading, Reply) else None,
    }


def _complaint(send: Send, policy: AttemptPolicy) -> str | None:
    """Return what makes an answer unusable by itself; None for one that can be used."""
    assert isinstance(send.reading, Reply)
    if send.link.purpose == "answer":
        found = read_reply(send.reading, policy)
    else:
        found = read_answer(send.reading, policy.reformat_validator, policy.aliases)
    return None if found.error is None else found.error.message


def tell_import(exchanges: Sequence[Facts], sends: Sequence[Send], sessions: Sequence[Session]) -> None:
    """Replace what an imported exchange does not know of a send: its status, and times that no file gave."""
    data = {send.exchange.id: send.exchange.data for send in sends}
    for one in exchanges:
        found = import_facts(data[one["exchange"]], sessions)
        one |= {"source": found, "status": None, "latency_s": found["total_s"]}
        if not found["stated_at"]:
            one["at"] = None
