"""`--shard I/N`: several sessions, on one store or on several, make each unit once."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from scripted_replies import Arrival, Behaviour, chat_reply, delayed, status_reply
from scripted_server import ScriptedServer
from sweep_kit import (
    case_number,
    finish,
    harness,
    outcomes,
    records,
    right_answer,
    run_args,
    spawn,
    write_cases,
    write_config,
)

from harness.shards import Shard


def share(index: int, count: int, cases: int) -> list[int]:
    return [number for number in range(cases) if Shard(index, count).holds(f"c{number:03}")]


def numbers(arrivals: list[Arrival]) -> list[int]:
    return sorted(case_number(arrival) for arrival in arrivals)


def digests(folder: Path) -> set[str]:
    done = harness("status", "--store", folder / "store.sqlite3", "--json")
    return {run["digest"] for run in done.json["runs"]}


def test_a_share_is_asked_and_the_run_stays_the_same(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 9)
    own, other = share(1, 2, 9), share(2, 2, 9)
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url)
        first = harness(*run_args(tmp_path, "--shard", "1/2"))
        assert first.code == 0, first.err
        assert f"shard 1/2: {len(own)} units are this one's; {len(other)} belong to other shards" in first.err
        assert f"shard 1/2: done; {len(own)} units" in first.err
        assert "to go on" not in first.err and numbers(server.arrivals) == own
        again = harness(*run_args(tmp_path, "--shard", "1/2"))
        assert again.code == 0 and "nothing is left to ask" in again.err and len(server.arrivals) == len(own)
        score = harness("score", "--store", tmp_path / "store.sqlite3", "--json").json
        (row,) = [one for one in score["rows"] if one["kind"] == "model"]
        assert row["incomplete"] and row["outcomes"] == {"valid": len(own), "not_attempted": len(other)}
        second = harness(*run_args(tmp_path, "--shard", "2/2"))
        assert second.code == 0 and numbers(server.arrivals) == list(range(9))
        assert harness(*run_args(tmp_path)).code == 0 and len(server.arrivals) == 9
    assert len(digests(tmp_path)) == 1 and outcomes(tmp_path) == {"valid": 9}
    status = harness("status", "latest", "--store", tmp_path / "store.sqlite3", "--json").json
    assert [session["shard"] for session in status["sessions"]] == ["1/2", "1/2", "2/2", None]


@pytest.mark.slow
def test_two_processes_with_both_shares_of_one_store_make_each_unit_once(tmp_path: Path) -> None:  # F25
    write_cases(tmp_path / "data", 16)
    with ScriptedServer(lambda arrival: delayed(right_answer(arrival), 0.05)) as server:
        write_config(tmp_path, server.url, ["m", "n"])
        shards = [
            spawn(*run_args(tmp_path, "--shard", f"{n}/2", models="m,n"), cwd=tmp_path) for n in (1, 2)
        ]
        ended = [finish(process) for process in shards]
        assert [done.code for done in ended] == [0, 0], ended[0].err + ended[1].err
        asked = Counter((arrival.json["model"], case_number(arrival)) for arrival in server.arrivals)
        assert asked == Counter((model, number) for model in ("m", "n") for number in range(16))
        assert harness(*run_args(tmp_path, models="m,n")).code == 0 and len(server.arrivals) == 32
    assert outcomes(tmp_path) == {"valid": 32}


@pytest.mark.slow
def test_two_stores_with_a_share_each_hold_the_units_of_one_run_once(tmp_path: Path) -> None:
    data = write_cases(tmp_path / "data", 12)
    folders = [tmp_path / "one", tmp_path / "two"]
    with ScriptedServer(right_answer) as server:
        for index, folder in enumerate(folders, start=1):
            folder.mkdir()
            (folder / "data").symlink_to(data)
            write_config(folder, server.url)
            assert harness(*run_args(folder, "--shard", f"{index}/2")).code == 0
    assert numbers(server.arrivals) == list(range(12))
    assert digests(folders[0]) == digests(folders[1])
    held = [{row["case_id"] for row in records(folder) if row["exchanges"]} for folder in folders]
    assert not held[0] & held[1] and len(held[0] | held[1]) == 12


def test_a_share_that_failed_says_how_to_go_on_with_it(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 9)
    own = share(2, 2, 9)
    ill = {own[0]}

    def script(arrival: Arrival) -> Behaviour:
        return status_reply(500) if case_number(arrival) in ill else right_answer(arrival)

    with ScriptedServer(script) as server:
        config = write_config(tmp_path, server.url, max_sends=1)
        done = harness(*run_args(tmp_path, "--shard", "2/2"))
        assert done.code == 3
        assert f"units without an answer: 1 of {len(own)} in shard 2/2; to go on: harness resume" in done.err
        assert done.err.rstrip().endswith("--shard 2/2")
        ill.clear()
        store = tmp_path / "store.sqlite3"
        resumed = harness("resume", "--config", config, "--store", store, "--shard", "2/2")
        assert resumed.code == 0, resumed.err
    assert numbers(server.arrivals) == sorted([*own, own[0]])


@pytest.mark.slow
def test_an_inserted_case_moves_no_other_to_another_share(tmp_path: Path) -> None:  # F24
    data = write_cases(tmp_path / "data", 9)
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url)
        assert harness(*run_args(tmp_path, "--shard", "1/2")).code == 0
        lines = (data / "cases.jsonl").read_text().splitlines()
        new = json.loads(lines[0]) | {"id": "new", "chief_complaint": "CASE<099> it wobbles"}
        (data / "cases.jsonl").write_text("\n".join([json.dumps(new), *lines]))
        before = len(server.arrivals)
        assert harness(*run_args(tmp_path, "--shard", "1/2")).code == 0
        assert numbers(server.arrivals[before:]) == ([99] if Shard(1, 2).holds("new") else [])
        assert harness(*run_args(tmp_path, "--shard", "2/2")).code == 0
    assert numbers(server.arrivals) == [*range(9), 99]


@pytest.mark.slow
def test_limit_and_cases_choose_first_and_the_share_is_of_what_is_left(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 9)
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url)
        assert harness(*run_args(tmp_path, "--limit", "4", "--shard", "1/2")).code == 0
        assert numbers(server.arrivals) == share(1, 2, 4)
        assert harness(*run_args(tmp_path, "--limit", "4", "--shard", "2/2")).code == 0
        assert numbers(server.arrivals) == [0, 1, 2, 3]
        before = len(server.arrivals)
        one, two = share(1, 2, 9)[-1], share(2, 2, 9)[-1]
        chosen = ("--cases", f"c{one:03},c{two:03}", "--shard", "2/2")
        assert harness(*run_args(tmp_path, *chosen)).code == 0
        assert numbers(server.arrivals[before:]) == [two]


@pytest.mark.slow
def test_again_asks_the_units_of_the_share_and_its_list_is_finished_by_the_same_command(
    tmp_path: Path,
) -> None:
    write_cases(tmp_path / "data", 9)
    own, other = share(1, 2, 9), share(2, 2, 9)
    blocked = True

    def script(arrival: Arrival) -> Behaviour:
        return chat_reply(None, finish="content_filter") if blocked else right_answer(arrival)

    with ScriptedServer(script) as server:
        write_config(tmp_path, server.url)
        assert harness(*run_args(tmp_path)).code == 0 and len(server.arrivals) == 9
        blocked = False
        assert harness(*run_args(tmp_path, "--again", "filtered", "--shard", "1/2")).code == 0
        assert numbers(server.arrivals[9:]) == own
        assert outcomes(tmp_path) == {"valid": len(own), "filtered": len(other)}
        before = len(server.arrivals)
        assert harness(*run_args(tmp_path, "--again", "filtered", "--shard", "1/2")).code == 0
        assert len(server.arrivals) == before
        assert harness(*run_args(tmp_path, "--again", "filtered", "--shard", "2/2")).code == 0
        assert numbers(server.arrivals[before:]) == other
    assert outcomes(tmp_path) == {"valid": 9}


def test_a_share_without_cases_is_done(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 1)
    (empty,) = [index for index in (1, 2) if not Shard(index, 2).holds("c000")]
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url)
        done = harness(*run_args(tmp_path, "--shard", f"{empty}/2"))
    assert done.code == 0 and "nothing is left to ask" in done.err, done.err
    assert f"shard {empty}/2: 0 units are this one's; 1 belong to other shards" in done.err
    assert server.arrivals == []


def test_a_forecast_speaks_of_the_share(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 9)
    own = len(share(1, 2, 9))
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url)
        done = harness(*run_args(tmp_path, "--shard", "1/2", "--dry-run", "--json"))
    (model,) = done.json["models"]
    assert (model["units"], model["finished"], model["to_send"]) == (own, 0, own)
    assert "belong to other shards" in done.err and server.arrivals == []
    assert done.json["shard"] == "1/2" and done.json["units_elsewhere"] == 9 - own


@pytest.mark.parametrize("command", ["run", "resume"])
def test_a_bad_share_is_refused_before_anything_is_read(tmp_path: Path, command: str) -> None:
    args = run_args(tmp_path, "--shard", "3/2") if command == "run" else ["resume", "--shard", "3/2"]
    done = harness(*args)
    assert done.code == 2 and "--shard '3/2': the shares of 2 are 1/2 to 2/2" in done.err
