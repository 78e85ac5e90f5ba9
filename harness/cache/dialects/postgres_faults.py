"""What the errors of Postgres and its driver mean, and what to do about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from harness.cache.dialects.base import Fault

STATES: Final[Mapping[str, Fault]] = {
    "08P01": Fault.UNREACHABLE,  # a pooler, say, that lacks what we need
    "08": Fault.LOST,
    "25006": Fault.READ_ONLY,
    "25P03": Fault.LOST,  # idle in a transaction for too long
    "28": Fault.DENIED,
    "3D000": Fault.GONE,
    "3F000": Fault.GONE,
    "40001": Fault.BUSY,
    "40P01": Fault.BUSY,
    "42501": Fault.READ_ONLY,
    "42P01": Fault.GONE,
    "53100": Fault.FULL,
    "53200": Fault.UNREACHABLE,
    "53300": Fault.LOST,  # too many connections
    "55P03": Fault.BUSY,
    "57P01": Fault.LOST,
    "57P02": Fault.LOST,
    "57P03": Fault.LOST,
    "57P04": Fault.GONE,
    "57P05": Fault.LOST,
    "58": Fault.UNREACHABLE,
    "F0": Fault.UNREACHABLE,
    "XX001": Fault.DAMAGED,
    "XX002": Fault.DAMAGED,
}
"""Postgres' error code, or the class that it begins with -> what it means
(https://www.postgresql.org/docs/current/errcodes-appendix.html)."""

_AGAIN: Final = "then run the same command again: what was committed is kept"

ADVICE: Final[Mapping[Fault, str]] = {
    Fault.NO_MEMORY: "cannot take an entry: this machine ran out of memory; close other programs, or lower "
    f"--max-in-flight, {_AGAIN}",
    Fault.BUSY: f"is held by another process that does not let go; stop that process, {_AGAIN}",
    Fault.FULL: f"cannot grow: the disk of its server is full; free some space there, {_AGAIN}",
    Fault.READ_ONLY: "cannot be written by this user, or on this server; connect to the primary server as a "
    f"user who may insert, update and delete in its schema, {_AGAIN}",
    Fault.UNREACHABLE: f"cannot be used: its server is in trouble; look at the server's log, {_AGAIN}",
    Fault.DENIED: "does not let us in; check the user, the password (PGPASSWORD or ~/.pgpass) and the "
    "server's pg_hba.conf",
    Fault.LOST: "has a server that does not answer; check its address and the network, start the server if "
    f"it is down, free connections if it has too many, {_AGAIN}",
    Fault.GONE: "or its database is not there; check its name, create the database with createdb if it is "
    "new, or bring it back from a backup before you go on",
    Fault.DAMAGED: "is damaged; stop, look at it with `harness store verify` and at the server's log, or go "
    "back to a backup",
}
"""Fault -> what happened and what to do, after the store's name."""


def fault_of(error: BaseException) -> Fault:
    """Return what an error means, by Postgres' own code where it has one."""
    original: Any = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(original, MemoryError):
        return Fault.NO_MEMORY
    state = getattr(original, "sqlstate", None) or ""
    for code in (state, state[:2]):
        if code in STATES:
            return STATES[code]
    if state:
        return Fault.REFUSED
    if isinstance(error, PoolTimeoutError):
        return Fault.BUSY
    # The driver tells by words that its connection is closed, released, or not to be used any more.
    broken = isinstance(error, DBAPIError) and error.connection_invalidated
    if broken or isinstance(original, OSError) or "connection" in str(original).lower():
        return Fault.LOST
    return Fault.REFUSED


def scrub(error: BaseException | None) -> None:
    """Take out of an error, and all that led to it, what may be text of a case: values that were refused."""
    while error is not None:
        for name in ("detail", "hint", "where", "query", "internal_query"):
            if getattr(error, name, None):
                setattr(error, name, None)
        if error.args and isinstance(error.args[0], str):
            first = error.args[0].partition("\nDETAIL:")[0]
            head, mark, rest = first.partition("invalid input for query argument ")
            if mark:
                first = f"{head}{mark}{rest.partition(':')[0]}"
            error.args = (first, *error.args[1:])
        error = error.__cause__ or error.__context__
