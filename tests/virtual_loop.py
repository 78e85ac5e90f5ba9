"""An event loop in virtual time: hours of waiting pass in no time, in the same order every time.

    figures = run_virtual(scenario())

Everything that waits by the loop is virtual in it: `asyncio.sleep`, timeouts, `loop.call_later`; `loop.time`
is the clock to hand to a pool. Time stands still while anything can run, then jumps to the next timer. Where
no timer is left and nothing can run, every task waits for ever: that is raised as `StuckError` instead of
hanging. There is no time for threads and sockets here; `fake_clock` with its grace is for those.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

START_S = 1_000.0


class StuckError(AssertionError):
    """Every task waits for something that no timer will bring."""


class _Jumping(selectors.DefaultSelector):
    """A selector that moves time on instead of waiting."""

    jump: Callable[[float], None]

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events = super().select(0)
        if events or timeout == 0:
            return events
        if timeout is None:
            raise StuckError("every task waits, and no timer is left to wake one")
        self.jump(timeout)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """`time()` starts at 1,000 s and moves only when all tasks wait."""

    def __init__(self) -> None:
        self._virtual_s = START_S
        selector = _Jumping()
        selector.jump = self._jump
        super().__init__(selector)

    def time(self) -> float:
        """Return the virtual time in seconds."""
        return self._virtual_s

    def _jump(self, seconds: float) -> None:
        self._virtual_s += seconds


def run_virtual(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in virtual time. Raises StuckError where it would never end."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)
