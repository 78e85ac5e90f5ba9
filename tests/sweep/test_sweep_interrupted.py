"""A sweep that is stopped: by Ctrl-C, by kill -9, at any moment."""

from __future__ import annotations

import io
import os
import resource
import signal
import subprocess
import time
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import pytest
from killed_sweep import check_killed_sweep
from scripted_replies import Arrival, Behaviour, chat_reply, delayed, status_reply
from scripted_server import ScriptedServer
from sweep_kit import (
    answer_text,
    case_number,
    finish,
    harness,
    outcomes,
    right_answer,
    run_args,
    spawn,
    wait_said,
    wait_until,
    write_cases,
    write_config,
)

KILLS = 20


def test_ctrl_c_finishes_what_is_in_flight_and_prints_the_way_to_go_on(tmp_path: Path) -> None:  # F47
    write_cases(tmp_path / "data", 30)
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url, max_in_flight=4)
        server.script = lambda arrival: delayed(right_answer(arrival), 0.3)
        process = spawn(*run_args(tmp_path), cwd=tmp_path)
        wait_until(lambda: len(server.arrivals) >= 6)
        process.send_signal(signal.SIGINT)
        done = finish(process)
        sent = len(server.arrivals)
        assert done.code == 130 and "harness resume" in done.err and done.out == ""
        assert sent < 30 and outcomes(tmp_path) == {"valid": sent, "not_attempted": 30 - sent}
        server.script = right_answer
        assert harness(*run_args(tmp_path)).code == 0
    assert len(server.arrivals) == 30


def test_a_second_ctrl_c_stops_at_once_and_the_store_stays_sound(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 8)
    with ScriptedServer(right_answer) as server:
        server.hold()
        write_config(tmp_path, server.url, max_in_flight=2)
        process = spawn(*run_args(tmp_path), cwd=tmp_path)
        wait_until(lambda: len(server.arrivals) >= 1)
        process.send_signal(signal.SIGINT)
        wait_said(process, "interrupted:")
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        done = finish(process)
        assert done.code == 130 and time.monotonic() - began < 10
        cut_off = len(server.arrivals)
        assert f"note: {cut_off} request{'s were' if cut_off > 1 else ' was'} cut off in flight" in done.err
        where = ("--store", tmp_path / "store.sqlite3")
        (run,) = harness("status", "--json", *where).json["runs"]
        assert run["sessions"][0]["cut_off"] == cut_off
        assert "nothing is stored" in harness("explain", "--case", "c000", *where).out
        server.release()
        assert harness("store", "verify", "--store", tmp_path / "store.sqlite3").code == 0
        assert harness(*run_args(tmp_path)).code == 0
    assert outcomes(tmp_path) == {"valid": 8}


@pytest.mark.slow
def test_sigterm_is_taken_like_ctrl_c(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 10)
    with ScriptedServer(lambda arrival: delayed(right_answer(arrival), 0.3)) as server:
        write_config(tmp_path, server.url, max_in_flight=1)
        process = spawn(*run_args(tmp_path), cwd=tmp_path)
        wait_until(lambda: len(server.arrivals) >= 2)
        process.send_signal(signal.SIGTERM)
        assert finish(process).code == 130


@pytest.mark.slow
def test_kill_9_loses_only_what_was_in_flight(tmp_path: Path) -> None:  # F23
    check_killed_sweep(tmp_path, units=60, kills=3, seed=1)


@pytest.mark.slow
def test_kill_9_at_twenty_random_moments_of_500_units(tmp_path: Path) -> None:  # F23
    check_killed_sweep(tmp_path, units=500, kills=KILLS, seed=7)


def start_two(tmp_path: Path) -> list[subprocess.Popen[Any]]:
    return [spawn(*run_args(tmp_path, "--json"), cwd=tmp_path) for _ in range(2)]


def test_two_processes_on_one_store_ask_each_request_once(tmp_path: Path) -> None:  # F25
    write_cases(tmp_path / "data", 16)
    with ScriptedServer(lambda arrival: delayed(right_answer(arrival), 0.05)) as server:
        write_config(tmp_path, server.url)
        results = [finish(process) for process in start_two(tmp_path)]
        assert [done.code for done in results] == [0, 0], [done.err for done in results]
        assert len(server.arrivals) == 16
    assert results[0].out == results[1].out
    assert outcomes(tmp_path) == {"valid": 16}


def test_status_tells_how_a_run_stands_and_why(tmp_path: Path) -> None:  # F43
    write_cases(tmp_path / "data", 4)

    def script(arrival: Arrival) -> Behaviour:
        return status_reply(400, "no such thing") if case_number(arrival) == 2 else right_answer(arrival)

    with ScriptedServer(script) as server:
        write_config(tmp_path, server.url)
        assert harness(*run_args(tmp_path, "--name", "one")).code == 3
    store = tmp_path / "store.sqlite3"
    (run,) = harness("status", "--json", "--store", store).json["runs"]
    assert (run["run"], run["done"], run["units"], run["sessions"][0]["exit"]) == ("one", 3, 4, 3)
    (model,) = harness("status", "one", "--json", "--store", store).json["models"]
    assert model["outcomes"] == {"rejected": 1, "valid": 3}
    assert model["reasons"] == [{"reason": "bad_request: no such thing", "units": 1}]
    assert "1 x bad_request: no such thing" in harness("status", "one", "--store", store).out


def test_a_pipe_is_told_of_waits_and_retries_and_their_reasons(tmp_path: Path) -> None:  # F43
    from harness.budget import Budget, MaxCost
    from harness.cli.progress import Progress
    from harness.messages import Fault
    from harness.outcomes import ExchangeOutcome
    from harness.pools.limits import PoolLimits
    from harness.pools.pool import Pool

    pool = Pool("p", PoolLimits())
    pool.report(Fault(ExchangeOutcome.RATE_LIMITED, "slow down", wait_s=42.0))
    err = io.StringIO()
    with redirect_stderr(err), Progress({"m": 10}, terminal=False) as progress:
        progress.say_lines({"m": pool.status()}, Budget(MaxCost()))
    assert "0/10" in err.getvalue() and "waiting 42 s (rate limited)" in err.getvalue()
    assert "1 rate_limited" in err.getvalue()


def test_a_store_that_is_deleted_while_in_use_ends_the_run(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 40)

    def script(arrival: Arrival) -> Behaviour:
        if arrival.number == 10:
            for file in tmp_path.glob("store.sqlite3*"):
                file.unlink()
        return right_answer(arrival)

    with ScriptedServer(script) as server:
        write_config(tmp_path, server.url, max_in_flight=2)
        done = harness(*run_args(tmp_path))
    assert done.code == 1 and "deleted, moved or replaced" in done.err
    assert len(server.arrivals) < 20


def test_a_case_whose_image_changes_during_the_run_is_left_for_later(tmp_path: Path) -> None:  # F14
    data = write_cases(tmp_path / "data", 4)

    def script(arrival: Arrival) -> Behaviour:
        if arrival.json["model"] == "a" and case_number(arrival) == 3:
            (data / "images" / "001.png").write_bytes((data / "images" / "000.png").read_bytes())
        return right_answer(arrival)

    with ScriptedServer(script) as server:
        write_config(tmp_path, server.url, ["a", "b"], max_in_flight=1)
        done = harness(*run_args(tmp_path, "--order", "model", "--json", models="a,b"))
    assert done.code == 3
    rows = {row["model"]: row for row in done.json["rows"] if row["kind"] == "model"}
    assert rows["a"]["outcomes"] == {"valid": 4} and rows["a"]["n_cases"] == 4
    assert rows["b"]["outcomes"] == {"provider_error": 1, "valid": 3} and rows["b"]["incomplete"]


def test_a_disk_that_fills_up_ends_the_run_with_the_mend_and_loses_nothing(tmp_path: Path) -> None:  # F23
    write_cases(tmp_path / "data", 60)
    with ScriptedServer(lambda arrival: chat_reply(answer_text(reasoning=os.urandom(6000).hex()))) as server:
        write_config(tmp_path, server.url, max_in_flight=4)

        def small_disk() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))

        process = spawn(*run_args(tmp_path), cwd=tmp_path, before=small_disk)
        done = finish(process)
        assert done.code == 1, done.err
        errors = [line for line in done.err.splitlines() if line.startswith("error")]
        assert len(errors) == 1 and "store.sqlite3" in errors[0] and "run the same command again" in errors[0]
        assert "Traceback" not in done.err
        sent = len(server.arrivals)
        assert 4 < sent < 60
        assert harness(*run_args(tmp_path)).code == 0
    assert len(server.arrivals) - 60 <= 4
    assert outcomes(tmp_path) == {"valid": 60}
    assert harness("store", "verify", "--store", tmp_path / "store.sqlite3").code == 0


def test_no_store_is_made_over_what_a_moved_one_left_behind(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 30)

    def script(arrival: Arrival) -> Behaviour:
        if arrival.number == 10:
            (tmp_path / "store.sqlite3").rename(tmp_path / "moved.sqlite3")
        return right_answer(arrival)

    with ScriptedServer(script) as server:
        write_config(tmp_path, server.url, max_in_flight=2)
        process = spawn(*run_args(tmp_path), cwd=tmp_path)
        assert finish(process).code == 1
        sent = len(server.arrivals)
        server.script = right_answer
        left = tmp_path / "store.sqlite3-wal"
        if left.exists() and left.stat().st_size:
            done = harness(*run_args(tmp_path))
            assert done.code == 1 and "store.sqlite3-wal" in done.err and len(server.arrivals) == sent
        (tmp_path / "moved.sqlite3").rename(tmp_path / "store.sqlite3")
        assert harness(*run_args(tmp_path)).code == 0
    assert len(server.arrivals) <= 30 + 3 and outcomes(tmp_path) == {"valid": 30}
