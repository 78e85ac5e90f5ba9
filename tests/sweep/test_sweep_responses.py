"""Whole runs in the format of OpenAI's responses, streamed and in one piece."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from scripted_replies import Arrival, Reply, Script, responses_reply, responses_stream
from scripted_server import ScriptedServer
from sweep_kit import (
    answer_text,
    case_number,
    harness,
    labels_of,
    records,
    run_args,
    write_cases,
    write_config,
)


def perfect(arrival: Arrival) -> Reply:
    text = answer_text(labels_of(case_number(arrival)))
    return responses_stream(text) if arrival.json.get("stream") else responses_reply(text)


def ask(folder: Path, server: ScriptedServer, **settings: object) -> int:
    config = write_config(folder, server.url, **settings)
    config.write_text(config.read_text().replace('adapter = "openai"', 'adapter = "openai-responses"'))
    return harness(*run_args(folder)).code


def test_a_plain_run_is_served_by_a_streamed_one_and_scores_the_same(tmp_path: Path) -> None:  # F2 F29 F49
    write_cases(tmp_path / "data", 4)
    with ScriptedServer(perfect) as server:
        assert ask(tmp_path, server, stream=True) == 0
        assert {arrival.path for arrival in server.arrivals} == {"/v1/responses"}
        assert all(one.json["stream"] is True and one.json["store"] is False for one in server.arrivals)
        streamed = harness("score", "--json", "--store", tmp_path / "store.sqlite3").json
        assert ask(tmp_path, server, stream=False) == 0
        assert len(server.arrivals) == 4
    for record in records(tmp_path):
        assert (record["outcome"], record["stage"]) == ("valid", "attempt-1")
        assert record["exchanges"][0]["usage"]["output_tokens"] == 7
    model = next(row for row in streamed["rows"] if row["kind"] == "model")
    assert model["as_answered"]["fine.exact_match"]["value"] == 1


def cut_stream(arrival: Arrival) -> Reply:
    whole = perfect(arrival)
    return replace(whole, pieces=whole.pieces[:3])


def failing_stream(arrival: Arrival) -> Reply:
    error = b'event: error\ndata: {"type":"error","code":"server_error","message":"it broke"}\n\n'
    whole = perfect(arrival)
    at_once = {**whole.headers, "retry-after": "0"}
    return replace(whole, headers=at_once, pieces=(*whole.pieces[:3], error))


@pytest.mark.parametrize(
    ("script", "max_sends", "outcome"),
    [(cut_stream, 2, "malformed_reply"), (failing_stream, 4, "unavailable")],
    ids=["cut", "error"],
)
def test_a_stream_that_breaks_serves_nothing_of_its_text(
    tmp_path: Path, script: Script, max_sends: int, outcome: str
) -> None:  # F5 F34
    write_cases(tmp_path / "data", 1)
    with ScriptedServer(script) as server:
        code = ask(tmp_path, server, stream=True, max_sends=max_sends)
        assert len(server.arrivals) == 2  # what had begun is sent once more, however many sends there are
    (record,) = records(tmp_path)
    assert (code, record["outcome"], record["prediction"]) == (3, "provider_error", None)
    assert [one["outcome"] for one in record["exchanges"]] == [outcome] * 2
    assert {one["text"] for one in record["exchanges"]} <= {None, ""}
