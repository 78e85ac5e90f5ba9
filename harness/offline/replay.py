"""Reads a unit's stored exchanges through the same code that asked them: no network, key or media."""

from __future__ import annotations

import json
import logging
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from harness.attempts import (
    Asked,
    AttemptPolicy,
    Feedback,
    NotAskedError,
    UnitError,
    UnitResult,
    attempt_policy,
    run_attempts,
)
from harness.benchmarks.base import Prompt
from harness.cache.rows import Exchange, Link, LinkedUnit, UnitId, UnitState
from harness.errors import StoreError
from harness.manifest import BlobRef
from harness.messages import Fault, Purpose, Reply
from harness.offline.stored_run import StoredRun
from harness.outcomes import UnitOutcome
from harness.providers.reading import read_exchange
from harness.settings import Provider

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

_STANDS = frozenset(
    {
        UnitOutcome.PROVIDER_ERROR,
        UnitOutcome.NOT_ATTEMPTED,
        UnitOutcome.NOT_APPLICABLE,
        UnitOutcome.REJECTED,
        UnitOutcome.CASE_ERROR,
    }
)
"""Stored outcomes that say why nothing more was asked; no exchange can tell it again."""


@dataclass(frozen=True, slots=True)
class ReplayedUnit:
    """What a wanted unit comes to when its exchanges are read today.

    `text` is that of the last answer that was looked at. `state` None: the run has not reached it.
    `read`: exchange id -> what it means, for those that were looked at.
    """

    unit: UnitId
    result: UnitResult
    text: str = ""
    state: UnitState | None = None
    links: tuple[tuple[Link, Exchange], ...] = ()
    read: Mapping[int, Reply | Fault] = field(default_factory=dict)

    @property
    def changed(self) -> bool:
        """True if the run had ended this unit with another outcome or at another stage."""
        if self.state is None or self.state.outcome is None:
            return False
        if self.result.outcome is not self.state.outcome:
            return True
        used = {(link.purpose, link.attempt) for link, _ in self.links if link.used}
        return bool(used) and used != {(ask.purpose, ask.attempt) for ask in self.result.used}


class Replayer:
    """Replays the units of one run; schemas are compiled and providers looked up once."""

    def __init__(self, stored: StoredRun) -> None:
        self._stored = stored
        self._policies = {reformat: _policies(stored, reformat=reformat) for reformat in (True, False)}

    def replay(self, unit: UnitId, linked: LinkedUnit | None) -> ReplayedUnit:
        """Return what a wanted unit comes to; without a stored state it is `not_attempted`."""
        if linked is None:
            return ReplayedUnit(unit, _not_reached("not asked yet"))
        if linked.state.outcome is None:
            result = _not_reached("marked to be asked again, or begun, and not finished since")
            return ReplayedUnit(unit, result, state=linked.state, links=linked.links)
        readings = _Readings(self, linked)
        try:
            result = _finish(run_attempts(_StoredAsker(readings), self._policy(unit, linked)))
        except NotAskedError as missing:
            result = _without_ask(linked.state, readings, str(missing))
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - as in the run, one poisoned answer must not end all scoring
            _log.error("unit %s: internal error %s", unit, type(error).__name__)
            result = _internal(error)
        else:
            result = _as_it_ended(result, linked.state, readings)
        return ReplayedUnit(unit, result, readings.last_text, linked.state, linked.links, readings.read)

    def read(self, unit: UnitId, exchange: Exchange) -> Reply | Fault:
        """Return what a stored exchange of a unit means to today's adapters."""
        return read_exchange(exchange.data, self.provider(unit, exchange.data.purpose))

    def provider(self, unit: UnitId, purpose: Purpose) -> Provider:
        """Return the reading options of a unit's model or reformatter. Raises StoreError if none are kept."""
        return self._stored.provider(self.asked_model(unit, purpose))

    def asked_model(self, unit: UnitId, purpose: Purpose) -> str:
        """Return the name of the model that a purpose asks: the unit's own, or its reformatter."""
        return self._stored.manifest.asked_model(unit.model, purpose)

    def _policy(self, unit: UnitId, linked: LinkedUnit) -> AttemptPolicy:
        wanted = self._stored.manifest.models[unit.model]
        policy = self._policies[wanted.reformatter is not None][unit.condition]
        if not wanted.imported:
            return policy
        # Whoever asked elsewhere decided how often; nobody here can ask once more.
        return replace(policy, max_attempts=max((1, *(link.attempt for link, _ in linked.links))))


def _policies(stored: StoredRun, *, reformat: bool) -> dict[str, AttemptPolicy]:
    """Return how the run asks each condition, from the schemas that it keeps."""
    manifest = stored.manifest
    restated = {} if manifest.reformat is None else manifest.reformat.conditions
    return {
        name: attempt_policy(
            stored.benchmark,
            name,
            stored.schema_body(wanted.schema),
            stored.schema_body(restated[name].schema) if name in restated else None,
            max_attempts=manifest.attempts,
            reask=manifest.reask,
            reformat=reformat,
            prompt=_prompt(stored, wanted.prompt),
        )
        for name, wanted in manifest.conditions.items()
    }


def _prompt(stored: StoredRun, ref: BlobRef) -> Prompt:
    # What is noted of the prompt of imported answers is no prompt with placeholders.
    text = "" if stored.manifest.imported else stored.blobs[ref.sha256].decode("utf-8")
    return Prompt(ref.id, ref.sha256, text)


class _Readings:
    """The exchange of each ask that counts: the latest that serves, else the latest that failed."""

    def __init__(self, replayer: Replayer, linked: LinkedUnit) -> None:
        self._replayer = replayer
        self._unit = linked.state.unit
        self._sends: dict[tuple[Purpose, int], list[Exchange]] = {}
        self.looked_at: dict[tuple[Purpose, int], tuple[Exchange, Reply | Fault]] = {}
        self.read: dict[int, Reply | Fault] = {}
        for link, exchange in linked.links:
            if exchange.id > linked.state.again_after:
                self._sends.setdefault((link.purpose, link.attempt), []).append(exchange)

    def take(self, purpose: Purpose, attempt: int, *, about: str | None = None) -> Asked:
        """Return what an ask came to. Raises NotAskedError when nobody made it.

        `about`: the answer that the ask must quote; an exchange about another answer is none.
        """
        sends = self._sends.get((purpose, attempt), [])
        found = self._latest([one for one in sends if about is None or _quotes(one, about)])
        if found is None:
            raise NotAskedError(f"the store holds no exchange for {purpose} {attempt}")
        exchange, reading = self.looked_at[purpose, attempt] = found
        if isinstance(reading, Fault):
            return Asked(fault=reading, exchange_id=exchange.id)
        return Asked(reply=reading, exchange_id=exchange.id)

    def _latest(self, sends: Sequence[Exchange]) -> tuple[Exchange, Reply | Fault] | None:
        failed: tuple[Exchange, Reply | Fault] | None = None
        for exchange in sorted(sends, key=lambda one: one.id, reverse=True):
            reading = self.read[exchange.id] = self._replayer.read(self._unit, exchange)
            if reading.outcome.serves:
                return exchange, reading
            failed = failed or (exchange, reading)
        return failed

    @property
    def last_text(self) -> str:
        """Return the text of the last answer that was looked at; "" where no attempt was answered."""
        answers = [
            reading.text
            for (purpose, _), (_, reading) in self.looked_at.items()
            if purpose == "answer" and isinstance(reading, Reply)
        ]
        return answers[-1] if answers else ""

    @property
    def all_looked_at(self) -> bool:
        """True if the replay has used every ask that the run made."""
        return self._sends.keys() <= self.looked_at.keys()

    @property
    def failures_read_as_stored(self) -> bool:
        """True if every failure means today what it meant when it was stored."""
        return all(
            reading.outcome is exchange.data.outcome
            for exchange, reading in self.looked_at.values()
            if isinstance(reading, Fault)
        )


@dataclass(frozen=True, slots=True)
class _StoredAsker:
    readings: _Readings

    async def answer(self, attempt: int, feedback: Feedback | None) -> Asked:
        return self.readings.take("answer", attempt)

    async def reformat(self, answer: str) -> Asked:
        return self.readings.take("reformat", 1, about=answer)


def _quotes(exchange: Exchange, answer: str) -> bool:
    # A stored request is canonical JSON, so the text stands in it exactly as json.dumps escapes it.
    return json.dumps(answer)[1:-1].encode("ascii") in exchange.data.request


def _not_reached(message: str) -> UnitResult:
    return UnitResult(UnitOutcome.NOT_ATTEMPTED, error=UnitError("not_attempted", message))


def _without_ask(state: UnitState, readings: _Readings, missing: str) -> UnitResult:
    if state.outcome in _STANDS and readings.all_looked_at:
        return _stored_result(state)
    return UnitResult(UnitOutcome.GAP, error=UnitError("gap", missing))


def _as_it_ended(result: UnitResult, state: UnitState, readings: _Readings) -> UnitResult:
    """Return the result, or what the run made of the same failure: only it knew that a pool was closed."""
    nobodys = result.outcome in _STANDS and state.outcome in _STANDS
    if not nobodys or result.outcome is state.outcome or not readings.failures_read_as_stored:
        return result
    return replace(_stored_result(state), asks=result.asks)


def _stored_result(state: UnitState) -> UnitResult:
    assert state.outcome is not None
    kind, colon, message = (state.error or "").partition(": ")
    if not colon:
        kind, message = state.outcome.value, kind or "the run gave no reason"
    return UnitResult(state.outcome, error=UnitError(kind, message))


def _internal(error: Exception) -> UnitResult:
    message = f"internal error {type(error).__name__}; please report it"
    return UnitResult(UnitOutcome.PROVIDER_ERROR, error=UnitError("internal", message))


def _finish(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine that never waits, without an event loop."""
    try:
        work.send(None)
    except StopIteration as done:
        value: _T = done.value
        return value
    finally:
        work.close()
    raise RuntimeError("a replay waits for something")
