"""The adaptive limit on requests in flight: up while it is used and works, down on overload.

A matter of counts only: how long a request takes plays no part, because slowness is no failure.
"""

from __future__ import annotations

from collections import deque

START = 16
CEILING = 512
CUT = 0.7
"""What a cut leaves of the limit."""
ROUND_GROWTH = 0.1
"""Growth in one round of successes (as many as the limit) after the first cut; at least one slot."""
WATCHED_SENDS = 50
TOLERATED_FAILURES = 10
"""20 % of the watched sends."""


class AdaptiveLimit:
    """How many requests of one pool may be in flight.

    An explicit limit is the start and the ceiling. Without one it starts at 16 and at first doubles each
    round while it is saturated; after the first cut it grows by a tenth a round.
    """

    def __init__(self, explicit: int | None = None, *, ceiling: int = CEILING) -> None:
        self.ceiling = explicit if explicit is not None else ceiling
        self._limit = float(min(explicit if explicit is not None else START, self.ceiling))
        self._was_cut = False
        self._paused_for = 0
        self._older_than_cut = 0
        self._failures: deque[bool] = deque(maxlen=WATCHED_SENDS)

    @property
    def value(self) -> int:
        """The limit now, from 1 to the ceiling."""
        return int(self._limit)

    def succeeded(self, *, saturated: bool) -> None:
        """Take note of a send that the server handled; `saturated`: every slot was in use."""
        if self._is_older_than_cut():
            return
        self._failures.append(False)
        if self._paused_for > 0:
            self._paused_for -= 1
        elif saturated:
            step = max(1.0, ROUND_GROWTH * self._limit) / self._limit if self._was_cut else 1.0
            self._limit = min(self._limit + step, float(self.ceiling))

    def failed(self, *, in_flight: int) -> None:
        """Take note of a send that failed on the server's side: growth pauses for a round.

        A failure within a pause does not prolong it; else a steady share of failures would end all growth
        and the pool would drift to one request at a time.
        """
        if self._is_older_than_cut():
            return
        self._failures.append(True)
        if self._paused_for == 0:
            self._paused_for = self.value
        if sum(self._failures) > TOLERATED_FAILURES:
            self.overloaded(in_flight=in_flight)

    def overloaded(self, *, in_flight: int) -> None:
        """Cut the limit; the caller sees to it that this happens once a burst."""
        used = min(self._limit, float(max(in_flight, 1)))
        self._limit = max(1.0, float(int(used * CUT)))
        self._was_cut = True
        self._paused_for = 0
        self._older_than_cut = max(in_flight - 1, 0)
        self._failures.clear()

    def _is_older_than_cut(self) -> bool:
        """Sends that were out when the limit was cut say nothing about the new one."""
        if self._older_than_cut == 0:
            return False
        self._older_than_cut -= 1
        return True
