"""Rows about time: starting up, and the use of a rate limit."""

from __future__ import annotations

import asyncio
import random
import resource
import subprocess
import sys
import time
from bisect import bisect_left
from collections.abc import Sequence

from harness.messages import Reply
from harness.outcomes import ExchangeOutcome
from harness.pools.limits import PoolLimits
from harness.pools.pool import Pool
from perf.processes import Loopback
from perf.rows import Row, Sizes
from tests.fake_clock import FakeClock

START_S = 0.25
LIMIT = 600
USE = 0.97


def start_up(server: Loopback, sizes: Sizes) -> Row:
    """Measure `harness --help`, beside a Python that does nothing."""
    before = _children_cpu_s()
    took = _shortest([sys.executable, "-m", "harness", "--help"], sizes.starts)
    cpu_s = (_children_cpu_s() - before) / sizes.starts
    bare = _shortest([sys.executable, "-c", "pass"], sizes.starts)
    return Row(
        "`harness --help`", f"<= {START_S} s", took, "s", took <= START_S, bare,
        f"shortest of {sizes.starts}; {cpu_s:.2f} s of CPU; bare: Python itself",
        {"cpu_s": cpu_s},
    )  # fmt: skip


def _shortest(command: Sequence[str], starts: int) -> float:
    times = []
    for _ in range(starts):
        start = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        times.append(time.perf_counter() - start)
    return min(times)


def _children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def rate_limit(server: Loopback, sizes: Sizes) -> Row:
    """Measure how much of a limit of 600 a minute is used, and the most that went out in any 60 s."""
    sent = asyncio.run(_paced(60.0 * sizes.minutes))
    later = [at for at in sent if at >= 60.0]
    share = len(later) / (LIMIT * (sizes.minutes - 1))
    most = max(bisect_left(sent, start + 60.0) - index for index, start in enumerate(sent))
    return Row(
        f"use of {LIMIT} requests a minute", f">={USE:.0%}, max {LIMIT}",
        100 * share, "%", share >= USE and most <= LIMIT,
        note=f"after the first minute of {sizes.minutes}, by an injected clock; most in any 60 s: {most}",
        facts={"most_in_60_s": most},
    )  # fmt: skip


async def _paced(duration_s: float) -> list[float]:
    """Return when requests went out, in seconds; answers take between 0.2 and 4 s."""
    clock, chance = FakeClock(0.0), random.Random(1)
    limits = PoolLimits(requests_per_minute=LIMIT, max_in_flight=64)
    pool = Pool("paced", limits, clock=clock.time, sleep=clock.sleep)
    sent: list[float] = []

    async def work() -> None:
        while True:
            async with pool.admit(100, 100) as slot:
                if clock.time() >= duration_s:
                    return
                sent.append(clock.time())
                await clock.sleep(chance.uniform(0.2, 4.0))
                pool.report(Reply(ExchangeOutcome.ANSWERED, "fine"), slot)

    async with asyncio.TaskGroup() as group:
        for _ in range(128):
            group.create_task(work())
    return sent
