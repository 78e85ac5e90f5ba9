"""Pool-wide waits: how long a pool is held, and when it has waited enough."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

Uniform: TypeAlias = Callable[[float, float], float]
"""A source of chance: a number between two bounds, as `random.uniform` gives."""

MIN_BACK_OFF_S = 1.0
MAX_BACK_OFF_S = 60.0

_TRUSTED_SHORT_WAITS = 3


def back_off_s(tries: int, random: Uniform) -> float:
    """Return a wait with full jitter, 1 to 60 s; its upper bound doubles with each try (from 1)."""
    return random(MIN_BACK_OFF_S, min(MAX_BACK_OFF_S, 2.0 ** min(tries, 10)))


@dataclass(frozen=True, slots=True)
class Enough:
    """A pool has waited as long as `--max-wait` lets it. `until_s`: seconds from now, where told."""

    reason: str
    until_s: float | None = None


class Holds:
    """The hold of one pool, in seconds of any steady clock.

    Trouble (rate limits, failing connections) starts with the first fault after a success and ends with
    the next success; it may not last longer than `max_wait_s`.
    """

    def __init__(self, max_wait_s: float, random: Uniform) -> None:
        self._max_wait_s = max_wait_s
        self._random = random
        self._trouble_since: float | None = None
        self._trouble_why = ""
        self._tries = 0
        self.until = -math.inf
        self.why = ""

    def remaining_s(self, now: float) -> float:
        """Return how long the pool is still held; 0 when it is not."""
        return max(self.until - now, 0.0)

    def success(self) -> None:
        """Take note that the server handled a request: trouble is over, a hold that stands is kept."""
        self._trouble_since = None
        self._tries = 0

    def over(self, why: str) -> None:
        """Take note that trouble of one kind is over; trouble of another kind goes on."""
        if self._trouble_since is not None and self._trouble_why == why:
            self.success()

    def trouble(self, now: float, why: str) -> Enough | None:
        """Take note of a fault that counts against `max_wait_s`; an answer means: close the pool."""
        if self._trouble_since is None:
            self._trouble_since = now
            self._trouble_why = why
        lasted = now - self._trouble_since
        if lasted < self._max_wait_s:
            return None
        return Enough(f"no success for {lasted:.0f} s because of {why} (--max-wait {self._max_wait_s:.0f})")

    def told(self, now: float, wait_s: float, why: str, *, new_burst: bool) -> Enough | None:
        """Hold for as long as the provider said, in full; an answer means: that is too long, close.

        A provider that goes on saying "at once" or "in a moment" is given growing waits after the third.
        """
        self._tries += new_burst
        since = now if self._trouble_since is None else self._trouble_since
        if now + wait_s > since + self._max_wait_s:
            text = f"{why}: the provider says to wait {_seconds(wait_s)} s"
            text += f", after {now - since:.0f} s without a success"
            return Enough(f"{text} (--max-wait {self._max_wait_s:.0f})", wait_s)
        if new_burst and self._tries > _TRUSTED_SHORT_WAITS:
            own = back_off_s(self._tries - _TRUSTED_SHORT_WAITS, self._random)
            wait_s = max(wait_s, min(own, self._left_s(now)))
        self._hold(now + wait_s, why)
        return None

    def nothing_left(self, now: float, wait_s: float, why: str) -> None:
        """Hold because an answer says that nothing is left for so long, unless that is beyond `max_wait_s`.

        No trouble yet: where it is, the next answer says so.
        """
        if wait_s <= self._max_wait_s:
            self._hold(now + wait_s, why)

    def untold(self, now: float, why: str) -> None:
        """Hold for a back-off of our own, no longer than `max_wait_s` leaves; not while held already."""
        if now < self.until:
            return
        self._tries += 1
        self._hold(now + min(back_off_s(self._tries, self._random), self._left_s(now)), why)

    def _left_s(self, now: float) -> float:
        since = now if self._trouble_since is None else self._trouble_since
        return max(since + self._max_wait_s - now, 0.0)

    def _hold(self, until: float, why: str) -> None:
        if until > self.until:
            self.until = until
            self.why = why


def _seconds(wait_s: float) -> str:
    """Show a time: whole seconds, but what is shorter is not called 0."""
    return f"{wait_s:.0f}" if wait_s >= 1 else f"{wait_s:.2g}"
