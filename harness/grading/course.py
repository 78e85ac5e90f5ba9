"""The course of a grading in the store: its state, whoever else changes it, and what its lead decides."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from harness.cache.gradings import StoredGrading
from harness.cache.store import Store
from harness.errors import StoreError, UnknownNameError
from harness.grading.calibration import another_round, opened_by_lead
from harness.grading.plan import Plan, read_plan
from harness.grading.seats import Seat, new_token, seat_of
from harness.grading.state import State, read_state
from harness.moments import now_us
from harness.nearest import nearest_or_known

_TRIES: Final = 100


class Course:
    """A grading without its grades. Several processes may be at one on the same store."""

    def __init__(self, store: Store, grading: StoredGrading, *, clock: Callable[[], int] = now_us) -> None:
        self.store = store
        self.plan: Plan = read_plan(grading.settings)
        self._grading = grading
        self._state = read_state(grading.state)
        self._clock = clock
        self._lock = asyncio.Lock()

    @property
    def name(self) -> str:
        """Return the grading's name: for the lead, never for a rater (it may tell the run's)."""
        return self._grading.name

    @property
    def state(self) -> State:
        """Return the state as it was read last."""
        return self._state

    @property
    def seats(self) -> tuple[Seat, ...]:
        """Return all seats: the raters' in their order, the consensus where there are several, the lead's."""
        return self._state.seats

    def seat_of(self, token: str) -> Seat | None:
        """Return the seat that a token opens, by the state as it was read last; None: there is none."""
        return seat_of(self._state.seats, token)

    async def reload(self) -> None:
        """Take in what others did to links, rounds and the gate. Raises StoreError."""
        async with self._lock:
            await self._reload()

    async def calibrate_again(self, size: int | None = None) -> None:
        """Begin another round of calibration, of other items; `size` None: of as many as the first.

        Raises ConfigError where none can be begun: a round goes on, or full grading is open.
        """
        await self.change(lambda now: another_round(self.plan, now, self._clock(), size))

    async def open_by_hand(self, reason: str) -> None:
        """Open full grading though the raters did not reach the threshold; the reason is kept.

        Raises ConfigError without a reason, or where it is open already.
        """
        await self.change(lambda now: opened_by_lead(now, reason, self._clock()))

    async def replace_link(self, name: str) -> Seat:
        """Give the seat of this name another link; the one before opens nothing any more.

        Raises UnknownNameError where there is no such seat.
        """
        names = tuple(seat.name for seat in self.seats)
        if name not in names:
            hint = nearest_or_known(name, names)
            raise UnknownNameError(f"grading {self.name!r} has no seat {name!r}{hint}")
        token = new_token()
        state = await self.change(lambda now: now.with_link(name, token))
        return next(seat for seat in state.seats if seat.name == name)

    async def remember_port(self, port: int) -> None:
        """Keep where the grading is served, so that links stay the same when it is served again."""
        await self.change(lambda now: None if now.port == port else now.at_port(port))

    async def change(self, new: Callable[[State], State | None]) -> State:
        """Put what `new` makes of the state in its place, whoever else changes it too; None: leave it."""
        for _ in range(_TRIES):
            async with self._lock:
                await self._reload()
                wanted = new(self._state)
                if wanted is None or await self.store.change_grading(self._grading, wanted.to_json()):
                    await self._reload()
                    return self._state
        raise StoreError(f"the state of grading {self.name!r} is changed by others all the time; try again")

    async def _reload(self) -> None:
        grading = await self.store.grading_now(self._grading)
        if grading is not self._grading:
            self._grading, self._state = grading, read_state(grading.state)
