"""The course of a grading in the store: its state, whoever else changes it, and what its lead decides."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from harness.cache.gradings import StoredGrading
from harness.cache.owner import this_process
from harness.cache.store import Store
from harness.errors import GradeRefusedError, StoreError, UnknownNameError
from harness.grading.calibration import opened_by_lead
from harness.grading.plan import Plan, read_plan
from harness.grading.roster import Roster
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
        self._roster = Roster(self.plan, self._state)
        self._clock = clock
        self._lock = asyncio.Lock()

    @property
    def name(self) -> str:
        """Return the grading's name: for the lead, never for a rater (it may tell the run's)."""
        return self._grading.name

    @property
    def grading(self) -> StoredGrading:
        """Return the grading as the store had it last."""
        return self._grading

    @property
    def state(self) -> State:
        """Return the state as it was read last."""
        return self._state

    @property
    def seats(self) -> tuple[Seat, ...]:
        """Return all seats: the raters' in their order, the consensus where there are several, the lead's."""
        return self._state.seats

    @property
    def roster(self) -> Roster:
        """Return who grades what, by the state as it was read last."""
        return self._roster

    @property
    def lead(self) -> Seat:
        """Return the seat of who leads the grading. Raises GradeRefusedError where it is over."""
        found = next((seat for seat in self.seats if seat.role == "lead"), None)
        if found is None:
            raise GradeRefusedError("this grading is over; ask whoever led it")
        return found

    def seat_of(self, token: str) -> Seat | None:
        """Return the seat that a token opens, by the state as it was read last; None: there is none."""
        return seat_of(self._state.seats, token)

    def now_us(self) -> int:
        """Return the moment by this grading's clock, microseconds since 1970 UTC."""
        return self._clock()

    async def reload(self) -> None:
        """Take in what others did to links, rounds and the gate. Raises StoreError."""
        async with self._lock:
            await self._reload()

    async def open_by_hand(self, reason: str) -> None:
        """Open full grading though the raters did not reach the threshold; the reason is kept.

        Where it is open, to those who came later and still calibrate. Raises ConfigError without a reason, or
        where it is open to everybody already.
        """
        await self.change(lambda now: opened_by_lead(self.plan, now, reason, self._clock()))

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

    async def remember_port(self, port: int, *, served: bool = True) -> None:
        """Keep where the grading is served, so that links stay the same when it is served again.

        `served` False: it is to be served there, and is not yet.
        """
        server = this_process() if served else None
        await self.change(lambda now: now.at_port(port, server))

    async def served_no_more(self) -> None:
        """Note that this process does not serve the grading any more, if it was the one that did."""
        me = this_process()
        await self.change(lambda now: replace(now, server=None) if now.server == me else None)

    async def change(self, new: Callable[[State], State | None]) -> State:
        """Put what `new` makes of the state in its place, whoever else changes it too; None: leave it."""
        for _ in range(_TRIES):
            async with self._lock:
                await self._reload()
                if self._state.withdrawn_at_us is not None:
                    raise StoreError(f"grading {self.name!r} was withdrawn")
                wanted = new(self._state)
                if wanted is None or await self.store.change_grading(self._grading, wanted.to_json()):
                    await self._reload()
                    return self._state
        raise StoreError(f"the state of grading {self.name!r} is changed by others all the time; try again")

    async def _reload(self) -> None:
        grading = await self.store.grading_now(self._grading)
        if grading is None:
            self._take(replace(self._state, seats=()))  # so that no link of it leads anywhere
            raise StoreError(f"grading {self.name!r} was deleted")
        if grading is not self._grading:
            self._grading = grading
            self._take(read_state(grading.state))

    def _take(self, state: State) -> None:
        self._state = state
        self._roster = Roster(self.plan, state)
