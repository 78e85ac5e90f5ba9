"""A process that runs one `harness` command as a user would, and says what it cost.

`python -m perf.ours JSON` takes {"args": [...], "lag": bool} and prints one JSON line: CPU seconds of the whole
process from the command's start to its end (imports before it not counted), of that in the closing score, peak
memory, exit code, and with `lag` the delays of the event loop.
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
    wanted = json.loads(sys.argv[1])
    for name in _ENGINE:
        importlib.import_module(f"harness.{name}")
    for name in _MODULES:
        importlib.import_module(f"harness.cli.{name}")
    from harness.cli.main import cli

    scoring = _watch_scoring()
    delays: list[float] = []
    if wanted.get("lag"):
        asyncio.run = _probed(asyncio.run, delays)  # type: ignore[assignment]
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
        "delays": sorted(delays)[-1000:],
        "n_delays": len(delays),
        "out": out.getvalue()[-2000:],
        "err": err.getvalue()[-2000:],
    }
    print(json.dumps(result), flush=True)


def _watch_scoring() -> list[float]:
    """Note the CPU of the score that `run` shows at its end: it has a row of its own."""
    from harness.cli import run_command

    spent: list[float] = []
    score_run = run_command.score_run

    async def watched(*args: Any, **options: Any) -> Any:
        start = cpu_s()
        try:
            return await score_run(*args, **options)
        finally:
            spent.append(cpu_s() - start)

    run_command.score_run = watched
    return spent


def _probed(run: Callable[..., Any], delays: list[float]) -> Callable[..., Any]:
    async def probe() -> None:
        while True:
            wanted = time.perf_counter() + PROBE_S
            await asyncio.sleep(PROBE_S)
            delays.append(time.perf_counter() - wanted)

    async def both(work: Coroutine[Any, Any, Any]) -> Any:
        probing = asyncio.create_task(probe())
        try:
            return await work
        finally:
            probing.cancel()

    return lambda work, **options: run(both(work), **options)


if __name__ == "__main__":
    main()
