"""One ask of a key at a time within this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class _Place:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    askers: int = 0


class Flights:
    """Lets the first asker of a key through and holds the others; cancelled, the next takes over."""

    def __init__(self) -> None:
        self._places: dict[str, _Place] = {}

    @asynccontextmanager
    async def alone(self, key: str) -> AsyncIterator[None]:
        """Enter as the only asker of `key`."""
        place = self._places.setdefault(key, _Place())
        place.askers += 1
        try:
            async with place.lock:
                yield
        finally:
            place.askers -= 1
            if not place.askers:
                del self._places[key]
