"""`--again`: what is asked once more, and never twice for one wish."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest
from scripted_replies import Arrival, Behaviour, chat_reply, delayed, status_reply
from scripted_server import ScriptedServer
from sweep_kit import (
    case_number,
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


def mixed(arrival: Arrival) -> Behaviour:
    """Cases 0 and 1 are blocked, all others are answered."""
    return chat_reply(None, finish="content_filter") if case_number(arrival) < 2 else right_answer(arrival)


def interrupted_again(tmp_path: Path, server: ScriptedServer, before: int) -> int:
    """Start `--again valid`, and stop it after a few sends; return how many there were."""
    server.script = lambda arrival: delayed(mixed(arrival), 0.2)
    process = spawn(*run_args(tmp_path, "--again", "valid", "--max-in-flight", "1"), cwd=tmp_path)
    wait_until(lambda: len(server.arrivals) >= before + 2)
    process.send_signal(signal.SIGINT)
    assert finish(process).code == 130
    server.script = mixed
    return len(server.arrivals) - before


def test_an_interrupted_list_is_finished_and_another_outcome_is_asked_beside_it(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 12)
    with ScriptedServer(mixed) as server:
        write_config(tmp_path, server.url)
        assert harness(*run_args(tmp_path)).code == 0
        assert outcomes(tmp_path) == {"filtered": 2, "valid": 10} and len(server.arrivals) == 12
        sent = interrupted_again(tmp_path, server, before=12)
        done = harness(*run_args(tmp_path, "--again", "filtered"))
        assert done.code == 0, done.err
        again = [case_number(arrival) for arrival in server.arrivals[12 + sent :]]
        assert {0, 1} <= set(again) and len(again) == len(set(again)) == 12 - sent
    assert outcomes(tmp_path) == {"filtered": 2, "valid": 10}


def test_the_same_wish_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 12)
    with ScriptedServer(mixed) as server:
        write_config(tmp_path, server.url)
        assert harness(*run_args(tmp_path)).code == 0
        sent = interrupted_again(tmp_path, server, before=12)
        done = harness(*run_args(tmp_path, "--again", "valid"))
        assert done.code == 0 and f"finishing the earlier list of this --again: {10 - sent} units" in done.err
        assert len(server.arrivals) == 22
        assert harness(*run_args(tmp_path, "--again", "valid")).code == 0
        assert len(server.arrivals) == 32, "a finished list does not stand in the way of the next"


@pytest.mark.slow
@pytest.mark.parametrize("status", [400, 418])
def test_a_unit_that_fails_in_its_list_has_one_more_turn_and_blocks_nothing(
    tmp_path: Path, status: int
) -> None:
    write_cases(tmp_path / "data", 5)
    ill = False

    def script(arrival: Arrival) -> Behaviour:
        if ill and case_number(arrival) == 3:
            return status_reply(status, "no", headers={"retry-after-ms": "1"})
        return mixed(arrival)

    with ScriptedServer(script) as server:
        write_config(tmp_path, server.url, max_sends=1)
        assert harness(*run_args(tmp_path)).code == 0
        ill = True
        counts = [len(server.arrivals)]
        for outcome in ("valid", "valid", "filtered", "valid"):
            assert harness(*run_args(tmp_path, "--again", outcome)).code == 3
            counts.append(len(server.arrivals))
    sends = [later - sooner for sooner, later in pairwise(counts)]
    # The list; its failed unit alone; the two blocked ones and the failed unit; a new list and that unit.
    assert sends == [3, 1, 3, 3]


def test_rejected_cases_at_the_top_do_not_hold_up_a_model_that_has_answered(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 20)
    down = True

    def script(arrival: Arrival) -> Behaviour:
        number = case_number(arrival)
        if 0 < number < 8:
            return status_reply(400, "bad")
        if down and number > 11:
            return status_reply(500, "down", headers={"retry-after-ms": "1"})
        return right_answer(arrival)

    with ScriptedServer(script) as server:
        write_config(tmp_path, server.url, max_sends=1)
        assert harness(*run_args(tmp_path)).code == 3
        assert outcomes(tmp_path) == {"provider_error": 8, "rejected": 7, "valid": 5}
        down = False
        assert harness(*run_args(tmp_path)).code == 3
    assert outcomes(tmp_path) == {"rejected": 7, "valid": 13}


def test_stored_answers_serve_even_after_a_model_was_given_up(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 20)
    with ScriptedServer(lambda a: status_reply(400) if case_number(a) < 5 else right_answer(a)) as server:
        write_config(tmp_path, server.url, max_in_flight=1)
        some = ",".join(f"c{number:03}" for number in range(5, 20))
        assert harness(*run_args(tmp_path, "--cases", some)).code == 0
        assert harness(*run_args(tmp_path, "--name", "all")).code == 3
    assert outcomes(tmp_path, "all") == {"rejected": 5, "valid": 15}
    assert len(server.arrivals) == 20


def suspend_outside_a_commit(process: subprocess.Popen[str], store: Path) -> None:
    """Stop a process at a moment at which it does not hold the store's write lock."""
    for _ in range(100):
        process.send_signal(signal.SIGSTOP)
        with closing(sqlite3.connect(store, timeout=0.05, isolation_level=None)) as database:
            try:
                database.execute("BEGIN IMMEDIATE")
                database.execute("ROLLBACK")
                return
            except sqlite3.OperationalError:
                process.send_signal(signal.SIGCONT)
    raise AssertionError("the process never lets go of the store")


@pytest.mark.slow
def test_a_suspended_process_holds_up_only_what_it_asks(tmp_path: Path) -> None:  # F25 F43
    write_cases(tmp_path / "data", 150)
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url, max_in_flight=4)
        server.script = lambda arrival: delayed(right_answer(arrival), 0.05)
        first = spawn(*run_args(tmp_path), cwd=tmp_path)
        wait_until(lambda: len(server.arrivals) >= 8)
        suspend_outside_a_commit(first, tmp_path / "store.sqlite3")
        stopped_at = len(server.arrivals)
        second = spawn(*run_args(tmp_path), cwd=tmp_path)
        wait_until(lambda: len(server.arrivals) >= stopped_at + 60)
        first.send_signal(signal.SIGCONT)
        assert [finish(one).code for one in (first, second)] == [0, 0]
    assert len(server.arrivals) == 150 and outcomes(tmp_path) == {"valid": 150}


def test_units_beyond_a_limit_that_was_a_mistake_are_asked_again_on_request(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 3)
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url, inputs=["text"])
        done = harness(*run_args(tmp_path))
        assert done.code == 3 and "--again not_applicable" in done.err and server.arrivals == []
        write_config(tmp_path, server.url)
        assert harness(*run_args(tmp_path, "--again", "not_applicable")).code == 0
    assert len(server.arrivals) == 3 and outcomes(tmp_path) == {"valid": 3}
