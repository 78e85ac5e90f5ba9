"""Garbage collection during a session."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

YOUNG: Final = 5_000
"""How many more objects there are than after the last look before the collector looks through the new ones.

Python's own 700 are fewer than the requests in flight consist of: those would be looked through again and
again. An exchange leaves nothing behind that only the collector finds, its errors included.
"""


@contextmanager
def standing_objects_left_alone() -> Iterator[None]:
    """Let the garbage collector pass over all that exists now: modules, settings, cases.

    None of it becomes garbage before the end, and looking through it again and again costs a sixth of the
    CPU of a text exchange. What is made meanwhile is collected, more seldom than usual (`YOUNG`: another
    twelfth), so memory stays flat. Garbage is not collected first: that would hold up the event loop for
    50 ms, and there is little.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(YOUNG, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
