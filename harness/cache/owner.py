"""Which process holds a claim, and whether it is still alive."""

from __future__ import annotations

import os
import platform
import sys
import uuid
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Final

from harness.canonical import canonical_json

_PROC: Final = Path("/proc")
_STAT_STATE: Final = 0
_STAT_START_TIME: Final = 19


@dataclass(frozen=True, slots=True)
class Owner:
    """One open store in one process.

    `host` names the machine and the process namespace (containers on one machine see other pids),
    `boot` the machine's current start, `started` the process's start time in clock ticks since then;
    empty where the system does not tell.
    """

    host: str
    boot: str
    pid: int
    started: str

    def document(self) -> bytes:
        """Return the owner as canonical JSON."""
        return canonical_json(asdict(self))

    def is_dead(self) -> bool:
        """Return True only if it is certain: same machine, and the process is gone or another one."""
        here = this_process()
        if self.host != here.host:
            return False
        if self.boot != here.boot:
            return True
        started = _start_time(self.pid)
        if started is None:
            return True
        return bool(self.started and started and started != self.started)

    def is_alive(self) -> bool:
        """Return True only if it is certain: same machine, boot and process, and it is not stopped."""
        here = this_process()
        started = _start_time(self.pid)
        if _is_stopped(self.pid):
            return False
        return (self.host, self.boot) == (here.host, here.boot) and bool(started) and started == self.started

    def is_paused(self) -> bool:
        """Return True only if it is certain: this very process, on this machine, was stopped (Ctrl-Z)."""
        here = this_process()
        if (self.host, self.boot) != (here.host, here.boot) or self.is_dead():
            return False
        return _is_stopped(self.pid)


def this_process() -> Owner:
    """Return the owner that this process is."""
    pid = os.getpid()
    return Owner(_host(), _boot(), pid, _start_time(pid) or "")


@cache
def _host() -> str:
    machine = _read(Path("/etc/machine-id")) or f"{uuid.getnode():012x}"
    try:
        namespace = str((_PROC / "self/ns/pid").readlink())
    except OSError:
        namespace = ""
    return f"{platform.node()} {machine} {namespace}".strip()


@cache
def _boot() -> str:
    return _read(_PROC / "sys/kernel/random/boot_id")


def _start_time(pid: int) -> str | None:
    """Return a process's start time, None if there is no such process, "" where nobody can say."""
    if not (_PROC / "self/stat").exists():
        return None if not _exists(pid) else ""
    stat = _read(_PROC / str(pid) / "stat")
    if not stat:
        return None if not _exists(pid) else ""
    # The name, in brackets, may hold spaces and brackets itself.
    fields = stat.rpartition(")")[2].split()
    # A zombie has ended; only its parent has not noticed yet.
    return None if fields[_STAT_STATE] in {"Z", "X"} else fields[_STAT_START_TIME]


def _is_stopped(pid: int) -> bool:
    """Tell whether a process was stopped (Ctrl-Z, SIGSTOP): it keeps nothing waiting beyond its lease."""
    fields = _read(_PROC / str(pid) / "stat").rpartition(")")[2].split()
    return bool(fields) and fields[_STAT_STATE] in {"T", "t"}


def _exists(pid: int) -> bool:
    if sys.platform == "win32":
        # There, os.kill would end the process.
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
