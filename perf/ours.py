"""A process that runs one `harness` command as a user would, and says what it cost.

`python -m perf.ours` reads {"args": [...], "lag": bool} and prints one JSON line: CPU seconds of the whole
process from the command's start to its end (imports before it not counted), of that in the closing score,
peak memory, exit code, and with `lag` the delays of the event loop.
"""

from __future__ import annotations

import asyncio
import importlib
import io
import json
import resource
import sys
import time
from collections.abc import Callable, Coroutine
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

PROBE_S = 0.005
"""How often the event loop is asked whether it is free."""

_MODULES = ("run_command", "resume", "run", "score", "status")
_ENGINE = ("client", "units", "sending", "providers.transport", "providers.openai", "offline.score")


def cpu_s() -> float:
    """Return the CPU seconds that this process has used so far, in all threads, in user and kernel."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Run the command that the argument describes."""
    wanted = json.load(sys.stdin)
    for name in _ENGINE:
        importlib.import_module(f"harness.{name}")
    for name in _MODULES:
        importlib.import_module(f"harness.cli.{name}")
    from harness.cli.main import cli

    probe = _Probe()
    scoring = _watch_scoring(probe)
    if wanted.get("lag"):
        run_command: Any = importlib.import_module("harness.cli.run_command")
        run_command.run_session = probe.beside(run_command.run_session)
    out, err = io.StringIO(), io.StringIO()
    cpu, wall, code = cpu_s(), time.perf_counter(), 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            cli.main(wanted["args"])
        except SystemExit as exit:
            code = exit.code if isinstance(exit.code, int) else 1
    result = {
        "code": code,
        "cpu_s": cpu_s() - cpu,
        "wall_s": time.perf_counter() - wall,
        "scoring_cpu_s": sum(scoring),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "delays": sorted(probe.delays)[-1000:],
        "own_delays": sorted(probe.own_delays)[-1000:],
        "n_delays": len(probe.delays),
        "out": out.getvalue()[-2000:],
        "err": err.getvalue()[-2000:],
    }
    print(json.dumps(result), flush=True)


class _Probe:
    """Asks again and again whether the event loop is free, until it is told that the sweep is over."""

    def __init__(self) -> None:
        self.delays: list[float] = []
        self.own_delays: list[float] = []
        """What of each delay this process can have caused: the CPU that it used meanwhile."""
        self.over = False

    def beside(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """Return `run_session` with the probe running beside the work."""

        async def both(work: Coroutine[Any, Any, Any]) -> Any:
            probing = asyncio.create_task(self._ask())
            try:
                return await work
            finally:
                probing.cancel()

        return lambda work: run(both(work))

    async def _ask(self) -> None:
        while not self.over:
            wanted, busy = time.perf_counter() + PROBE_S, time.process_time()
            await asyncio.sleep(PROBE_S)
            delay = time.perf_counter() - wanted
            self.delays.append(delay)
            self.own_delays.append(min(delay, time.process_time() - busy))


def _watch_scoring(probe: _Probe) -> list[float]:
    """Note the CPU of the score that `run` shows at its end: it has a row of its own."""
    run_command: Any = importlib.import_module("harness.cli.run_command")
    spent: list[float] = []
    score_run = run_command.score_run

    async def watched(*args: Any, **options: Any) -> Any:
        probe.over = True
        start = cpu_s()
        try:
            return await score_run(*args, **options)
        finally:
            spent.append(cpu_s() - start)

    run_command.score_run = watched
    return spent


if __name__ == "__main__":
    main()
