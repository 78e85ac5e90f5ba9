"""A sweep over the Messages API: streamed and whole, and what a stream that breaks comes to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from scripted_replies import Arrival, Reply, Script, half, json_reply, status_reply
from scripted_server import ScriptedServer
from sweep_kit import Done, answer_text, case_number, harness, labels_of, records, run_args, write_cases
from wire_doubles import message, message_events, named_events

KEY = "sk-ant-loopback-0123456789"
AT_ONCE = {"retry-after-ms": "10"}
OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


def streamed(events: Iterable[dict[str, Any]]) -> Reply:
    pieces = tuple(named_events([event]) for event in events)
    return Reply(200, {"content-type": "text/event-stream", **AT_ONCE}, pieces, declared=-1)


def right_message(arrival: Arrival) -> dict[str, Any]:
    usage = {"input_tokens": 7, "cache_read_input_tokens": 4, "output_tokens": 3}
    return message(answer_text(labels_of(case_number(arrival))), usage=usage)


def right_answer(arrival: Arrival) -> Reply:
    """Answer each case with its own labels, in the form that was asked for."""
    whole = right_message(arrival)
    return streamed(message_events(whole)) if arrival.json.get("stream") else json_reply(whole)


def sweep(
    folder: Path, script: Script, *more: str, cases: int = 1, stream: bool = True, max_sends: int = 3
) -> tuple[Done, ScriptedServer]:
    write_cases(folder / "data", cases)
    with ScriptedServer(script) as server:
        settings = [
            "[providers.lab]",
            'adapter = "anthropic"',
            f'base_url = "{server.url}/v1"',
            'endpoint = "lab"',
            'api_key_env = "LAB_KEY"',
            'limit_headers = "anthropic"',
            "[models.m]",
            'provider = "lab"',
            'model = "m"',
            "max_output_tokens = 4000",
            f"stream = {json.dumps(stream)}",
            f"max_sends = {max_sends}",
        ]
        (folder / "harness.toml").write_text("\n".join(settings), encoding="utf-8")
        done = harness(*run_args(folder, *more))
    return done, server


@pytest.fixture(autouse=True)
def the_key_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_KEY", KEY)


def meanings(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(one["outcome"], one["text"] or "") for one in record["exchanges"]]


@pytest.mark.parametrize("stream", [True, False])
def test_answers_reach_their_cases_in_both_forms(tmp_path: Path, stream: bool) -> None:  # F8 F46
    done, server = sweep(tmp_path, right_answer, "--json", cases=5, stream=stream)
    assert done.code == 0, done.err
    for arrival in server.arrivals:
        assert arrival.path == "/v1/messages"
        assert arrival.headers["x-api-key"] == KEY
        assert arrival.headers["anthropic-version"] == "2023-06-01"
        assert (arrival.json["max_tokens"], arrival.json.get("stream")) == (4000, True if stream else None)
    (row,) = (row for row in done.json["rows"] if row["kind"] == "model")
    assert row["as_answered"]["fine.micro_f1"]["value"] == 1.0
    usages = [record["exchanges"][0]["usage"] for record in records(tmp_path)]
    assert {(usage["input_tokens"], usage["cached_tokens"]) for usage in usages} == {(11, 4)}
    assert KEY.encode() not in (tmp_path / "store.sqlite3").read_bytes()


def test_what_was_streamed_serves_who_asks_without_streaming(tmp_path: Path) -> None:  # F2
    sweep(tmp_path, right_answer, "--limit", "1", cases=2)
    done, server = sweep(tmp_path, right_answer, cases=2, stream=False)
    assert (done.code, [case_number(arrival) for arrival in server.arrivals]) == (0, [1]), done.err
    assert [record["outcome"] for record in records(tmp_path)] == ["valid", "valid"]


def test_an_error_in_mid_stream_is_sent_again_and_its_text_is_nobodys(tmp_path: Path) -> None:  # F34
    def script(arrival: Arrival) -> Reply:
        if arrival.nth > 1:
            return right_answer(arrival)
        begun = message_events(right_message(arrival))[:-3]
        return streamed([*begun, OVERLOADED])

    done, server = sweep(tmp_path, script)
    (record,) = records(tmp_path)
    assert (done.code, len(server.arrivals), record["outcome"]) == (0, 2, "valid")
    assert meanings(record)[0] == ("unavailable", "")


def test_a_stream_that_always_fails_after_its_text_is_paid_for_twice_at_most(tmp_path: Path) -> None:  # F34
    def script(arrival: Arrival) -> Reply:
        return streamed([*message_events(right_message(arrival))[:-2], OVERLOADED])

    _, server = sweep(tmp_path, script)
    (record,) = records(tmp_path)
    assert (len(server.arrivals), record["outcome"], record["prediction"]) == (2, "provider_error", None)


@pytest.mark.parametrize("how", ["ends", "reset"])
def test_a_cut_stream_is_never_an_answer(tmp_path: Path, how: Any) -> None:  # F33
    def script(arrival: Arrival) -> Reply:
        events = message_events(right_message(arrival))
        return streamed(events[:-2]) if how == "ends" else half(streamed(events), 0.9, how)

    _, server = sweep(tmp_path, script, max_sends=1)
    (record,) = records(tmp_path)
    assert (len(server.arrivals), record["outcome"], record["prediction"]) == (1, "provider_error", None)
    assert meanings(record) == [("malformed_reply", "")]
    done = harness("score", "latest", "--store", tmp_path / "store.sqlite3", "--json")
    (row,) = (row for row in done.json["rows"] if row["kind"] == "model")
    assert row["outcomes"] == {"provider_error": 1}


@pytest.mark.parametrize(
    ("status", "kind", "message", "sends", "outcome"),
    [
        (400, "invalid_request_error", "Your credit balance is too low", 1, "not_attempted"),
        (400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum", 1, "not_applicable"),
        (400, "invalid_request_error", "temperature: Extra inputs are not permitted", 1, "rejected"),
        (401, "authentication_error", "invalid x-api-key", 1, "not_attempted"),
        (529, "overloaded_error", "Overloaded", 3, "provider_error"),
    ],
)
def test_every_error_is_sent_as_often_as_it_deserves(
    tmp_path: Path, status: int, kind: str, message: str, sends: int, outcome: str
) -> None:  # F20 F21 F22
    reply = status_reply(status, message, kind=kind, headers=AT_ONCE)
    _, server = sweep(tmp_path, lambda arrival: reply)
    (record,) = records(tmp_path)
    assert (len(server.arrivals), record["outcome"]) == (sends, outcome)


def test_a_rate_limit_waits_and_counts_against_nothing(tmp_path: Path) -> None:  # F28 F31
    slow = status_reply(429, "input tokens", kind="rate_limit_error", headers=AT_ONCE)

    def script(arrival: Arrival) -> Reply:
        return slow if arrival.nth < 3 else right_answer(arrival)

    done, server = sweep(tmp_path, script, max_sends=1)
    (record,) = records(tmp_path)
    assert (done.code, len(server.arrivals), record["outcome"]) == (0, 3, "valid")
    assert [kind for kind, _ in meanings(record)] == ["rate_limited", "rate_limited", "answered"]
