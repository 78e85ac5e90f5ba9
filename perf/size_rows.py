"""Rows about size: replaying what is stored, memory, planning a large run that is nearly done."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator

from harness import exit_codes
from perf.processes import TIMEOUT_S, Folder, Loopback, MeasurementError, folder, ours
from perf.rows import Row, Sizes

REPLAYED_A_SECOND = 2_000
MEMORY_MB = 400.0
PLANNING_S = 20.0
FLAT = 1.25
"""How many times as much memory ten times the work may take and still be called flat."""

_MODELS = 20
_OPEN_SHARE = 100
"""One unit in so many is not done."""


def replay(server: Loopback, sizes: Sizes) -> Row:
    """Measure how many stored triage units are scored a second."""
    with folder(server, sizes.replayed) as at:
        server.reset()
        ours(at.run_args("--max-in-flight", "64"))
        result = ours(["score", "--store", str(at.store), "--config", str(at.path / "harness.toml")])
    rate = sizes.replayed / result["cpu_s"]
    return Row(
        "replay of stored units",
        f">= {REPLAYED_A_SECOND:,} /s",
        rate,
        "/s",
        rate >= REPLAYED_A_SECOND,
        note=f"{sizes.replayed:,} units, a second of CPU; baselines and table included",
    )  # fmt: skip


def memory(server: Loopback, sizes: Sizes) -> Row:
    """Measure the peak memory of a sweep with images, and of one a tenth of its size."""
    few, many = (_peak_mb(server, count, sizes) for count in (sizes.cases // 10, sizes.cases))
    return Row(
        f"memory, {sizes.cases:,} 1 MB images", f"<= {MEMORY_MB:g} MB, flat", many, "MB",
        many <= MEMORY_MB and many <= FLAT * few,
        note=f"{few:.0f} MB for {sizes.cases // 10:,} cases; 64 in flight; files are hard links to 20",
        facts={"tenth_mb": few},
    )  # fmt: skip


def _peak_mb(server: Loopback, count: int, sizes: Sizes) -> float:
    with folder(server, count, image_bytes=sizes.image_bytes, images=20) as at:
        server.reset()
        result = ours(at.run_args("--max-in-flight", "64", condition="both"))
        body_bytes = server.stats()["body_bytes"]
    if body_bytes < count * sizes.image_bytes:
        raise MeasurementError(f"only {body_bytes:,} bytes arrived for {count:,} images")
    return float(result["peak_mb"])


def planning(server: Loopback, sizes: Sizes) -> Row:
    """Measure planning a resume that is 99 % done: `resume --dry-run`, which finds every miss."""
    few, many = (_planned(server, units) for units in (sizes.planned_units // 10, sizes.planned_units))
    (_, few_mb), (seconds, many_mb) = few, many
    return Row(
        f"planning {sizes.planned_units:,} units", f"<= {PLANNING_S:g} s, flat", seconds, "s",
        seconds <= PLANNING_S and many_mb <= FLAT * few_mb,
        note=f"99 % done; CPU; {many_mb:.0f} MB, and {few_mb:.0f} MB for a tenth",
        facts={"peak_mb": many_mb, "tenth_peak_mb": few_mb},
    )  # fmt: skip


def _planned(server: Loopback, units: int) -> tuple[float, float]:
    """Return CPU seconds and peak MB."""
    models = [f"m{number:02d}" for number in range(_MODELS)]
    with folder(server, max(units // _MODELS, 1), models=models) as at:
        server.reset(hold=10_000)
        _register(at, server, models)
        _finish_most(at)
        config = str(at.path / "harness.toml")
        result = ours(["resume", "--dry-run", "--json", "--store", str(at.store), "--config", config])
    return float(result["cpu_s"]), float(result["peak_mb"])


def _register(at: Folder, server: Loopback, models: list[str]) -> None:
    """Let `run` store what it wants, and interrupt it at its first request."""
    command = [sys.executable, "-m", "harness", *at.run_args(models=",".join(models))]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = b""
    try:
        _wait_for_arrival(process, server)
        for _ in range(2):  # the first time to stop soon, the second to stop now
            process.send_signal(signal.SIGINT)
            time.sleep(0.2)
    finally:
        if process.poll() is None and server.stats()["arrivals"] == 0:
            process.kill()
        said = process.communicate(timeout=300)[1]
    if process.returncode != exit_codes.INTERRUPTED:
        raise MeasurementError(f"harness run was not interrupted: {said.decode(errors='replace')[-500:]}")


def _wait_for_arrival(process: subprocess.Popen[bytes], server: Loopback) -> None:
    end = time.monotonic() + TIMEOUT_S
    while not server.stats()["arrivals"] and process.poll() is None and time.monotonic() < end:
        time.sleep(0.05)


def _finish_most(at: Folder) -> None:
    """Put all units but one in a hundred into the store, each with a stored answer, past the program."""
    with sqlite3.connect(at.store) as store:
        run_id = store.execute("SELECT max(id) FROM run").fetchone()[0]
        session = store.execute("SELECT max(id) FROM session").fetchone()[0]
        for table in ("unit_exchange", "unit", "served", "exchange", "claim"):
            store.execute(f"DELETE FROM {table}")
        store.executemany(
            "INSERT INTO unit (run_id, model, condition, case_id, repeat, outcome, again_after, error) "
            "VALUES (?, ?, 'complaint', ?, 1, 'valid', 0, NULL)",
            ((run_id, model, case_id) for model, case_id, _ in _done(at)),
        )
        store.executemany(
            _EXCHANGE,
            (
                (number, session, f"{number:064x}", f"{number:064x}", model, model)
                for model, _, number in _done(at)
            ),
        )
        store.executemany(
            "INSERT INTO served (key, exchange_id) VALUES (?, ?)",
            ((f"{number:064x}", number) for _, _, number in _done(at)),
        )
    store.close()


_EXCHANGE = (
    "INSERT INTO exchange (id, session_id, key, twin, pool, purpose, attempt, repeat, provider, endpoint, "
    "model, served_model, adapter, wire_revision, status, outcome, started_at_us, total_s, maybe_billed, "
    "masked, request, headers, body) VALUES (?, ?, ?, ?, 'lab', 'answer', 1, 1, 'lab', 'lab', ?, ?, "
    "'openai', 1, 200, 'answered', 0, 1.0, 0, 0, x'789c030000000001', x'789c030000000001', "
    "x'789c030000000001')"
)


def _done(at: Folder) -> Iterator[tuple[str, str, int]]:
    """Give model, case and a running number of every unit that is done."""
    cases = len(at.images)
    for number in range(_MODELS * cases):
        if number % _OPEN_SHARE:
            yield f"m{number // cases:02d}", f"case-{number % cases:07d}", number + 1
