"""A sweep that is killed -9 again and again, and what must hold when it is done, whatever the store."""

from __future__ import annotations

import json
import random
import signal
import time
from collections import Counter
from pathlib import Path

from scripted_replies import Arrival, Behaviour, delayed
from scripted_server import ScriptedServer
from sweep_kit import (
    harness,
    records,
    right_answer,
    run_args,
    spawn,
    write_cases,
    write_config,
)

IN_FLIGHT = 16


def check_killed_sweep(folder: Path, units: int, kills: int, seed: int, store: str | None = None) -> None:
    """Kill a sweep at random moments, finish it, and compare it with one that nobody broke.

    The unbroken one is kept in a file, whatever `store` is: scores do not depend on the database.
    """
    write_cases(folder / "data", units)
    chance = random.Random(seed)

    def script(arrival: Arrival) -> Behaviour:
        return delayed(right_answer(arrival), 0.01 + 0.03 * chance.random())

    place = store or folder / "store.sqlite3"
    with ScriptedServer(script) as server:
        write_config(folder, server.url)
        _run_and_kill(folder, server, units, kills, seed, place)
        last = harness(*run_args(folder, "--max-in-flight", str(IN_FLIGHT), "--json", store=place))
        assert last.code == 0, last.err
        total = len(server.arrivals)
    rows = records(folder, store=place)
    assert len(rows) == units == len({row["case_id"] for row in rows})
    assert all(row["outcome"] == "valid" for row in rows)
    stored = [one["key"] for row in rows for one in row["exchanges"]]
    # Whatever was committed was asked once; more arrivals can only be those in flight at a kill.
    assert len(stored) == len(set(stored)) == units
    twice = Counter(json.dumps(arrival.json, sort_keys=True) for arrival in server.arrivals)
    assert max(twice.values()) <= kills + 1
    assert total - units <= IN_FLIGHT * kills
    assert harness("store", "verify", "--store", place).code == 0
    assert unbroken_score(folder) == last.out


def unbroken_score(folder: Path) -> str:
    """Return the score, as JSON, of the same cases asked in one go into a new file; moves the cases there."""
    whole = folder / "whole"
    whole.mkdir()
    (folder / "data").rename(whole / "data")
    with ScriptedServer(right_answer) as fresh:
        write_config(whole, fresh.url)
        done = harness(*run_args(whole, "--json"))
    assert done.code == 0, done.err
    return done.out


def _run_and_kill(
    folder: Path, server: ScriptedServer, units: int, kills: int, seed: int, store: str | Path
) -> None:
    chance = random.Random(seed)
    for kill in range(kills):
        process = spawn(*run_args(folder, "--max-in-flight", str(IN_FLIGHT), store=store), cwd=folder)
        before = len(server.arrivals)
        target = before + chance.randint(0, max(1, 2 * (units - before) // max(1, kills - kill)))
        while len(server.arrivals) < target and process.poll() is None:
            time.sleep(0.001)
        time.sleep(chance.random() * 0.02)
        process.send_signal(signal.SIGKILL)
        process.communicate()
