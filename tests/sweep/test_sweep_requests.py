"""What is sent, with which parameters, and what is never written down."""

from __future__ import annotations

import json
import sqlite3
import zlib
from contextlib import closing, suppress
from pathlib import Path

import pytest
from scripted_replies import Arrival, Behaviour, chat_reply, json_reply, status_reply
from scripted_server import ScriptedServer
from sweep_kit import (
    answer_text,
    case_number,
    harness,
    records,
    right_answer,
    run_args,
    write_cases,
    write_config,
)

SECRET = "sk-test-0123456789abcdef-SECRET"


def with_key(config: Path) -> None:
    text = config.read_text(encoding="utf-8").replace("endpoint", 'api_key_env = "LAB_API_KEY"\nendpoint')
    config.write_text(text, encoding="utf-8")


def test_a_parameter_that_the_user_wrote_is_refused_where_a_model_does_not_take_it(
    tmp_path: Path,
) -> None:  # F15
    write_cases(tmp_path / "data", 1)
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url, unsupported_params=["temperature"])
        done = harness(*run_args(tmp_path, "--param", "temperature=0"))
        assert done.code == 2 and "temperature" in done.err and "--drop-unsupported" in done.err
        assert server.arrivals == []
        done = harness(*run_args(tmp_path, "--param", "temperature=0", "--drop-unsupported"))
        assert done.code == 0
    assert "temperature" not in server.arrivals[0].json
    assert records(tmp_path)[0]["dropped_params"] == ["temperature"]


def test_a_benchmarks_default_that_a_model_does_not_take_is_left_out_and_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # F15
    from harness.benchmarks.triage import benchmark

    monkeypatch.setattr(benchmark, "default_params", {"temperature": 0, "top_p": 0.5})
    write_cases(tmp_path / "data", 1)
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url, unsupported_params=["temperature"])
        done = harness(*run_args(tmp_path))
    assert done.code == 0 and "m does not take temperature: left out and recorded" in done.err
    assert "temperature" not in server.arrivals[0].json and server.arrivals[0].json["top_p"] == 0.5
    (record,) = records(tmp_path)
    assert (record["params"], record["dropped_params"]) == ({"top_p": 0.5}, ["temperature"])


def test_parameters_reach_the_wire_and_the_record(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 1)
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url)
        done = harness(
            *run_args(tmp_path, "--param", "temperature=0", "--param", "max_tokens=64", "--param", "seed=7")
        )
    assert done.code == 0
    sent = server.arrivals[0].json
    assert (sent["temperature"], sent["max_tokens"], sent["seed"]) == (0, 64, 7)
    assert records(tmp_path)[0]["params"] == {"max_tokens": 64, "seed": 7, "temperature": 0}


def test_structured_output_is_off_unless_asked_for(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 1)
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url)
        assert harness(*run_args(tmp_path)).code == 0
        assert harness(*run_args(tmp_path, "--structured", "schema")).code == 0
    assert "response_format" not in server.arrivals[0].json
    assert server.arrivals[1].json["response_format"]["type"] == "json_schema"


def test_conditions_carry_only_their_own_inputs(tmp_path: Path) -> None:  # F9
    write_cases(tmp_path / "data", 2)
    with ScriptedServer(lambda arrival: chat_reply(answer_text())) as server:
        write_config(tmp_path, server.url)
        assert harness(*run_args(tmp_path, "--conditions", "all")).code == 0
    kinds = [
        ("CASE<" in arrival.text, "image_url" in json.dumps(arrival.json)) for arrival in server.arrivals
    ]
    assert sorted(kinds) == [(False, True)] * 2 + [(True, False)] * 2 + [(True, True)] * 2
    assert all("made up" not in json.dumps(arrival.json) for arrival in server.arrivals)


def test_a_key_is_sent_and_written_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # F46
    write_cases(tmp_path / "data", 3)
    monkeypatch.setenv("LAB_API_KEY", SECRET)

    def script(arrival: Arrival) -> Behaviour:
        said = arrival.headers["authorization"]
        if arrival.number == 0:
            return status_reply(500, f"bad key {said}", headers={"retry-after-ms": "5", "x-echo": said})
        return chat_reply(answer_text(reasoning=f"you sent {SECRET}"), headers={"x-echo": said})

    with ScriptedServer(script) as server:
        config = write_config(tmp_path, server.url)
        with_key(config)
        dry = harness(*run_args(tmp_path, "--dry-run"))
        done = harness(*run_args(tmp_path, "--json"))
    assert server.arrivals[0].headers["authorization"] == f"Bearer {SECRET}"
    assert done.code == 0, done.err
    exported = harness("export", "--raw", "--store", tmp_path / "store.sqlite3")
    printed = dry.out + dry.err + done.out + done.err + exported.out + exported.err
    assert SECRET not in printed and "masked" in exported.out
    for file in tmp_path.glob("store.sqlite3*"):
        assert SECRET.encode() not in file.read_bytes()
    assert SECRET not in _all_text(tmp_path / "store.sqlite3")


def _all_text(path: Path) -> str:
    texts = []
    with closing(sqlite3.connect(path)) as database:
        tables = [row[0] for row in database.execute("select name from sqlite_master where type='table'")]
        for table in tables:
            for row in database.execute(f'select * from "{table}"'):
                for cell in row:
                    if isinstance(cell, bytes):
                        with suppress(zlib.error):
                            cell = zlib.decompress(cell)
                        cell = cell.decode("utf-8", "replace")
                    texts.append(str(cell))
    return "\n".join(texts)


def test_dry_run_sends_nothing_writes_nothing_and_names_unknown_prices(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 4)
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url)
        done = harness(*run_args(tmp_path, "--dry-run", "--json"))
        assert done.code == 0 and server.arrivals == []
        assert not (tmp_path / "store.sqlite3").exists()
        (model,) = done.json["models"]
        assert (model["units"], model["stored"], model["to_send"], model["usd_low"]) == (4, 0, 4, None)
        assert "price unknown: m" in harness(*run_args(tmp_path, "--dry-run")).out
        assert harness(*run_args(tmp_path, "--limit", "3")).code == 0
        (model,) = harness(*run_args(tmp_path, "--dry-run", "--json")).json["models"]
        assert (model["units"], model["finished"], model["stored"], model["to_send"]) == (4, 0, 3, 1)


def test_max_cost_says_how_a_missing_output_limit_is_written(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 1)
    with ScriptedServer(right_answer) as server:
        config = write_config(tmp_path, server.url)
        config.write_text(config.read_text() + "price = { input = 1.0, output = 1.0 }\n")
        done = harness(*run_args(tmp_path, "--max-cost", "1"))
        said = done.err.partition("; give ")[2].partition(" (or ")[0]
        config.write_text(config.read_text() + said.replace("..", "1000") + "\n")
        assert done.code == 2 and not server.arrivals
        assert harness(*run_args(tmp_path, "--max-cost", "1")).code == 0


def test_max_cost_stops_before_it_is_exceeded(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 20)
    with ScriptedServer(lambda a: chat_reply(answer_text(), usage=(1000, 1000))) as server:
        config = write_config(tmp_path, server.url, max_in_flight=4)
        config.write_text(
            config.read_text() + "price = { input = 1.0, output = 1.0 }\nparams = { max_tokens = 1000 }\n"
        )
        done = harness(*run_args(tmp_path, "--max-cost", "0.0125"))
        assert done.code == 4 and "--max-cost" in done.err
        assert 2 <= len(server.arrivals) <= 6
        spent = sum(record["spent_usd"] for record in records(tmp_path))
        assert spent == pytest.approx(0.002 * len(server.arrivals)) and spent <= 0.0125
        assert harness(*run_args(tmp_path)).code == 0
    assert len(server.arrivals) == 20


def test_max_cost_without_a_price_is_refused(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 1)
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url)
        done = harness(*run_args(tmp_path, "--max-cost", "5"))
    assert done.code == 2 and "price" in done.err and server.arrivals == []


def test_a_wait_longer_than_wanted_closes_the_pool_and_says_until_when(tmp_path: Path) -> None:  # F51
    write_cases(tmp_path / "data", 3)

    def script(arrival: Arrival) -> Behaviour:
        if arrival.json["model"] == "slow":
            return status_reply(429, "come back later", headers={"retry-after": "21600"})
        return right_answer(arrival)

    with ScriptedServer(script) as server:
        write_config(tmp_path, server.url, ["slow", "m"])
        done = harness(*run_args(tmp_path, models="slow,m"))
    assert done.code == 3 and "UTC" in done.err + " ".join(str(row["error"]) for row in records(tmp_path))
    by_model = {(row["model"], row["outcome"]) for row in records(tmp_path)}
    assert by_model == {("slow", "not_attempted"), ("m", "valid")}


def test_a_server_that_says_nothing_is_given_up_in_bounded_time(tmp_path: Path) -> None:  # F33
    from scripted_replies import SILENCE

    write_cases(tmp_path / "data", 1)
    with ScriptedServer(lambda arrival: SILENCE) as server:
        write_config(tmp_path, server.url, idle_timeout_s=0.2, max_sends=2)
        done = harness(*run_args(tmp_path))
    assert done.code == 3
    (record,) = records(tmp_path)
    assert record["outcome"] == "provider_error"
    assert [one["outcome"] for one in record["exchanges"]] == ["timeout"] * len(server.arrivals)
    assert len(server.arrivals) <= 2


def test_a_dry_run_of_again_forecasts_what_is_really_sent(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 3)
    with ScriptedServer(lambda arrival: chat_reply("no")) as server:
        write_config(tmp_path, server.url)
        assert harness(*run_args(tmp_path)).code == 0
        sent = len(server.arrivals)
        again = ("--again", "unparsable")
        (model,) = harness(*run_args(tmp_path, *again, "--dry-run", "--json")).json["models"]
        assert (model["stored"], model["to_send"]) == (0, 3) and len(server.arrivals) == sent
        server.script = right_answer
        assert harness(*run_args(tmp_path, *again)).code == 0
    assert len(server.arrivals) == sent + 3


def test_max_cost_for_a_model_that_is_not_asked_is_refused(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 1)
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url, ["alpha"])
        done = harness(*run_args(tmp_path, "--max-cost", "alhpa=2", models="alpha"))
    assert done.code == 2 and "alhpa" in done.err and "'alpha'" in done.err and server.arrivals == []


def test_a_dry_run_says_what_would_stop_the_real_one(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 1)
    with_key(write_config(tmp_path, "http://127.0.0.1:9"))
    done = harness(*run_args(tmp_path, "--dry-run", "--max-cost", "1"))
    assert done.code == 0 and "LAB_API_KEY" in done.err and "price" in done.err


def test_the_cause_of_a_failure_and_the_spending_are_said(tmp_path: Path) -> None:  # F43
    write_cases(tmp_path / "data", 2)

    def script(arrival: Arrival) -> Behaviour:
        if arrival.number == 0:
            return status_reply(500, "the cat sat on the cable", headers={"retry-after-ms": "5"})
        return chat_reply(answer_text(), usage=(1000, 1000))

    with ScriptedServer(script) as server:
        config = write_config(tmp_path, server.url)
        config.write_text(config.read_text() + "price = { input = 1.0, output = 2.0 }\n")
        done = harness(*run_args(tmp_path))
    assert done.code == 0 and "m: unavailable: the cat sat on the cable" in done.err
    assert "spent in this session: $0.0060" in done.err


def test_the_latest_run_is_the_one_that_was_run_last(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 2)
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url)
        assert harness(*run_args(tmp_path, "--name", "first")).code == 0
        assert harness(*run_args(tmp_path, "--name", "second", "--limit", "1")).code == 0
        assert harness(*run_args(tmp_path, "--name", "first")).code == 0
    score = harness("score", "--json", "--store", tmp_path / "store.sqlite3")
    assert score.json["run"]["name"] == "first"


def test_a_wrong_parameter_of_one_model_leaves_another_of_its_pool_alone(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 12)

    def script(arrival: Arrival) -> Behaviour:
        bad = arrival.json.get("temperature") == 9
        return status_reply(400, "temperature is too high", code="bad") if bad else right_answer(arrival)

    with ScriptedServer(script) as server:
        config = write_config(tmp_path, server.url, ["m"])
        twin = '[models.hot]\nprovider = "lab"\nmodel = "m"\nparams = { temperature = 9 }\n'
        config.write_text(config.read_text() + twin)
        done = harness(*run_args(tmp_path, models="m,hot"))
    assert done.code == 3 and "temperature is too high" in done.err
    assert sum(arrival.json.get("temperature") == 9 for arrival in server.arrivals) == 5
    ended = {(record["model"], record["outcome"]) for record in records(tmp_path)}
    assert ended == {("m", "valid"), ("hot", "rejected"), ("hot", "not_attempted")}


def test_an_again_list_with_a_failure_is_finished_before_another_is_made(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 4)
    ill: set[int] = set()

    def script(arrival: Arrival) -> Behaviour:
        if case_number(arrival) in ill:
            return status_reply(500, headers={"retry-after-ms": "5"})
        return right_answer(arrival)

    with ScriptedServer(script) as server:
        write_config(tmp_path, server.url, max_sends=1)
        assert harness(*run_args(tmp_path)).code == 0
        ill.add(2)
        assert harness(*run_args(tmp_path, "--again", "valid")).code == 3
        assert len(server.arrivals) == 8
        ill.clear()
        assert harness(*run_args(tmp_path, "--again", "valid")).code == 0
    assert len(server.arrivals) == 9


def test_a_dry_run_counts_attempts_that_are_still_to_be_made(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 3)
    with ScriptedServer(lambda arrival: chat_reply("no")) as server:
        write_config(tmp_path, server.url)
        assert harness(*run_args(tmp_path, "--attempts", "1")).code == 0
        (model,) = harness(*run_args(tmp_path, "--attempts", "2", "--dry-run", "--json")).json["models"]
        assert (model["stored"], model["to_send"]) == (0, 3)
        assert harness(*run_args(tmp_path, "--attempts", "2")).code == 0
    assert len(server.arrivals) == 6


@pytest.mark.parametrize("wait", ["1000000000000000", "1e300", "99999999999d"])
def test_an_absurd_wait_closes_the_pool_in_good_order(tmp_path: Path, wait: str) -> None:  # F51
    write_cases(tmp_path / "data", 6)

    def script(arrival: Arrival) -> Behaviour:
        headers = {"retry-after": wait, "x-ratelimit-reset-requests": wait}
        return status_reply(429, "later", headers=headers)

    with ScriptedServer(script) as server:
        write_config(tmp_path, server.url)
        done = harness(*run_args(tmp_path, "--max-wait", "1", "--max-in-flight", "2"))
    assert done.code == 3, done.err
    assert {record["outcome"] for record in records(tmp_path)} == {"not_attempted"}


def test_a_key_that_no_header_may_carry_is_refused_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_cases(tmp_path / "data", 1)
    monkeypatch.setenv("LAB_API_KEY", "sk-abc\u2026")
    with_key(write_config(tmp_path, "http://127.0.0.1:9"))
    done = harness(*run_args(tmp_path))
    assert done.code == 2 and "LAB_API_KEY" in done.err and "sk-abc" not in done.err


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--max-wait", "inf"),
        ("--max-wait", "nan"),
        ("--param", "temperature=1e400"),
        ("--param", "a=" + "[" * 5000 + "]" * 5000),
        ("--param", "messages=1"),
        ("--param", "n=3"),
        ("--name", "\ud800"),
        ("--name", " "),
        ("--max-cost", "=1"),
    ],
)
def test_a_senseless_argument_is_refused(tmp_path: Path, option: str, value: str) -> None:
    write_cases(tmp_path / "data", 1)
    write_config(tmp_path, "http://127.0.0.1:9")
    done = harness(*run_args(tmp_path, option, value))
    assert done.code == 2, done.err
    assert not (tmp_path / "store.sqlite3").exists()


@pytest.mark.parametrize("escape", ["\\u002b", "%2b", "%2B", "&#43;", "&#x2b;"])
def test_an_echoed_key_is_masked_in_any_escape(escape: str) -> None:  # F46
    from harness.providers.encoding import mask_secrets

    key = "sk-Lab/SECRET+key=9f8e"
    masked, found = mask_secrets(f"<{key.replace('+', escape)}>".encode(), [key])
    assert (masked, found) == (b"<[masked key]>", True)


@pytest.mark.parametrize("known", [True, False])
def test_a_reformatter_that_its_provider_does_not_know_stops_the_run_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    write_cases(tmp_path / "data", 1)
    monkeypatch.setenv("LAB_API_KEY", SECRET)

    def script(arrival: Arrival) -> Behaviour:
        if arrival.path != "/v1/models/fixer":
            return right_answer(arrival)
        if known:
            return json_reply({"id": "fixer", "object": "model"})
        return status_reply(404, "The model 'fixer' does not exist", code="model_not_found")

    with ScriptedServer(script) as server:
        with_key(write_config(tmp_path, server.url, ["m", "fixer"]))
        done = harness(*run_args(tmp_path, reformatter="fixer"))
        if known:
            assert done.code == 0, done.err
            assert harness(*run_args(tmp_path, reformatter="fixer")).code == 0
    if known:
        assert [arrival.path for arrival in server.arrivals] == ["/v1/models/fixer", "/v1/chat/completions"]
    else:
        assert done.code == 2 and "'fixer'" in done.err and "--reformatter none" in done.err
        assert len(server.arrivals) == 1 and not (tmp_path / "store.sqlite3").exists()


@pytest.mark.parametrize("told", ["Unknown request URL: GET {path}.", "no such url: models page of fixer"])
def test_a_gateway_without_a_page_for_models_is_asked_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: str
) -> None:
    write_cases(tmp_path / "data", 1)
    monkeypatch.setenv("LAB_API_KEY", SECRET)

    def script(arrival: Arrival) -> Behaviour:
        if arrival.path.startswith("/v1/models"):
            return status_reply(404, told.format(path=arrival.path), code="unknown_url")
        return right_answer(arrival)

    with ScriptedServer(script) as server:
        with_key(write_config(tmp_path, server.url, ["m", "fixer"]))
        assert harness(*run_args(tmp_path, reformatter="fixer")).code == 0


def test_a_servers_words_cannot_steer_the_terminal(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 1)
    with ScriptedServer(lambda arrival: status_reply(418, "red \x1b[31m alert")) as server:
        write_config(tmp_path, server.url)
        done = harness(*run_args(tmp_path))
    assert "alert" in done.err and "\x1b" not in done.err
    assert "\x1b" not in harness("status", "latest", "--store", tmp_path / "store.sqlite3").out


@pytest.mark.parametrize("word", ["not-needed", "anything", "EMPTY"])
def test_a_word_that_stands_for_no_key_changes_no_answer(word: str) -> None:
    from harness.providers.encoding import mask_secrets

    text = f"a root canal is {word} here".encode()
    assert mask_secrets(text, [word]) == (text, False)
