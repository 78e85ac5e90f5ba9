"""The memory that this process may map: what a limit on it (`ulimit -v`) leaves, how to need less of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_M_ARENA_MAX: Final = -8
_ARENAS: Final = 2


def limit() -> int | None:
    """Return the most bytes that this process may map; None where nothing limits that, or nobody can tell."""
    try:
        import resource
    except ImportError:
        return None
    found = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if found == resource.RLIM_INFINITY else found


def left() -> int | None:
    """Return the bytes that this process may still map; None as in `limit`."""
    most = limit()
    if most is None:
        return None
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError):
        return None
    return max(most - pages * os.sysconf("SC_PAGE_SIZE"), 0)


def spare() -> None:
    """Where a limit is set, keep the C library from reserving 64 MB for every thread, used or not.

    `mallopt` of glibc, M_ARENA_MAX (its manual, "Malloc Tunable Parameters"); others do no such thing.
    """
    if limit() is None:
        return
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, _ARENAS)
