"""Pacing: how many requests and tokens may go out, and when.

A bucket spreads its limit evenly and never lets more than the limit out in any 60 s window. It never
sleeps and reads no clock: callers pass the time.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import Protocol

from harness.pools.token_estimates import Estimates

BURST_S = 0.25
"""How far a bucket may run ahead of even pacing, in seconds; makes good what late timers lose."""

PACE_SHARE = 0.985
"""Share of a limit that is used: servers count arrivals, which bunch by up to a second on their way.

With BURST_S, at most floor(0.9891 L) + 1 requests go out in 60 s, which is never above a whole L.
"""

WINDOW_S = 60.1
"""Length of the window in which amounts add up; two clocks, ours and the server's, are compared."""

SPREADS = 2.0
"""Standard deviations of what is not settled yet for which a bucket leaves room in its window."""

_ROUNDING = 1e-6


class LimitValues(Protocol):
    """What states limits per minute: settings, or a provider's headers; None where it says nothing."""

    @property
    def requests_per_minute(self) -> float | None: ...
    @property
    def tokens_per_minute(self) -> float | None: ...
    @property
    def input_tokens_per_minute(self) -> float | None: ...
    @property
    def output_tokens_per_minute(self) -> float | None: ...


LEAST_LEARNED = 1.0
"""Least limit a minute that is believed of a header: less would stop a pool without a word."""


@dataclass(slots=True)
class _Entry:
    at: float
    amount: float
    live: bool = True
    open: float = 0.0
    """Its part of the bucket's `_open`; 0 once the true amount is known."""


class Bucket:
    """One limit per minute; times in seconds of any steady clock.

    `window_share` is the share of the limit that may stand in one window. An amount larger than that is
    let out alone: after an empty window, and before another one. `spread` of a reservation is by how much
    its amount is usually wrong: room for `SPREADS` times that of all that is open is left free.
    """

    def __init__(self, per_minute: float, *, window_share: float = 1.0) -> None:
        self._window_share = window_share
        self._entries: deque[_Entry] = deque()
        self._sum = 0.0
        self._open = 0.0
        self._paid_until = -math.inf
        self.set_limit(per_minute)

    def set_limit(self, per_minute: float) -> None:
        """Change the limit from now on; what is already out stays counted."""
        self.per_minute = per_minute
        self._rate = per_minute * PACE_SHARE / 60.0
        self._capacity = per_minute * self._window_share

    def delay(self, amount: float, now: float) -> float:
        """Return the seconds until `amount` may go out, as far as is known now; 0 means at once."""
        entries = self._entries
        while entries and entries[0].at + WINDOW_S <= now:
            self._drop_oldest()
        wait = self._paid_until - BURST_S - now
        if entries:
            room = self._capacity + _ROUNDING - (SPREADS * math.sqrt(self._open) if self._open > 0 else 0.0)
            if self._sum + min(amount, self._capacity) > room:
                wait = max(wait, entries[0].at + WINDOW_S - now)
        return max(wait, 0.0)

    def reserve(self, amount: float, now: float, spread: float = 0.0) -> _Entry:
        """Count `amount` as gone out now, whether or not `delay` was waited for."""
        entry = _Entry(now, min(amount, self._capacity), open=spread * spread)
        self._entries.append(entry)
        self._sum += entry.amount
        self._open += entry.open
        self._paid_until = max(self._paid_until, now) + entry.amount / self._rate
        return entry

    def correct(self, entry: _Entry, amount: float) -> None:
        """Replace the amount of a reservation by the true one; 0 refunds it."""
        change = amount - entry.amount
        entry.amount = amount
        self._paid_until += change / self._rate
        if entry.live:
            self._sum += change
            self._open -= entry.open
        entry.open = 0.0

    def _drop_oldest(self) -> None:
        entry = self._entries.popleft()
        entry.live = False
        self._sum = self._sum - entry.amount if self._entries else 0.0
        self._open = self._open - entry.open if self._entries else 0.0


class Reservation:
    """What one request has taken from the buckets of a pacer."""

    __slots__ = ("_estimates", "_input_tokens", "_output_tokens", "_taken")

    def __init__(
        self,
        taken: list[tuple[str, Bucket, _Entry]],
        estimates: Estimates,
        input_tokens: int,
        output_tokens: int,
    ) -> None:
        self._taken = taken
        self._estimates = estimates
        self._input_tokens = input_tokens
        self._output_tokens = output_tokens

    def settle(self, input_tokens: int | None, output_tokens: int | None) -> None:
        """Replace the estimates by true counts; where a count is None the estimate stands."""
        self._estimates.input.learn(self._input_tokens, input_tokens)
        self._estimates.output.learn(self._output_tokens, output_tokens)
        for kind, bucket, entry in self._taken:
            if kind == "requests":
                continue
            amount = _amount(kind, input_tokens, output_tokens)
            if amount is not None:
                bucket.correct(entry, amount)

    def refund(self) -> None:
        """Give everything back: the request was never sent."""
        for _, bucket, entry in self._taken:
            bucket.correct(entry, 0.0)


class Pacer:
    """The buckets that one pool's requests draw from; a limit that is None does not bind."""

    def __init__(self, limits: LimitValues) -> None:
        self._configured = {kind: _limit(limits, kind) for kind in _KINDS}
        self._buckets: dict[str, Bucket] = {}
        self._estimates = Estimates()
        for kind, limit in self._configured.items():
            if limit is not None:
                self._set(kind, limit)

    def learn(self, learned: LimitValues) -> None:
        """Take stated limits, never above configured ones; what is None or senseless changes nothing."""
        for kind, configured in self._configured.items():
            limit = _limit(learned, kind)
            if limit is not None and math.isfinite(limit) and limit >= LEAST_LEARNED:
                self._set(kind, limit if configured is None else min(limit, configured))

    def limit(self, kind: str) -> float | None:
        """Return the limit in force for "requests", "tokens", "input_tokens" or "output_tokens"."""
        bucket = self._buckets.get(kind)
        return None if bucket is None else bucket.per_minute

    def delay(self, input_tokens: int, output_tokens: int, now: float) -> float:
        """Return the seconds until such a request may go out, as far as is known now."""
        wait = 0.0
        for kind, bucket in self._buckets.items():
            amount, _ = self._estimates.amount(kind, input_tokens, output_tokens)
            wait = max(wait, bucket.delay(amount, now))
        return wait

    def reserve(self, input_tokens: int, output_tokens: int, now: float) -> Reservation:
        """Count such a request as gone out now."""
        taken = []
        for kind, bucket in self._buckets.items():
            amount, spread = self._estimates.amount(kind, input_tokens, output_tokens)
            taken.append((kind, bucket, bucket.reserve(amount, now, spread)))
        return Reservation(taken, self._estimates, input_tokens, output_tokens)

    def oversize(self, input_tokens: int, output_tokens: int) -> tuple[str, int, float] | None:
        """Return (kind, amount, limit) of the first limit that the request alone exceeds."""
        for kind, bucket in self._buckets.items():
            amount, _ = self._estimates.amount(kind, input_tokens, output_tokens)
            if kind != "requests" and amount > bucket.per_minute:
                return kind, round(amount), bucket.per_minute
        return None

    def _set(self, kind: str, limit: float) -> None:
        if kind in self._buckets:
            self._buckets[kind].set_limit(limit)
        else:
            # requests keep their margin by the pace alone: 0.985 of 6 a minute would be 5 a window
            share = 1.0 if kind == "requests" else PACE_SHARE
            self._buckets[kind] = Bucket(limit, window_share=share)


_KINDS = ("requests", "tokens", "input_tokens", "output_tokens")


def _limit(limits: LimitValues, kind: str) -> float | None:
    value: float | None = getattr(limits, f"{kind}_per_minute")
    return value


def _amount(kind: str, input_tokens: int | None, output_tokens: int | None) -> int | None:
    match kind:
        case "input_tokens":
            return input_tokens
        case "output_tokens":
            return output_tokens
        case _:
            known = input_tokens is not None and output_tokens is not None
            return (input_tokens or 0) + (output_tokens or 0) if known else None
