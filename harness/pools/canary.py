"""The first ask of each model goes alone, so that a wrong parameter costs five calls and not a sweep."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from harness.messages import Fault, Reply
from harness.outcomes import ExchangeOutcome

MAX_ALIKE = 5
"""Requests in a row that are refused alike before the pool is closed."""


@dataclass(slots=True)
class Canary:
    """A model's gate before the flood: asks pass one by one until one is not `bad_request`."""

    opened: bool = False
    alike: int = 0
    _refusal: tuple[str | None, int] | None = None
    _alone: asyncio.Lock = field(default_factory=asyncio.Lock)

    @asynccontextmanager
    async def passage(self) -> AsyncIterator[None]:
        """Wait for one's turn; no wait at all once the gate is open."""
        async with AsyncExitStack() as stack:
            if not self.opened:
                await stack.enter_async_context(self._alone)
            if self.opened:
                await stack.aclose()
            yield

    def saw(self, result: Reply | Fault, status: int) -> bool:
        """Note how an ask ended; True when it was the fifth in a row to be refused alike."""
        if isinstance(result, Reply) or result.outcome is not ExchangeOutcome.BAD_REQUEST:
            self.opened = True
            return False
        if self.opened:
            return False
        refusal = (result.code, status)
        self.alike = self.alike + 1 if refusal == self._refusal else 1
        self._refusal = refusal
        return self.alike >= MAX_ALIKE
