"""Sweeps into a Postgres store: killed, shared, and with a server that goes away."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from killed_sweep import check_killed_sweep, unbroken_score
from postgres_server import PostgresServer, schema_of
from scripted_replies import delayed
from scripted_server import ScriptedServer
from sweep_kit import (
    finish,
    harness,
    outcomes,
    right_answer,
    run_args,
    spawn,
    wait_until,
    write_cases,
    write_config,
)

KILLS = 20
IN_FLIGHT = 4


@pytest.fixture
def place(postgres: PostgresServer) -> str:
    """The URL of a store that does not exist yet."""
    return postgres.new_store()


@pytest.mark.slow
def test_kill_9_loses_only_what_was_in_flight(tmp_path: Path, place: str) -> None:  # F23
    check_killed_sweep(tmp_path, units=40, kills=2, seed=1, store=place)


@pytest.mark.slow
def test_kill_9_at_twenty_random_moments_of_500_units(tmp_path: Path, place: str) -> None:  # F23
    check_killed_sweep(tmp_path, units=500, kills=KILLS, seed=7, store=place)


@pytest.mark.slow
def test_a_server_that_crashes_in_the_middle_of_a_sweep_costs_nothing(
    tmp_path: Path, postgres: PostgresServer, place: str
) -> None:  # F23
    if not postgres.owned:
        pytest.skip("only a server of our own is restarted")
    write_cases(tmp_path / "data", 120)
    with ScriptedServer(lambda arrival: delayed(right_answer(arrival), 0.02)) as server:
        write_config(tmp_path, server.url)
        args = run_args(tmp_path, "--max-in-flight", str(IN_FLIGHT), "--json", store=place)
        process = spawn(*args, cwd=tmp_path)
        wait_until(lambda: len(server.arrivals) >= 30)
        postgres.restart("immediate")
        wait_until(lambda: len(server.arrivals) >= 60)
        postgres.restart("fast")
        done = finish(process)
        assert done.code == 0, done.err
        assert len(server.arrivals) == 120
    assert harness("store", "verify", "--store", place).code == 0
    assert unbroken_score(tmp_path) == done.out


@pytest.mark.slow
def test_a_server_that_stays_away_ends_the_sweep_and_resuming_completes_it(
    tmp_path: Path, postgres: PostgresServer, place: str
) -> None:  # F23
    if not postgres.owned:
        pytest.skip("only a server of our own is stopped")
    write_cases(tmp_path / "data", 60)
    with ScriptedServer(lambda arrival: delayed(right_answer(arrival), 0.02)) as server:
        write_config(tmp_path, server.url)
        args = run_args(tmp_path, "--max-in-flight", str(IN_FLIGHT), store=place)
        process = spawn_impatient(args, tmp_path)
        wait_until(lambda: len(server.arrivals) >= 10)
        postgres.stop("immediate")
        try:
            began = time.monotonic()
            done = finish(process)
            assert time.monotonic() - began < 30
        finally:
            postgres.start()
        errors = [line for line in done.err.splitlines() if line.startswith("error")]
        assert done.code == 1 and len(errors) == 1, done.err
        assert "run the same command again" in errors[0] and "Traceback" not in done.err
        stopped_at = len(server.arrivals)
        assert stopped_at < 60
        assert harness(*args).code == 0
    assert len(server.arrivals) - 60 <= IN_FLIGHT
    assert outcomes(tmp_path, store=place) == {"valid": 60}
    assert harness("store", "verify", "--store", place).code == 0


def spawn_impatient(args: Sequence[str | Path], folder: Path) -> subprocess.Popen[str]:
    """Start a command that waits a second, and not half a minute, for a server that was lost."""
    code = (
        "from harness.cache import reconnection; from harness.cli.main import main; "
        "reconnection.RECONNECT_S = 1.0; main()"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, args)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_two_processes_on_one_store_ask_each_request_once(tmp_path: Path, place: str) -> None:  # F25
    write_cases(tmp_path / "data", 40)
    with ScriptedServer(lambda arrival: delayed(right_answer(arrival), 0.05)) as server:
        write_config(tmp_path, server.url)
        args = run_args(tmp_path, "--json", store=place)
        results = [finish(process) for process in [spawn(*args, cwd=tmp_path) for _ in range(2)]]
        assert [done.code for done in results] == [0, 0], [done.err for done in results]
        assert len(server.arrivals) == 40
    assert results[0].out == results[1].out
    assert outcomes(tmp_path, store=place) == {"valid": 40}


@pytest.mark.slow
def test_two_processes_on_two_stores_of_one_server_under_load(
    tmp_path: Path, postgres: PostgresServer
) -> None:  # F44
    places = [postgres.new_store(), postgres.new_store()]
    write_cases(tmp_path / "data", 600)
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url, max_in_flight=64)
        processes = [spawn(*run_args(tmp_path, "--json", store=place), cwd=tmp_path) for place in places]
        results = [finish(process, 240) for process in processes]
        assert [done.code for done in results] == [0, 0], [done.err for done in results]
        # Each store pays for itself: one knows nothing of the other.
        assert len(server.arrivals) == 1_200
    assert results[0].out == results[1].out
    for place in places:
        assert outcomes(tmp_path, store=place) == {"valid": 600}
        assert harness("store", "verify", "--store", place).code == 0


@pytest.mark.slow
def test_a_password_is_printed_nowhere_and_stored_nowhere(
    tmp_path: Path, postgres: PostgresServer, place: str
) -> None:  # F46
    if not postgres.owned:
        pytest.skip("only a server of our own takes any password")
    secret = "hush%40hush-hush"
    url = place.replace("postgresql:///", f"postgresql://tester:{secret}@/").replace("user=tester&", "")
    write_cases(tmp_path / "data", 2)
    with ScriptedServer(lambda arrival: delayed(right_answer(arrival), 0.0)) as server:
        write_config(tmp_path, server.url)
        shown = [harness(*run_args(tmp_path, "--dry-run", store=url))]
        shown.append(harness(*run_args(tmp_path, store=url)))
        shown += [harness("store", name, "--store", url) for name in ("path", "stats", "verify")]
        shown += [harness(name, "--store", url) for name in ("status", "score", "export")]
    assert [done.code for done in shown] == [0] * len(shown), [done.err for done in shown]
    dump = postgres.run(
        f"SELECT database_to_xml(true, false, '')::text WHERE '{schema_of(place)}' <> ''"
    )
    said = "".join(done.out + done.err for done in shown) + str(dump)
    assert "hush" not in said
    assert f"schema={schema_of(place)}" in said
