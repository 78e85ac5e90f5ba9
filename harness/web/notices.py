"""What stands above a page whatever it shows: told by who knows it, put there by the frame of all pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

_NOTICES: ContextVar[Sequence[str]] = ContextVar("notices", default=())


@contextmanager
def noticing(told: Sequence[str]) -> Iterator[None]:
    """Let every page that is made within the block, by this task, say so above all else."""
    before = _NOTICES.set(told)
    try:
        yield
    finally:
        _NOTICES.reset(before)


def notices() -> Sequence[str]:
    """Return what is to stand above the page that is being made."""
    return _NOTICES.get()
