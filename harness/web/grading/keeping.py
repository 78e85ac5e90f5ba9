"""Whether grades are kept: their store is still the one that was opened, and no answer is left unsaved.

A deleted file goes on taking what is written to it, and a grade that stands in it already looks saved. So
nothing is told to be saved, or shown, unless the store at its place is the one that it was written to.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final

from harness.cache.database import StoreGoneError
from harness.cache.store import Store
from harness.cache.witness import Witness

GONE: Final = (
    "the store of this grading is gone, or another one lies in its place; tell whoever leads the grading"
)
_LOOKS_S: Final = 1.0


class Keeping:
    """What became of the store of gradings that are served, and of the answers that seats gave.

    `on_lost` is called once, when the store is found gone: from then on nothing is kept any more.
    """

    def __init__(self, store: Store, on_lost: Callable[[], None] = lambda: None) -> None:
        self._store = store
        self._on_lost = on_lost
        self._witness: Witness | None = None
        self._unsaved: set[tuple[str, int, str]] = set()
        self.lost: StoreGoneError | None = None

    async def check(self) -> None:
        """Raise StoreGoneError where the store is not the one that was opened, or lacks what was in it.

        Raises StoreError where it cannot be read.
        """
        if self.lost is not None:
            raise StoreGoneError(*self.lost.args)
        try:
            self._witness = await self._store.witness(self._witness)
        except StoreGoneError as error:
            self.lose(error)
            raise

    def lose(self, error: StoreGoneError) -> None:
        """Keep nothing any more: the store was found gone."""
        if self.lost is not None:
            return
        try:
            self._store.check_place()
        except StoreGoneError as now:
            error = now
        self.lost = error
        self._on_lost()

    async def watch(self, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        """Look at the store's place again and again, until it is gone."""
        while self.lost is None:
            try:
                self._store.check_place()
            except StoreGoneError as error:
                self.lose(error)
            await sleep(_LOOKS_S)

    def not_saved(self, seat: str, position: int, names: Iterable[str]) -> None:
        """Note answers that a seat gave and that could not be kept."""
        self._unsaved.update((seat, position, name) for name in names)

    def settled(self, seat: str, position: int, names: Iterable[str]) -> None:
        """Note answers that were kept, or refused in words that the seat was told."""
        self._unsaved.difference_update((seat, position, name) for name in names)

    @property
    def unsaved(self) -> Mapping[str, int]:
        """Return seat -> how many answers were given there and could not be kept."""
        return Counter(seat for seat, _, _ in self._unsaved)
