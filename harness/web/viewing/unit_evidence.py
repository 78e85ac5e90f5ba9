"""One unit as it reads today: replayed off the event loop; exchanges that are damaged are told of."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Final

from harness.attempts import AskRef, AttemptPolicy, UnitError, UnitResult
from harness.benchmarks.base import Case
from harness.cache.key import read_document
from harness.cache.rows import Exchange, Link, LinkedUnit, UnitId, UnitState
from harness.errors import StoreError, UnknownNameError
from harness.explaining.asking import snapshot_unit
from harness.explaining.exchange_facts import send_facts, tell_import
from harness.explaining.next_facts import Facts
from harness.explaining.sentences import why
from harness.nearest import nearest
from harness.offline.replay import ReplayedUnit, Replayer
from harness.offline.sends import Send, SendReader
from harness.offline.stored_run import StoredRun
from harness.web.links import Query, whole_number
from harness.web.viewing.library import Library

_KEPT: Final = 8
"""Runs whose replayers, with their compiled schemas, are kept."""
_MOST_COMPARED: Final = 2_000
"""Cases among which the nearest to a misspelt id is looked for: of more that takes longer than a page may."""


@dataclass(frozen=True, slots=True)
class Lost:
    """A linked exchange that cannot be read, and what the store says of it."""

    link: Link
    told: str


@dataclass(frozen=True, slots=True)
class UnitRead:
    """A unit with all that its exchanges mean today.

    `facts` has one entry for each of `sends`, in order. `lost` are the linked exchanges that are damaged;
    `read_whole` is False where the outcome rests on one of them: then it is the one that the run stored.
    """

    stored: StoredRun
    unit: UnitId
    case: Case
    replayed: ReplayedUnit
    sends: Sequence[Send] = ()
    facts: Sequence[Facts] = ()
    lost: Sequence[Lost] = ()
    read_whole: bool = True

    @property
    def readable_links(self) -> Sequence[tuple[Link, Exchange]]:
        """Its exchanges, but those whose request is no JSON object: what they show cannot be told."""
        return [one for one in self.replayed.links if _is_request(one[1].data.request)]

    @property
    def imported(self) -> bool:
        """True if its answers come from files."""
        return self.stored.manifest.models[self.unit.model].imported

    @property
    def state_name(self) -> str:
        """How it stands: an outcome, "open" (begun, or marked, and not ended) or "never begun"."""
        state = self.replayed.state
        if state is None:
            return "never begun"
        return "open" if state.outcome is None else str(self.replayed.result.outcome)

    @property
    def reasons(self) -> Sequence[str]:
        """Why it stands so, in sentences."""
        return why(self.replayed.result, self.replayed.state, imported=self.imported)


def asked_unit(stored: StoredRun, query: Query) -> UnitId:
    """Return the unit that a query names; what it leaves out is the run's only one, or its first.

    Raises UnknownNameError for a unit that the run does not want.
    """
    manifest, run = stored.manifest, stored.run.name
    model = _known(query.one("model"), sorted(manifest.models), "model", run)
    condition = _known(query.one("condition"), list(stored.conditions), "condition", run)
    case_id = asked_case(stored, query)
    given = query.one("repeat") or "1"
    repeat = whole_number(given) or 0
    if not 1 <= repeat <= manifest.repeats:
        raise UnknownNameError(f"run {run!r} has repeats 1 to {manifest.repeats}, not {given!r}")
    return UnitId(model, condition, case_id, repeat)


def asked_case(stored: StoredRun, query: Query) -> str:
    """Return the id of the case that a query names. Raises UnknownNameError."""
    index, name = stored.case_index, query.one("case")
    if name is None or index.find(name) is None:
        near = "" if name is None or len(index) > _MOST_COMPARED else nearest(name, map(index.id, index))
        raise UnknownNameError(f"run {stored.run.name!r} has no case {name or ''!r}{near}")
    return name


def _known(given: str | None, known: Sequence[str], what: str, run: str) -> str:
    if given is None:
        return known[0]
    if given not in known:
        raise UnknownNameError(
            f"run {run!r} has no {what} {given!r}{nearest(given, known)}; known: {', '.join(known)}"
        )
    return given


class UnitReader:
    """Reads units of the runs of a library, each on its own."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._replayers: OrderedDict[int, tuple[StoredRun, Replayer]] = OrderedDict()
        self._lock = Lock()

    async def read(self, stored: StoredRun, unit: UnitId) -> UnitRead:
        """Return a unit of a run with its exchanges. Raises StoreError for more than a damaged one."""
        (found,) = await self.read_all(stored, [unit])
        return found

    async def read_all(self, stored: StoredRun, units: Sequence[UnitId]) -> Sequence[UnitRead]:
        """Return units of a run with their exchanges, in order, all looked up together.

        Raises StoreError for more than a damaged one.
        """
        found = await self._library.store.links_of_units(stored.run.id, units)
        whole, told = await self._exchanges([link for _, links in found.values() for link in links])
        runs = await self._library.store.run_of_session({one.session for one in whole.values()})

        def made(unit: UnitId) -> UnitRead:
            if unit not in found:
                return self._read(stored, unit, None, (), runs)
            state, links = found[unit]
            there = ((link, whole[link.exchange_id]) for link in links if link.exchange_id in whole)
            lost = tuple(Lost(link, told[link.exchange_id]) for link in links if link.exchange_id in told)
            return self._read(stored, unit, LinkedUnit(state, tuple(there)), lost, runs)

        return await asyncio.to_thread(lambda: [made(unit) for unit in units])

    async def _exchanges(self, links: Sequence[Link]) -> tuple[Mapping[int, Exchange], Mapping[int, str]]:
        """Return what can be read, and of the others what the store says; then each is read alone."""
        store, ids = self._library.store, list(dict.fromkeys(link.exchange_id for link in links))
        try:
            return await store.exchanges(ids), {}
        except StoreError:
            whole: dict[int, Exchange] = {}
            told: dict[int, str] = {}
            for id in ids:
                try:
                    whole |= await store.exchanges([id])
                except StoreError as error:
                    told[id] = str(error)
            if not whole and len(told) > 1 and len(set(told.values())) == 1:
                raise  # not an exchange, but the store
            return whole, told

    def _read(
        self,
        stored: StoredRun,
        unit: UnitId,
        linked: LinkedUnit | None,
        lost: Sequence[Lost],
        runs: Mapping[int, str],
    ) -> UnitRead:
        """Read an unit's exchanges; pure of the store, for a thread of its own."""
        case = stored.case_index.case(stored.case_index.place(unit.case_id))
        replayed = self._replayer(stored).replay(unit, linked)
        whole = True
        if lost and linked is not None and linked.state.outcome is not None:
            whole = _stands(replayed, linked.state, lost)
            replayed = replayed if whole else _as_stored(linked, lost)
        sends = tuple(SendReader(stored).sends(replayed))
        if not sends:
            return UnitRead(stored, unit, case, replayed, lost=lost, read_whole=whole)
        policy = _policy(stored, unit)
        after = 0 if replayed.state is None else replayed.state.again_after
        facts = [send_facts(send, policy, runs.get(send.exchange.session), after) for send in sends]
        if stored.manifest.models[unit.model].imported:
            tell_import(facts, sends, stored.sessions)
        return UnitRead(stored, unit, case, replayed, sends, facts, lost, whole)

    def _replayer(self, stored: StoredRun) -> Replayer:
        with self._lock:
            known = self._replayers.get(stored.run.id)
            if known is None or known[0] is not stored:
                known = (stored, Replayer(stored))
                self._replayers[stored.run.id] = known
                while len(self._replayers) > _KEPT:
                    self._replayers.popitem(last=False)
            return known[1]


def _is_request(document: bytes) -> bool:
    try:
        read_document(document)
    except ValueError:
        return False
    return True


def _policy(stored: StoredRun, unit: UnitId) -> AttemptPolicy:
    return snapshot_unit(stored, unit, 0).condition.policy


def _stands(replayed: ReplayedUnit, state: UnitState, lost: Sequence[Lost]) -> bool:
    """Tell whether what is left gives the run's own outcome, without an exchange that it rested on."""
    return replayed.result.outcome is state.outcome and not any(one.link.used for one in lost)


def _as_stored(linked: LinkedUnit, lost: Sequence[Lost]) -> ReplayedUnit:
    """Return the unit as the run ended it, without a prediction: what it is made of cannot be read."""
    state = linked.state
    assert state.outcome is not None
    used = tuple(
        AskRef(link.purpose, link.attempt, link.exchange_id) for link, _ in linked.links if link.used
    )
    named = ", ".join(str(one.link.exchange_id) for one in lost)
    error = UnitError(
        "damaged", f"exchange {named} cannot be read, so the outcome is the one that the run stored"
    )
    result = UnitResult(state.outcome, error=error, used=used, asks=used)
    return ReplayedUnit(state.unit, result, state=state, links=linked.links)
