"""The adaptive limit on requests in flight: up while it is used and works, down on overload.

A matter of counts only: how long a request takes plays no part, because slowness is no failure.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

START = 16
CEILING = 512
CUT = 0.7
"""What a cut leaves of the limit."""
ROUND_GROWTH = 0.1
"""Growth in one round of successes (as many as the limit) beyond where it was cut; at least one slot."""
NEAR = 0.97
"""Share of the place of the last cut up to which the limit grows fast; from there to it, slowly."""
NEAR_ROUNDS = 20
"""Rounds from near the place of the last cut to it; doubled each time that it is found again."""
MOST_NEAR_ROUNDS = 160
ROUNDS_A_SLOT = 4
"""Bound on those rounds for each slot: of two slots, to do without one is to do without half."""
SAME_PLACE = 0.1
"""By how much two places may differ to be the same."""
WATCHED_SENDS = 50
TOLERATED_FAILURES = 10
"""20 % of the watched sends."""
HALF = WATCHED_SENDS // 2
HELPED = 0.7
"""A cut helped if no more than this share of the failures is left: as much as of the requests in flight."""
OUTAGE = 0.9
"""Share of failures from which on a server is down rather than asked too much."""


@dataclass(frozen=True, slots=True)
class _Trial:
    """A cut for failures whose use is not known yet: what was before it."""

    limit: float
    knee: float | None
    share: float


class AdaptiveLimit:
    """How many requests of one pool may be in flight.

    An explicit limit is the start and the ceiling. Without one it starts at 16. While it is saturated it
    doubles each round until it is cut, and after a cut until it is near the place where it was cut. There
    it stays for a while, longer each time that this place is found again, and grows by a tenth a round
    beyond it.

    Where a cut for failures did not lower their share, they do not come from too much at once: the cut is
    taken back, and that share is tolerated from then on, up to half of the sends.
    """

    def __init__(self, explicit: int | None = None, *, ceiling: int = CEILING) -> None:
        self.ceiling = explicit if explicit is not None else ceiling
        self._limit = float(min(explicit if explicit is not None else START, self.ceiling))
        self._knee: float | None = None
        self._near_rounds = NEAR_ROUNDS
        self._paused_for = 0
        self._older_than_cut = 0
        self._failures: deque[bool] = deque(maxlen=WATCHED_SENDS)
        self._tolerated = TOLERATED_FAILURES
        self._trial: _Trial | None = None

    @property
    def value(self) -> int:
        """The limit now, from 1 to the ceiling."""
        return int(self._limit)

    def succeeded(self, *, saturated: bool) -> None:
        """Take note of a send that the server handled; `saturated`: every slot was in use."""
        if self._is_older_than_cut():
            return
        self._watch(failed=False)
        if self._paused_for > 0:
            self._paused_for -= 1
        elif saturated:
            self._limit = min(self._limit + self._step(), float(self.ceiling))

    def failed(self, *, in_flight: int) -> None:
        """Take note of a send that failed on the server's side: growth pauses for a round.

        A failure within a pause does not prolong it, and a tolerated share of them does not pause; else a
        steady share of failures would end all growth and the pool would drift to one request at a time.
        """
        if self._is_older_than_cut():
            return
        self._watch(failed=True)
        if self._paused_for == 0 and self._tolerated == TOLERATED_FAILURES:
            self._paused_for = self.value
        failures = sum(self._failures)
        if failures > (HALF if self._trial is not None else self._tolerated):
            self._cut_for_failures(failures / len(self._failures), in_flight)

    def overloaded(self, *, in_flight: int) -> None:
        """Cut the limit; the caller sees to it that this happens once a burst."""
        knee = self._cut(in_flight)
        found_again = self._knee is not None and abs(knee - self._knee) <= SAME_PLACE * self._knee
        self._near_rounds = min(2 * self._near_rounds, MOST_NEAR_ROUNDS) if found_again else NEAR_ROUNDS
        self._knee = knee
        self._trial = None

    def _cut_for_failures(self, share: float, in_flight: int) -> None:
        before = _Trial(self._limit, self._knee, share)
        knee = self._cut(in_flight)
        if share >= OUTAGE:  # says nothing about how much the server can do: soon back when it is up again
            self._knee = max(self._knee or 0.0, before.limit)
            self._trial = None
        else:
            self._knee = knee
            self._trial = before if share <= 0.5 else None

    def _cut(self, in_flight: int) -> float:
        """Cut, and return how many were too many: some may have ended while the news was on its way."""
        used = min(self._limit, float(max(in_flight, 1)))
        too_many = self._limit if in_flight >= NEAR * self._limit - 1 else used
        self._limit = max(1.0, float(int(used * CUT)))
        self._paused_for = 0
        self._older_than_cut = max(in_flight - 1, 0)
        self._failures.clear()
        return too_many

    def _step(self) -> float:
        """Return by how much a success raises the limit."""
        if self._knee is None:
            return 1.0
        near = NEAR * self._knee
        if self._limit < near:
            return min(1.0, near - self._limit)
        if self._limit < self._knee:
            rounds = min(self._near_rounds, ROUNDS_A_SLOT * self._knee)
            return (self._knee - near) / (rounds * self._limit)
        return max(1.0, ROUND_GROWTH * self._limit) / self._limit

    def _watch(self, *, failed: bool) -> None:
        self._failures.append(failed)
        if len(self._failures) < WATCHED_SENDS:
            return
        if self._trial is not None:
            self._judge(self._trial, sum(self._failures))
        elif self._tolerated > TOLERATED_FAILURES and not any(self._failures):
            self._tolerated = TOLERATED_FAILURES

    def _judge(self, trial: _Trial, failures: int) -> None:
        """Take a cut for failures back if as many sends fail without what it took away."""
        self._trial = None
        if failures > HALF or failures < HELPED * trial.share * WATCHED_SENDS:
            return
        self._tolerated = max(min(int(failures + 3 * math.sqrt(failures)), HALF), TOLERATED_FAILURES + 1)
        self._limit = max(self._limit, trial.limit)
        self._knee = trial.knee
        self._paused_for = 0

    def _is_older_than_cut(self) -> bool:
        """Sends that were out when the limit was cut say nothing about the new one."""
        if self._older_than_cut == 0:
            return False
        self._older_than_cut -= 1
        return True
