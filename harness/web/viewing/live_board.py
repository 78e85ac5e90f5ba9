"""How a run stands while it goes on: read once a second at most, however many pages ask."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from harness.cache.claims import ClaimedBy
from harness.cache.live_sessions import LiveSession
from harness.cache.rows import Run, Session
from harness.cache.store import Store
from harness.cache.unit_marks import UnitCount
from harness.live_state import LiveState, read_state
from harness.manifest import Manifest, read_manifest
from harness.moments import now_us
from harness.offline.session_counts import (
    Facts,
    counted_at_end,
    counted_by_exchanges,
    session_facts,
    spending,
)
from harness.outcomes import INCOMPLETE, UnitOutcome
from harness.session_standing import Standing, standing, told_s_ago
from harness.web.viewing.live_spending import DAMAGED, SpentBySession

FRESH_S: Final = 1.0
"""How long what was read is shown to others."""
SHARE: Final = 0.1
"""The most of its time that reading may take: a run of a million units is read less often."""
LEAST_RATE_S: Final = 5.0
"""A rate taken over less says nothing yet."""

Source: TypeAlias = Literal["end", "told", "exchanges", "counting", "damaged"]
"""Where a session's spending is from: its end, its last words, what it stored; or it is being counted."""


@dataclass(frozen=True, slots=True)
class SeenSession:
    """A session; `facts` as `harness status` has them. `told_s_ago` None: it never told."""

    session: Session
    facts: Facts
    standing: Standing
    told: LiveState | None
    told_at_us: int | None
    told_s_ago: float | None
    spent: Source

    @property
    def rate(self) -> float | None:
        """Units a second lately; None where it is not at work, or nobody knows yet."""
        told = self.told
        if told is None or self.standing is not Standing.AT_WORK or told.recent_s < LEAST_RATE_S:
            return None
        return told.recent_done / told.recent_s

    @property
    def left_s(self) -> float | None:
        """Seconds that the rest takes at this rate."""
        if self.told is None or not self.rate:
            return None
        return max(self.told.open - self.told.done, 0) / self.rate


@dataclass(frozen=True, slots=True)
class SeenModel:
    """The units of a model in the run, whoever asked them."""

    name: str
    units: int
    done: int
    outcomes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Seen:
    """A run at one moment. `spent` as `harness status` sums it up; `claims` are of the whole store."""

    run: Run
    units: int
    done: int
    models: tuple[SeenModel, ...]
    sessions: tuple[SeenSession, ...]
    claims: tuple[ClaimedBy, ...]
    spent: Facts

    @property
    def going_on(self) -> tuple[SeenSession, ...]:
        """The sessions that may do something still."""
        return tuple(one for one in self.sessions if not one.standing.over)

    @property
    def ended(self) -> int:
        """How many units ended, however they did."""
        return sum(sum(one.outcomes.values()) for one in self.models)

    @property
    def rate(self) -> float | None:
        """Units a second of all sessions together."""
        rates = [one.rate for one in self.going_on if one.rate is not None]
        return sum(rates) if rates else None

    @property
    def left_s(self) -> float | None:
        """Seconds until the last session has done its own; None where one of them cannot be told."""
        lefts = [one.left_s for one in self.going_on if one.told is None or one.told.kind == "sweep"]
        known = [left for left in lefts if left is not None]
        return max(known) if known and len(known) == len(lefts) else None


class LiveBoard:
    """Reads how runs of a store stand. Close it before the store."""

    def __init__(
        self,
        store: Store,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall_us: Callable[[], int] = now_us,
        fresh_s: float = FRESH_S,
    ) -> None:
        self._store = store
        self._clock = clock
        self._wall_us = wall_us
        self._fresh_s = fresh_s
        self._seen: dict[int, tuple[float, Seen]] = {}
        self._locks: dict[int, asyncio.Lock] = {}
        self._heard: dict[int, tuple[int, float, bool]] = {}
        self._spent = SpentBySession(store)

    async def close(self) -> None:
        """Stop counting."""
        await self._spent.close()

    async def seen(self, run: Run) -> Seen:
        """Return how a run stands, as of a second ago at most unless that takes long to find out."""
        async with self._locks.setdefault(run.id, asyncio.Lock()):
            until, known = self._seen.get(run.id, (0.0, None))
            if known is not None and self._clock() < until:
                return known
            began = self._clock()
            found = await self._read(run)
            took = self._clock() - began
            fresh_s = max(self._fresh_s, took / SHARE) if self._fresh_s else 0.0
            self._seen[run.id] = (self._clock() + fresh_s, found)
            return found

    async def open_sessions(self, run: Run) -> Sequence[SeenSession]:
        """Return the sessions of a run that have not ended, with no fact of them: nothing is counted."""
        live = {one.session: one for one in await self._store.live_sessions(run.id)}
        found = [one for one in await self._store.sessions(run.id) if one.ended_at_us is None]
        return [self._stands(one, live.get(one.id)) for one in found]

    async def _read(self, run: Run) -> Seen:
        manifest = read_manifest(run.manifest)
        sessions = await self._store.sessions(run.id)
        live = {one.session: one for one in await self._store.live_sessions(run.id)}
        counts = await self._store.count_units(run.id)
        claims = await self._store.claimed_by()
        shown = tuple(self._session(run, one, sessions, live.get(one.id)) for one in sessions)
        models = tuple(_model(name, manifest, counts) for name in manifest.models)
        return Seen(
            run,
            manifest.n_units,
            sum(one.done for one in models),
            models,
            shown,
            tuple(claims),
            spending([one.facts for one in shown]),
        )

    def _session(
        self, run: Run, session: Session, sessions: Sequence[Session], live: LiveSession | None
    ) -> SeenSession:
        seen = self._stands(session, live)
        facts, source = self._counted(run, session, sessions, seen.standing, seen.told)
        return replace(seen, facts=facts, spent=source)

    def _stands(self, session: Session, live: LiveSession | None) -> SeenSession:
        told = None if live is None else read_state(live.state)
        ago_s = self._told_s_ago(session, live)
        stands = standing(session, told, ago_s)
        if live is None:
            return SeenSession(session, {}, stands, told, None, None, "counting")
        return SeenSession(session, {}, stands, told, live.at_us, ago_s, "counting")

    def _told_s_ago(self, session: Session, live: LiveSession | None) -> float:
        """Return how long a session has been silent.

        By the two clocks at first, which may be those of two machines; by ours alone once new words came in
        while we listened, and never less than the time that we have listened in vain.
        """
        at_us = session.started_at_us if live is None else live.at_us
        now = self._clock()
        known_us, since, changed = self._heard.get(session.id, (at_us, now, False))
        if known_us != at_us:
            since, changed = now, True
        self._heard[session.id] = (at_us, since, changed)
        in_vain = now - since
        return in_vain if changed else max(told_s_ago(session, live, self._wall_us()), in_vain)

    def _counted(
        self,
        run: Run,
        session: Session,
        sessions: Sequence[Session],
        stands: Standing,
        told: LiveState | None,
    ) -> tuple[Facts, Source]:
        facts = session_facts(session)
        if counted_at_end(facts):
            return facts | {"counted": "end"}, "end"
        if stands.over or told is None:
            spent = self._spent.of(run, session, sessions)
            if spent is DAMAGED:
                return facts | {"counted": None}, "damaged"
            if spent is not None:
                return counted_by_exchanges(facts, spent), "exchanges"
        if told is None:
            return facts | {"counted": "counting"}, "counting"
        return _as_told(facts, told), "counting" if stands.over else "told"


def _as_told(facts: Facts, told: LiveState) -> Facts:
    return facts | {
        "sends": told.sends,
        "spent_usd": told.usd,
        "unknown_cost_sends": told.unknown_cost,
        "at_most_usd": told.at_most_usd,
        "spent_by_model": told.spent_by_model,
        "counted": "told",
    }


def _model(name: str, manifest: Manifest, counts: Sequence[UnitCount]) -> SeenModel:
    outcomes: Counter[str] = Counter()
    done = 0
    for one in counts:
        if one.model == name and one.outcome is not None:
            outcomes[one.outcome.value] += one.units
            done += 0 if one.outcome in INCOMPLETE else one.units
    order = [outcome.value for outcome in UnitOutcome]
    in_order = dict(sorted(outcomes.items(), key=lambda one: order.index(one[0])))
    return SeenModel(name, manifest.n_model, done, in_order)
