"""A step over very many units: what it holds in memory does not grow with what they hold."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest
from bulk_run import MODELS, bulk_plan, fill
from step_examples import program, spawn_code, step_args
from stored_run_builder import built_run
from sweep_kit import finish, write_config

MOST_BYTES_A_UNIT = 300
SMALL, LARGE = 2_500, 12_800
"""Cases, each answered by four models."""


def measured() -> None:
    """Run the program as it was called, and say on stderr the most memory that it held, in KiB.

    From /proc: `getrusage` counts what the process that started this one held.
    """
    try:
        program(sys.argv[1:])
    finally:
        status = Path("/proc/self/status").read_text(encoding="ascii")
        sys.stderr.write(f"\nPEAK {status.split('VmHWM:')[1].split()[0]}\n")


async def _filled(folder: Path, n_cases: int) -> None:
    async with built_run(folder, bulk_plan(n_cases), name="night") as built:
        await fill(built)


def planned(folder: Path, n_cases: int) -> tuple[int, int]:
    """Plan a step over a run of so many cases; return its units, and the most bytes that were held."""
    folder.mkdir()
    asyncio.run(_filled(folder, n_cases))
    write_config(folder, "http://127.0.0.1:9", ["j"])
    code = spawn_code("import test_many_step_cases; test_many_step_cases.measured()", Path(__file__).parent)
    done = finish(code(*step_args(folder, "--dry-run", "--json"), cwd=folder), timeout=280)
    assert done.code == 0, done.err
    (folder / "store.sqlite3").unlink()
    peak = int(done.err.split("PEAK ")[1].split()[0]) * 1024
    return json.loads(done.out)["models"][0]["to_send"], peak


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_step_over_fifty_thousand_units_holds_little_of_each(tmp_path: Path) -> None:  # F36
    small, small_peak = planned(tmp_path / "small", SMALL)
    large, large_peak = planned(tmp_path / "large", LARGE)
    # Two units in a hundred have no usable answer.
    assert LARGE * len(MODELS) > 50_000 and large == LARGE * len(MODELS) * 98 // 100
    grown = (large_peak - small_peak) / (large - small)
    assert grown <= MOST_BYTES_A_UNIT, (small_peak, large_peak)
