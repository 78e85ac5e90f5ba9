"""A step that is stopped, disturbed or badly answered: nothing is paid twice, nothing is lost."""

from __future__ import annotations

import json
import random
import signal
import time
from collections import Counter
from pathlib import Path

import pytest
from scripted_replies import Arrival, Behaviour, chat_reply, delayed, html_reply, rate_limited, status_reply
from scripted_server import ScriptedServer
from step_examples import (
    SECRET,
    answering,
    answering_server,
    is_judging,
    judged,
    ready_source,
    spawn_step,
    step_args,
    store_of,
    with_small_judge,
)
from sweep_kit import (
    case_number,
    finish,
    harness,
    outcomes,
    records,
    wait_until,
    write_cases,
    write_config,
)

SOON = {"retry-after-ms": "1"}
CASES = 16
IN_FLIGHT = 4

small_judge = pytest.fixture(autouse=True)(with_small_judge)
server = pytest.fixture(answering_server)


@pytest.fixture
def folder(tmp_path: Path, server: ScriptedServer) -> Path:
    """A folder with a finished run of one model, "night"."""
    write_cases(tmp_path / "data", CASES, rationale=SECRET)
    write_config(tmp_path, server.url, ["a", "j"], max_in_flight=IN_FLIGHT, max_sends=2)
    ready_source(tmp_path, CASES)
    return tmp_path


def slowly(arrival: Arrival) -> Behaviour:
    return delayed(answering(arrival), 0.1 if is_judging(arrival) else 0.0)


def n_judged(server: ScriptedServer) -> int:
    return len(judged(server.arrivals))


_UNBROKEN: list[str] = []


def unbroken(folder: Path) -> str:
    """Return the scores of the same step over the same run, asked in one go into a store of its own."""
    if not _UNBROKEN:
        whole = folder / "whole"
        whole.mkdir()
        ready_source(whole, CASES)
        with ScriptedServer(answering) as fresh:
            write_config(whole, fresh.url, ["a", "j"])
            done = harness(*step_args(whole, "--json"))
        assert done.code == 0, done.err
        _UNBROKEN.append(done.out)
    return _UNBROKEN[0]


@pytest.mark.slow
def test_ctrl_c_finishes_what_is_in_flight_and_resume_asks_the_rest(  # F47
    folder: Path, server: ScriptedServer
) -> None:
    server.script = slowly
    process = spawn_step(folder, *step_args(folder, "--name", "verdicts"))
    wait_until(lambda: n_judged(server) >= 6)
    process.send_signal(signal.SIGINT)
    done = finish(process)
    sent = n_judged(server)
    assert done.code == 130 and "to go on: harness resume verdicts" in done.err and done.out == ""
    assert sent < CASES and outcomes(folder) == {"valid": sent, "not_attempted": CASES - sent}
    server.script = answering
    done = harness("resume", "verdicts", "--json", *store_of(folder))
    assert done.code == 0, done.err
    assert n_judged(server) == CASES and outcomes(folder) == {"valid": CASES}
    usual = f"judge-of-night-{done.json['run']['digest'][:8]}"
    assert unbroken(folder) == done.out.replace('"verdicts"', f'"{usual}"')


def check_kills(folder: Path, server: ScriptedServer, kills: int, seed: int) -> None:
    chance = random.Random(seed)
    server.script = lambda arrival: (
        delayed(answering(arrival), chance.uniform(0.01, 0.05)) if is_judging(arrival) else answering(arrival)
    )
    for kill in range(kills):
        # The same command and `resume` in turn; what was never begun cannot be resumed.
        begun = kill % 2 and len(harness("status", "--json", *store_of(folder)).json["runs"]) > 1
        words = ["resume", "latest", *store_of(folder)] if begun else step_args(folder)
        process = spawn_step(folder, *words)
        before = n_judged(server)
        target = before + chance.randint(0, max(1, (CASES - before) // 2))
        while n_judged(server) < target and process.poll() is None:
            time.sleep(0.001)
        time.sleep(chance.random() * 0.02)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    last = harness(*step_args(folder, "--json"))
    assert last.code == 0, last.err
    rows = records(folder)
    stored = [one["key"] for row in rows for one in row["exchanges"]]
    assert len(rows) == CASES == len(stored) == len(set(stored)) == len({row["case_id"] for row in rows})
    assert n_judged(server) - CASES <= kills * IN_FLIGHT
    arrived = Counter(json.dumps(body, sort_keys=True) for body in judged(server.arrivals))
    assert len(arrived) == CASES and max(arrived.values()) <= kills + 1
    assert harness("store", "verify", *store_of(folder)).code == 0
    assert harness("score", "--json", *store_of(folder)).out == last.out == unbroken(folder)


@pytest.mark.slow
def test_a_step_that_is_killed_loses_only_what_was_in_flight(  # F23
    folder: Path, server: ScriptedServer
) -> None:
    check_kills(folder, server, 2, 1)


@pytest.mark.slow
def test_a_step_that_is_killed_at_twelve_moments(folder: Path, server: ScriptedServer) -> None:  # F23
    check_kills(folder, server, 12, 7)


@pytest.mark.slow
def test_two_processes_ask_each_request_of_a_step_once(folder: Path, server: ScriptedServer) -> None:  # F25
    server.script = lambda arrival: delayed(answering(arrival), 0.03 if is_judging(arrival) else 0.0)
    processes = [spawn_step(folder, *step_args(folder, "--json")) for _ in range(2)]
    first, second = (finish(process) for process in processes)
    assert (first.code, second.code) == (0, 0), (first.err, second.err)
    assert n_judged(server) == CASES and first.out == second.out


def test_shards_of_a_step_ask_each_their_share(folder: Path, server: ScriptedServer) -> None:
    done = harness(*step_args(folder, "--shard", "1/2"))
    assert done.code == 0 and "shard 1/2" in done.err, done.err
    first = n_judged(server)
    assert 0 < first < CASES
    done = harness(*step_args(folder, "--shard", "2/2", "--json"))
    assert done.code == 0 and n_judged(server) == CASES
    assert unbroken(folder) == harness("score", "--json", *store_of(folder)).out


def test_again_asks_once_more_and_keeps_the_old_judgements(folder: Path, server: ScriptedServer) -> None:
    server.script = lambda arrival: chat_reply("1") if case_number(arrival) == 3 else answering(arrival)
    assert harness(*step_args(folder, "--attempts", "1")).code == 0
    assert outcomes(folder) == {"unparsable": 1, "valid": CASES - 1}
    server.script = answering
    assert harness(*step_args(folder, "--attempts", "1")).code == 0
    assert n_judged(server) == CASES
    assert harness(*step_args(folder, "--attempts", "1", "--again", "unparsable")).code == 0
    assert n_judged(server) == CASES + 1 and outcomes(folder) == {"valid": CASES}
    (row,) = [row for row in records(folder) if row["step"]["about"]["case_id"] == "c003"]
    assert [one["used"] for one in row["exchanges"]] == [False, True]


def priced(folder: Path, server: ScriptedServer) -> None:
    write_config(folder, server.url, ["a"])
    with (folder / "harness.toml").open("a") as file:
        file.write('[models.j]\nprovider = "lab"\nmodel = "j"\nmax_in_flight = 1\n')
        file.write("params = { max_tokens = 1000 }\n")
        file.write("price = { input = 0.0, output = 1000.0 }\n")


def test_a_step_stops_at_its_limit_and_goes_on_with_another_one(folder: Path, server: ScriptedServer) -> None:
    priced(folder, server)  # 7 tokens out are 0.007 USD; 1 USD is reserved for each request
    done = harness(*step_args(folder, "--max-cost", "1.03"))
    assert done.code == 4 and "--max-cost" in done.err, done.err
    first = n_judged(server)
    assert 0 < first < CASES
    spent = harness("status", "latest", "--json", *store_of(folder)).json["spent"]["models"]
    assert [(one["model"], one["sends"]) for one in spent] == [("j", first)]
    assert spent[0]["usd"] == pytest.approx(0.007 * first) and spent[0]["usd"] <= 1.03
    assert harness("resume", *store_of(folder), "--max-cost", "5").code == 0
    assert n_judged(server) == CASES


def test_a_judge_out_of_credit_is_asked_once_and_its_step_is_left_open(  # F22
    folder: Path, server: ScriptedServer
) -> None:
    broke = status_reply(429, "You exceeded your current quota", code="insufficient_quota")
    server.script = lambda arrival: broke if is_judging(arrival) else answering(arrival)
    done = harness(*step_args(folder, "--json"))
    assert done.code == 3 and n_judged(server) == 1
    assert "harness resume judge-of-night-" in done.err
    (row,) = done.json["rows"]
    assert row["incomplete"] and row["outcomes"] == {"not_attempted": CASES}
    assert row["as_answered"]["share"] == {
        "value": None, "n": 0, "ci": None, "reason": "nothing was judged"
    }  # fmt: skip
    server.script = answering
    assert harness("resume", *store_of(folder)).code == 0 and n_judged(server) == CASES + 1


def test_a_rate_limit_beyond_patience_closes_the_judges_pool(  # F51
    folder: Path, server: ScriptedServer
) -> None:
    server.script = lambda arrival: rate_limited(7200) if is_judging(arrival) else answering(arrival)
    done = harness(*step_args(folder))
    assert done.code == 3 and n_judged(server) <= IN_FLIGHT
    assert "until" in done.err and outcomes(folder)["not_attempted"] == CASES


def test_a_storm_ends_in_errors_that_are_asked_again_and_never_in_judgements(  # F7 F14 F20
    folder: Path, server: ScriptedServer
) -> None:
    def storm(arrival: Arrival) -> Behaviour:
        if not is_judging(arrival) or case_number(arrival) == 0:
            return answering(arrival)
        return html_reply(200) if case_number(arrival) % 2 else status_reply(503, "overloaded", headers=SOON)

    server.script = storm
    done = harness(*step_args(folder, "--json", "--limit", "7"))
    assert done.code == 3, done.err
    (row,) = done.json["rows"]
    assert row["outcomes"] == {"provider_error": 6, "valid": 1} and row["incomplete"]
    share = row["as_answered"]["share"]
    assert (share["value"], share["n"]) == (0.0, 1)
    assert n_judged(server) == 1 + 6 * 2
    assert [one["prediction"] for one in records(folder) if one["outcome"] != "valid"] == [None] * 6
    server.script = answering
    assert harness("resume", *store_of(folder)).code == 0
    assert n_judged(server) == 1 + 6 * 2 + 6 and outcomes(folder) == {"valid": 7}
