"""`ask`: the one public coroutine that gets a request answered, and the only door to the network.

Served from the store where the same request was answered before; else claimed, so that no other asker in
any process sends it too; else sent, again after transport faults, with every exchange committed before
anyone acts on it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeAlias

from harness.attempts import Asked
from harness.budget import Budget
from harness.cache.rows import NewExchange, UnitId
from harness.cache.store import Store
from harness.errors import (
    BudgetReachedError,
    MediaError,
    PoolClosedError,
    StoreError,
    StoreMemoryError,
    UnsupportedInputError,
)
from harness.estimates import input_tokens, pacing_input_tokens, pacing_output_tokens
from harness.flights import Flights
from harness.identity import Built, build
from harness.lookups import Lookups
from harness.messages import Fault, Reply, Request, Usage
from harness.model_facts import replacement
from harness.pools.canary import MAX_ALIKE, Canary
from harness.pools.gate import Clock
from harness.pools.pool import Pool
from harness.providers.reading import read_exchange
from harness.retry import AskBudget, Stop, unit_outcome_of
from harness.sending import Sender, SentExchange, shortened
from harness.settings import Model

Sleep: TypeAlias = Callable[[float], Awaitable[None]]

CLAIM_POLL_S = 0.5
"""How often a request that another process is asking is looked up."""

_log = logging.getLogger(__name__)


class _ClaimLostError(Exception):
    """Another process took a request over while this one was suspended; nothing was sent."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A request to a model on behalf of a unit; stored exchanges with ids up to `after` do not serve it."""

    request: Request
    model: Model
    unit: tuple[int, UnitId]
    after: int = 0


@dataclass(slots=True)
class ClientCounts:
    """What a client did: sends that ended, sends that were cut off in flight, asks served from the store."""

    sends: int = 0
    cut_off: int = 0
    served: int = 0
    causes: dict[str, int] = field(default_factory=dict)
    """Why requests were sent again: outcome -> how often."""


@dataclass(slots=True)
class _Flight:
    """One ask on its way; stored exchanges with ids up to `after` do not serve it."""

    ask: Ask
    built: Built
    pool: Pool
    after: int
    budget: AskBudget

    @property
    def key(self) -> str:
        return self.built.key


class Client:
    """Asks requests for one session, on one event loop.

    `proven` are models that have answered in this run before, with the same parameters: they need no canary.
    `wall` is the time of day (Unix time), by which a model may be replaced while a run goes on.
    """

    def __init__(
        self,
        store: Store,
        sender: Sender,
        pools: Mapping[str, Pool],
        *,
        session: int,
        budget: Budget,
        proven: Collection[str] = (),
        sleep: Sleep = asyncio.sleep,
        wall: Clock = time.time,
    ) -> None:
        self._store = store
        self._sender = sender
        self._pools = pools
        self._session = session
        self._budget = budget
        self._proven = frozenset(proven)
        self._sleep = sleep
        self._wall = wall
        self._lookups = Lookups(store.served)
        self._flights = Flights()
        self._canaries: dict[str, Canary] = {}
        self._refused: dict[str, str] = {}
        self.counts = ClientCounts()
        self.claim_waits: Counter[str] = Counter()
        """Model -> asks that wait for another process to answer the same request."""

    async def ask(self, ask: Ask) -> Asked:
        """Return what answers a request, or why nothing did.

        Raises UnsupportedInputError for what the model cannot take, MediaError for a medium that cannot be
        read, StoreError where the store fails. A closed pool is no error: `Asked.not_attempted` says so.
        """
        flight = self._prepare(ask)
        async with self._flights.alone(flight.key):
            while True:
                try:
                    return await self._ask_alone(flight)
                except _ClaimLostError:
                    _log.info(
                        "request %s: its claim was taken over meanwhile; looking for the answer", flight.key
                    )

    async def _ask_alone(self, flight: _Flight) -> Asked:
        try:
            found = await self._served(flight) or await self._claim(flight)
        except PoolClosedError as error:
            return Asked(not_attempted=str(error))
        if found is not None:
            return found
        released = False
        try:
            asked, released = await self._send_until_answered(flight)
            return asked
        finally:
            if not released:
                await self._store.release(flight.key)

    def _prepare(self, ask: Ask) -> _Flight:
        pool = self._pools[ask.model.name]
        # One budget, even if the claim is lost on the way: what was sent was sent.
        budget = AskBudget(ask.model.max_sends, pool)
        return _Flight(ask, build(ask.request, ask.model), pool, ask.after, budget)

    async def _served(self, flight: _Flight) -> Asked | None:
        """Return the stored answer, as it is read today; what is read as an error today answers nothing."""
        found = await self._lookups.served(flight.key)
        if found is None or found.id <= flight.after:
            return None
        meaning = read_exchange(found.data, flight.ask.model.provider)
        if isinstance(meaning, Fault):
            flight.after = found.id
            return None
        self.counts.served += 1
        self._canary(flight).opened = True  # the same parameters were answered before
        return Asked(reply=meaning, exchange_id=found.id)

    async def _claim(self, flight: _Flight) -> Asked | None:
        """Claim the key; return the answer where another process gave it meanwhile.

        Raises PoolClosedError when the pool closes while another process holds the claim.
        """
        while True:
            if await self._store.claim(flight.key, unless_served_after=flight.after):
                return None
            found = await self._served(flight)
            if found is not None:
                return found
            if flight.pool.closed:
                raise PoolClosedError(flight.pool.status().closed or "closed")
            self.claim_waits[flight.ask.model.name] += 1
            try:
                await self._sleep(CLAIM_POLL_S)
            finally:
                self.claim_waits[flight.ask.model.name] -= 1

    async def _send_until_answered(self, flight: _Flight) -> tuple[Asked, bool]:
        """Return what came of it, and whether the claim was given back with the last commit."""
        budget = flight.budget
        canary = self._canary(flight)
        last: SentExchange | None = None
        try:
            async with canary.passage():
                if flight.ask.model.name in self._refused:
                    return Asked(not_attempted=self._refused[flight.ask.model.name]), False
                while True:
                    last = await self._send_once(flight, budget.ticket)
                    if isinstance(last.meaning, Reply):
                        canary.saw(last.meaning, last.status)
                        return Asked(reply=last.meaning, exchange_id=last.id), True
                    step = budget.decide(last.meaning)
                    if isinstance(step, Stop):
                        if canary.saw(last.meaning, last.status):
                            self._give_up_on(flight.ask.model, last.meaning)
                        return _stopped(last, last.meaning, step), False
                    cause = str(last.meaning.outcome)
                    self.counts.causes[cause] = self.counts.causes.get(cause, 0) + 1
                    await flight.pool.back_off(step.wait_s, step.reason)
        except (PoolClosedError, BudgetReachedError) as error:
            last_id = last.id if last else None
            return Asked(not_attempted=str(error), exchange_id=last_id), False

    def _canary(self, flight: _Flight) -> Canary:
        name = flight.ask.model.name
        return self._canaries.setdefault(name, Canary(opened=name in self._proven))

    def _give_up_on(self, model: Model, fault: Fault) -> None:
        """Ask this model nothing more: others may share its pool, with parameters that are right."""
        why = f"its first {MAX_ALIKE} requests were all refused alike: {fault.message}"
        self._refused[model.name] = why
        _log.warning("model %s: no more requests in this session: %s", model.name, why)

    def _replaced(self, model: Model) -> str | None:
        """Return why a model is asked no more: since a run's midnight its answers are of other weights."""
        if model.replaced_on is None:
            return None
        told = replacement(model, datetime.fromtimestamp(self._wall(), UTC).date())
        if told is not None:
            self._refused[model.name] = told
        return told

    async def _send_once(self, flight: _Flight, ticket: int) -> SentExchange:
        ask, pool, request = flight.ask, flight.pool, flight.ask.request
        tokens_in = pacing_input_tokens(request)
        tokens_out = pacing_output_tokens(ask.model, request.params)
        most = input_tokens(request).high
        async with (
            self._budget.reserve(ask.model, most, request.params) as reservation,
            pool.admit(tokens_in, tokens_out, ticket=ticket) as slot,
        ):
            if (replaced := self._replaced(ask.model)) is not None:
                slot.unsent()
                raise PoolClosedError(replaced)
            if not await self._store.still_claimed(flight.key):
                slot.unsent()
                raise _ClaimLostError
            try:
                exchange, meaning = await self._sender.send(ask.model, request, flight.built, pool=pool.name)
            except (MediaError, UnsupportedInputError):
                slot.unsent()
                raise
            except asyncio.CancelledError:
                reservation.settle(Usage(), billed=True)  # cut off in flight: nobody learns what it cost
                self.counts.cut_off += 1
                raise
            self.counts.sends += 1
            serves = exchange.outcome.serves
            slot.settle(exchange.usage.input_tokens, exchange.usage.output_tokens)
            reservation.settle(exchange.usage, billed=serves or exchange.maybe_billed)
            # Within the slot: a killed process loses no more than what was in flight.
            exchange_id, meaning = await self._commit(exchange, meaning, ask)
            learned = self._sender.limits(exchange, ask.model)
            pool.learn(learned)
            if learned.hold_s is not None and isinstance(meaning, Reply):
                pool.nothing_left(learned.hold_s)
            pool.report(meaning, slot)
        return SentExchange(exchange_id, exchange.raw.status, meaning)

    async def _commit(
        self, exchange: NewExchange, meaning: Reply | Fault, ask: Ask
    ) -> tuple[int, Reply | Fault]:
        """Store an exchange, even if its ask is cancelled meanwhile: it has been paid for.

        Returns its id and what it means: a fault where there was memory for its start only. Where the store
        fails, no pool lets anything out any more. Raises StoreError.
        """
        try:
            try:
                return await self._append(exchange, ask), meaning
            except StoreMemoryError:
                exchange, fault = shortened(exchange)
                return await self._append(exchange, ask), fault
        except StoreError:
            for pool in self._pools.values():
                pool.close("the store failed")
            raise

    async def _append(self, exchange: NewExchange, ask: Ask) -> int:
        serves = exchange.outcome.serves
        return await self._store.append(
            exchange, session=self._session, serve=serves, link=ask.unit, release=serves
        )


def _stopped(last: SentExchange, fault: Fault, step: Stop) -> Asked:
    if step.outcome is unit_outcome_of(fault):
        return Asked(fault=fault, exchange_id=last.id)
    return Asked(not_attempted=f"{step.reason}: {fault.message}", exchange_id=last.id)
