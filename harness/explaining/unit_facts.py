"""All that is known about one unit: its exchanges in order, why it ended so, what would be asked next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from harness.benchmarks.steps import unit_of_id
from harness.cache.rows import UnitId
from harness.cache.store import Store
from harness.canonical import JSON
from harness.config import Config
from harness.costs import total_usd
from harness.errors import ConfigError, UnknownNameError
from harness.explaining.asking import planned_unit, snapshot_unit
from harness.explaining.exchange_facts import exchange_facts, tell_import
from harness.explaining.imported import imported_next
from harness.explaining.next_facts import Facts, next_facts
from harness.explaining.sentences import why
from harness.moments import shown_moment
from harness.nearest import nearest
from harness.offline.records import RecordMaker, costs_of_asks
from harness.offline.replay import ReplayedUnit, Replayer
from harness.offline.step_runs import source_run
from harness.offline.stored_run import StoredRun, load_run


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
        "exchanges": await exchange_facts(store, replayed, sends, policy, question.attempt),
    }
    if imported:
        sessions = await store.sessions(stored.run.id)
        tell_import(facts["exchanges"], sends, sessions)
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
