"""Loaded by every Python process that has this folder on its path: sets the trap that FAULTS_TRAP describes.

A JSON object: `fsize`, `nofile`, `address_space` are resource limits (soft and hard alike, bytes or files);
`clock` is a file that holds by how many seconds the time of day is wrong, read each time somebody looks;
`busy_s` is how long a statement waits for another process's write.
"""

import json
import os
import resource
import time
from pathlib import Path

_LIMITS = {
    "fsize": resource.RLIMIT_FSIZE,
    "nofile": resource.RLIMIT_NOFILE,
    "address_space": resource.RLIMIT_AS,
}


def _set_wrong(path: Path) -> None:
    """Let the time of day be wrong by what a file says; the steady clock is not touched."""
    true_time, true_time_ns = time.time, time.time_ns

    def off() -> int:
        try:
            return int(path.read_text(encoding="ascii"))
        except (OSError, ValueError):
            return 0

    time.time = lambda: true_time() + off()
    time.time_ns = lambda: true_time_ns() + off() * 1_000_000_000


def _spring(trap: dict[str, object]) -> None:
    for name, number in _LIMITS.items():
        if name in trap:
            resource.setrlimit(number, (trap[name], trap[name]))
    if "clock" in trap:
        _set_wrong(Path(str(trap["clock"])))
    if "busy_s" in trap:
        from harness.cache import dialects

        dialects.SqliteDialect.__init__.__kwdefaults__["busy_timeout_s"] = trap["busy_s"]


if "FAULTS_TRAP" in os.environ:
    _spring(json.loads(os.environ["FAULTS_TRAP"]))
