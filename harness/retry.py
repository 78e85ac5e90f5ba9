"""Retries: whether a fault is sent again, and after how long.

Pure policy, no waiting. One budget an ask, so that rate limits, faults and
attempts never eat into each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias

from harness.messages import Fault
from harness.outcomes import ExchangeOutcome as Outcome
from harness.outcomes import UnitOutcome
from harness.pools.holds import Uniform, back_off_s


class RetryPool(Protocol):
    """What a budget needs to know of the pool it draws from."""

    @property
    def closed(self) -> bool: ...
    @property
    def connects(self) -> int: ...
    @property
    def random(self) -> Uniform: ...
    def held_for_s(self) -> float: ...
    def own_rejections(self, ticket: int) -> int: ...
    def ticket(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Retry:
    """Send the same request again, no sooner than after `wait_s` seconds."""

    wait_s: float
    reason: str


@dataclass(frozen=True, slots=True)
class Stop:
    """Send no more; `outcome` is what the unit comes to."""

    reason: str
    outcome: UnitOutcome


Decision: TypeAlias = Retry | Stop

MAYBE_BILLED_SENDS = 2
"""A send that may have been paid for is repeated once."""

MAX_OWN_REJECTIONS = 10
"""Rejections as "too many" of one ask, each with later ones answered, after which it is given up."""

_UNIT_OUTCOMES = {
    Outcome.RATE_LIMITED: UnitOutcome.NOT_ATTEMPTED,
    Outcome.UNAVAILABLE: UnitOutcome.PROVIDER_ERROR,
    Outcome.CONNECTION: UnitOutcome.PROVIDER_ERROR,
    Outcome.MALFORMED_REPLY: UnitOutcome.PROVIDER_ERROR,
    Outcome.TIMEOUT: UnitOutcome.PROVIDER_ERROR,
    Outcome.BAD_REQUEST: UnitOutcome.REJECTED,
    Outcome.CONTEXT_LENGTH: UnitOutcome.NOT_APPLICABLE,
    Outcome.UNSUPPORTED_INPUT: UnitOutcome.NOT_APPLICABLE,
    Outcome.QUOTA_EXHAUSTED: UnitOutcome.NOT_ATTEMPTED,
    Outcome.AUTH: UnitOutcome.NOT_ATTEMPTED,
    Outcome.MODEL_NOT_FOUND: UnitOutcome.NOT_ATTEMPTED,
    Outcome.UNKNOWN: UnitOutcome.PROVIDER_ERROR,
}

_SENT_AGAIN = frozenset(
    {Outcome.RATE_LIMITED, Outcome.UNAVAILABLE, Outcome.CONNECTION, Outcome.MALFORMED_REPLY, Outcome.TIMEOUT}
)


def unit_outcome_of(fault: Fault) -> UnitOutcome:
    """Return what a unit comes to whose ask ended with this fault.

    A rate limit ends an ask by closing the pool, or where it is the ask's own while others are answered:
    `not_attempted`. Raises ValueError for an outcome that is no fault.
    """
    if fault.outcome not in _UNIT_OUTCOMES:
        raise ValueError(f"{fault.outcome.value!r} is no fault")
    return _UNIT_OUTCOMES[fault.outcome]


class AskBudget:
    """The sends that one ask has left. Report each exchange to the pool first, then `decide`."""

    def __init__(self, max_sends: int, pool: RetryPool) -> None:
        self.ticket = pool.ticket()
        """The ask's place in the pool's queue, kept by its retries."""
        self._max_sends = max_sends
        self._pool = pool
        self._counted = 0
        self._maybe_billed = 0
        self._rate_limits = 0
        self._connects_seen = pool.connects

    def decide(self, fault: Fault) -> Decision:
        """Return whether to send again after this fault; call it once a fault."""
        kind = fault.outcome.value.replace("_", " ")
        if fault.outcome not in _SENT_AGAIN:
            return Stop(f"{kind} is never sent again", unit_outcome_of(fault))
        if self._pool.closed:
            return Stop(f"{kind}, and the pool is closed", UnitOutcome.NOT_ATTEMPTED)
        if fault.outcome is Outcome.RATE_LIMITED:
            self._rate_limits += 1
            if self._pool.own_rejections(self.ticket) >= MAX_OWN_REJECTIONS:
                reason = f"{kind} {self._rate_limits} times, while others were answered"
                return Stop(reason, unit_outcome_of(fault))
            return Retry(self._wait_s(fault, self._rate_limits), kind)
        if not self._counts(fault):
            return Retry(self._wait_s(fault, 1), "nothing connects")
        return self._count(fault, kind)

    def _count(self, fault: Fault, kind: str) -> Decision:
        self._counted += 1
        if self._counted >= self._max_sends:
            return Stop(f"{kind}, after {self._counted} sends", unit_outcome_of(fault))
        if _is_maybe_billed(fault):
            self._maybe_billed += 1
            if self._maybe_billed >= MAYBE_BILLED_SENDS:
                return Stop(f"{kind} again; both sends may have been billed", unit_outcome_of(fault))
        reason = f"{kind}, send {self._counted + 1} of {self._max_sends} is next"
        return Retry(self._wait_s(fault, self._counted), reason)

    def _counts(self, fault: Fault) -> bool:
        """A connection failure is the ask's own only if others connected since its last one."""
        if fault.outcome is not Outcome.CONNECTION or fault.maybe_billed:
            return True
        others_connected = self._pool.connects > self._connects_seen
        self._connects_seen = self._pool.connects
        return others_connected

    def _wait_s(self, fault: Fault, tries: int) -> float:
        held_s = self._pool.held_for_s()
        if fault.wait_s is not None:
            return max(fault.wait_s, held_s)
        return held_s or back_off_s(tries, self._pool.random)


def _is_maybe_billed(fault: Fault) -> bool:
    """A reply that is cut or no JSON goes by `max_sends`: mostly a gateway's page, and the table says so."""
    return fault.outcome is Outcome.TIMEOUT or (
        fault.maybe_billed and fault.outcome is not Outcome.MALFORMED_REPLY
    )
