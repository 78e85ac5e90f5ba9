"""Open files: how many the system lets us have, and how many requests in flight that allows."""

from __future__ import annotations

import resource
from contextlib import suppress
from typing import Final

MOST_FILES: Final = 65_536
RESERVED: Final = 48
"""What the program needs beside connections: the store, images being read, modules, terminal."""


def raise_file_limit() -> None:
    """Allow as many open files as the system lets us: each request in flight takes one, and 256 is common."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def file_limit() -> int | None:
    """Return how many files may be open at once, None where there is no limit."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft


def most_in_flight(limit: int | None, pools: int, files_per_request: int = 1) -> int | None:
    """Return how many requests each of `pools` may have in flight under a limit of open files; at least one.

    Beyond it connections would fail, and images could not be read, as if they were broken.
    """
    if limit is None or pools == 0:
        return None
    return max((limit - RESERVED) // (pools * files_per_request), 1)
