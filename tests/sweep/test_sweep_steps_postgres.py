"""A step, and what people say of the same answers, in a Postgres store: the same as in a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from postgres_server import PostgresServer
from scripted_server import ScriptedServer
from step_examples import QUESTION, answering, install, judged, ready_source, step_args
from sweep_kit import harness, run_args, write_cases, write_config

IDS = ("c-1", "C-1", "c_1", "ä", "Z", "a", "10", "9")
"""Which database orders them how depends on its language, unless it is told."""


@pytest.mark.slow
def test_a_step_in_postgres_is_the_same_run_and_the_same_numbers(  # F44
    tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch)
    place = postgres.new_store()
    cases = write_cases(tmp_path / "data", len(IDS)) / "cases.jsonl"
    lines = zip(cases.read_text().splitlines(), IDS, strict=True)
    cases.write_text("".join(json.dumps(json.loads(line) | {"id": one}) + "\n" for line, one in lines))
    grade = {
        "model": "a", "condition": "both", "case_id": "ä", "rater": "ann", "question": QUESTION, "value": 1,
    }  # fmt: skip
    (tmp_path / "g.jsonl").write_text(json.dumps(grade) + "\n")
    outs = []
    with ScriptedServer(answering) as server:
        write_config(tmp_path, server.url, ["a", "j"])
        for store in (place, str(tmp_path / "store.sqlite3")):
            where = ("--config", tmp_path / "harness.toml", "--store", store)
            before = len(judged(server.arrivals))
            assert harness(*run_args(tmp_path, "--name", "night", models="a", store=store)).code == 0
            assert harness("grades", "import", "night", tmp_path / "g.jsonl", *where).code == 0
            done = harness("step", "judge", "night", "--model", "j", "--json", *where)
            assert done.code == 0, done.err
            assert len(judged(server.arrivals)) - before == len(IDS)
            outs.append(done.out)
            assert harness("store", "verify", *where).code == 0
            exported = harness("grades", "export", "night", *where).out
            assert json.loads(exported) | {"time": None} == {**grade, "repeat": 1, "time": None}
    assert outs[0] == outs[1] and json.loads(outs[0])["agreement"]["grades"] == 1


def test_a_file_with_a_step_is_joined_into_postgres_and_nothing_is_paid_again(
    tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch)
    place = postgres.new_store()
    with ScriptedServer(answering) as server:
        write_config(tmp_path, server.url, ["a", "j"])
        ready_source(tmp_path, 4)
        first = harness(*step_args(tmp_path, "--json"))
        assert first.code == 0 and len(judged(server.arrivals)) == 4
        done = harness("store", "merge", tmp_path / "store.sqlite3", "--store", place)
        assert done.code == 0, done.err
        where = ("--config", tmp_path / "harness.toml", "--store", place)
        again = harness("step", "judge", "night", "--model", "j", "--json", *where)
        assert again.out == first.out and len(judged(server.arrivals)) == 4
