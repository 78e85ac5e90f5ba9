"""All that is known about one unit: its exchanges in order, why it ended so, what would be asked next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from harness.answers.readings import read_answer
from harness.attempts import AttemptPolicy, read_reply
from harness.benchmarks.steps import unit_of_id
from harness.cache.rows import Session, UnitId
from harness.cache.store import Store
from harness.canonical import JSON
from harness.config import Config
from harness.costs import total_usd
from harness.errors import ConfigError, UnknownNameError
from harness.explaining.asking import planned_unit, snapshot_unit
from harness.explaining.imported import import_facts, imported_next
from harness.explaining.next_facts import Facts, next_facts
from harness.explaining.sentences import why
from harness.messages import Reply
from harness.moments import shown_moment
from harness.nearest import nearest
from harness.offline.records import RecordMaker, costs_of_asks
from harness.offline.replay import ReplayedUnit, Replayer
from harness.offline.sends import Send
from harness.offline.step_runs import source_run
from harness.offline.stored_run import StoredRun, load_run
from harness.providers.litellm_format import translated_request
from harness.settings import IMPORTED


@dataclass(frozen=True, slots=True)
class Question:
    """Which unit is asked about. None: the only one that the run has."""

    case_id: str
    model: str | None = None
    condition: str | None = None
    repeat: int = 1
    attempt: int | None = None
    data: str | None = None
    """The folder of the case files, absolute."""
    of: str | None = None
    """In a step: whose answer the case is about, where `case_id` is that of the run that it follows."""


_NAMED = 6
"""Cases that are named where several are meant."""


async def explain_unit(store: Store, ref: str, question: Question, config: Config) -> Facts:
    """Return everything about a unit of a run. Raises UnknownNameError, ConfigError, StoreError."""
    stored = await load_run(store, await store.find_run(ref))
    unit = _unit(stored, question)
    linked = await store.linked_unit(stored.run.id, unit)
    replayer = Replayer(stored)
    replayed = replayer.replay(unit, linked)
    maker = RecordMaker(stored)
    sends = list(maker.sends(replayed))
    policy = snapshot_unit(stored, unit, 0).condition.policy
    state, result = replayed.state, replayed.result
    imported = stored.manifest.models[unit.model].imported
    facts: Facts = {
        "run": stored.run.name,
        "digest": stored.run.digest,
        "benchmark": stored.run.benchmark,
        "case_id": unit.case_id,
        "condition": unit.condition,
        "model": unit.model,
        "repeat": unit.repeat,
        "step": await _step(store, stored, unit),
        "attempt": question.attempt,
        "imported": imported,
        "state": _state_name(replayed),
        "stored_outcome": None if state is None or state.outcome is None else str(state.outcome),
        "stage": result.stage,
        "why": why(result, state, imported=imported),
        "sessions_not_ended": await _not_ended(store, stored),
        "media": maker.media(unit, sends),
        "asks": costs_of_asks(sends),
        "evidence_cost_usd": total_usd(send.cost_usd for send in sends),
        "spent_usd": total_usd(send.cost_usd for send in sends if send.paid_here),
        "exchanges": await _exchanges(store, replayed, sends, policy, question.attempt),
    }
    if imported:
        sessions = await store.sessions(stored.run.id)
        _tell_import(facts["exchanges"], sends, sessions)
        return facts | {"next": imported_next(answered=bool(result.used))}
    planned = await planned_unit(store, stored, unit, linked, config, question.data)
    return facts | {"next": await next_facts(store, planned, replayed, linked, question.attempt)}


async def _step(store: Store, stored: StoredRun, unit: UnitId) -> JSON:
    """Return whose answer a step's unit is about, and the name of that run; None for any other run."""
    step, about = stored.manifest.step, unit_of_id(unit.case_id)
    if step is None or about is None:
        return None
    source = await source_run(store, step.source)
    return {
        "kind": step.kind, "source": step.source, "source_run": None if source is None else source.name,
        "about": asdict(about),
    }  # fmt: skip


def _tell_import(exchanges: Sequence[Facts], sends: Sequence[Send], sessions: Sequence[Session]) -> None:
    """Replace what an imported exchange does not know of a send: its status, and times that no file gave."""
    data = {send.exchange.id: send.exchange.data for send in sends}
    for one in exchanges:
        found = import_facts(data[one["exchange"]], sessions)
        one |= {"source": found, "status": None, "latency_s": found["total_s"]}
        if not found["stated_at"]:
            one["at"] = None


def _unit(stored: StoredRun, question: Question) -> UnitId:
    manifest = stored.manifest
    case_id = _case_id(stored, question)
    model = _chosen(question.model, list(manifest.models), "model", stored.run.name)
    condition = _chosen(question.condition, stored.conditions, "condition", stored.run.name)
    for name, value, most in (
        ("repeat", question.repeat, manifest.repeats),
        ("attempt", question.attempt or 1, manifest.attempts),
    ):
        if not 1 <= value <= most:
            raise ConfigError(f"run {stored.run.name!r} has {name}s 1 to {most}, not {value}")
    return UnitId(model, condition, case_id, question.repeat)


def _case_id(stored: StoredRun, question: Question) -> str:
    """Return the id of the case that is meant: in a step, the case of the run that it follows is enough."""
    index, name, run = stored.case_index, question.case_id, stored.run.name
    if stored.manifest.step is not None and question.data is not None:
        raise ConfigError(f"run {run!r} is a step and has no case files; leave out --data")
    if stored.manifest.step is None and question.of is not None:
        raise ConfigError(f"run {run!r} is no step, so there is nothing that --of could choose; leave it out")
    if index.find(name) is not None:
        return name
    found = []
    if stored.manifest.step is not None:
        for one in map(index.id, index):
            about = unit_of_id(one)
            if about is not None and about.case_id == name and question.of in (None, about.model):
                found.append(one)
    if len(found) == 1:
        return found[0]
    if found:
        raise ConfigError(
            f"step {run!r} asks about several answers to case {name!r}; choose one with --of MODEL, or give "
            f"as --case one of: {', '.join(map(repr, found[:_NAMED]))}{' ...' if len(found) > _NAMED else ''}"
        )
    of = "" if question.of is None else f" of model {question.of!r}"
    raise UnknownNameError(f"run {run!r} has no case {name!r}{of}{nearest(name, map(index.id, index))}")


def _chosen(given: str | None, known: Sequence[str], what: str, run: str) -> str:
    if given is None:
        if len(known) == 1:
            return known[0]
        raise ConfigError(f"run {run!r} has several {what}s; choose one with --{what}: {', '.join(known)}")
    if given not in known:
        raise UnknownNameError(
            f"run {run!r} has no {what} {given!r}{nearest(given, known)}; known: {', '.join(known)}"
        )
    return given


def _state_name(replayed: ReplayedUnit) -> str:
    if replayed.state is None:
        return "never begun"
    return "open" if replayed.state.outcome is None else str(replayed.result.outcome)


async def _not_ended(store: Store, stored: StoredRun) -> list[JSON]:
    sessions = await store.sessions(stored.run.id)
    open_ones = [one for one in sessions if one.ended_at_us is None]
    return [{"session": one.id, "started": shown_moment(one.started_at_us)} for one in open_ones]


async def _exchanges(
    store: Store, replayed: ReplayedUnit, sends: Sequence[Send], policy: AttemptPolicy, attempt: int | None
) -> list[Facts]:
    runs = await store.run_of_session(send.exchange.session for send in sends)
    after = 0 if replayed.state is None else replayed.state.again_after
    return [
        _send_facts(send, policy, runs.get(send.exchange.session), after)
        for send in sends
        if attempt is None or (send.link.purpose == "answer" and send.link.attempt == attempt)
    ]


def _send_facts(send: Send, policy: AttemptPolicy, run: str | None, after: int) -> Facts:
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
