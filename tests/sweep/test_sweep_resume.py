"""Run again: what is kept, what is asked anew, what it costs."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from scripted_replies import Arrival, Behaviour, chat_reply, status_reply
from scripted_server import ScriptedServer
from sweep_kit import (
    Done,
    answer_text,
    case_number,
    harness,
    labels_of,
    outcomes,
    records,
    right_answer,
    run_args,
    write_cases,
    write_config,
)

from harness.messages import Fault
from harness.outcomes import ExchangeOutcome


@pytest.mark.parametrize("form", [("--json",), ()], ids=["json", "table"])
def test_a_finished_run_needs_no_network_and_no_key_and_prints_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: tuple[str, ...]
) -> None:  # F29
    write_cases(tmp_path / "data", 4)
    monkeypatch.setenv("LAB_KEY", "a-long-secret-key")
    with ScriptedServer(right_answer) as server:
        config = write_config(tmp_path, server.url)
        config.write_text(config.read_text().replace("endpoint", 'api_key_env = "LAB_KEY"\nendpoint'))
        first = harness(*run_args(tmp_path, *form))
    assert first.code == 0 and first.out.startswith("{" if form else "triage  run "), first.err
    monkeypatch.delenv("LAB_KEY")
    monkeypatch.setattr(socket.socket, "connect", lambda *args: pytest.fail("a finished run connects"))
    again = harness(*run_args(tmp_path, *form))
    assert again.code == 0 and again.out == first.out
    assert len(server.arrivals) == 4


def test_a_missing_key_is_named_before_anything_is_sent(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 1)
    with ScriptedServer(right_answer) as server:
        config = write_config(tmp_path, server.url)
        config.write_text(config.read_text().replace("endpoint", 'api_key_env = "LAB_KEY"\nendpoint'))
        done = harness(*run_args(tmp_path))
    assert done.code == 2 and "LAB_KEY" in done.err and server.arrivals == []


@pytest.mark.parametrize("held", ["k3y-of-the-lab", "team k3y-of-the-lab", "azN5LW9mLXRoZS1sYWI6"])
def test_a_key_in_a_header_is_refused_before_anything_is_kept(  # F46
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: str
) -> None:
    """The last is how Basic authorization writes it."""
    monkeypatch.setenv("LAB_KEY", "k3y-of-the-lab")
    write_cases(tmp_path / "data", 1)
    with ScriptedServer(right_answer) as server:
        config = write_config(tmp_path, server.url)
        given = f"api_key_env = 'LAB_KEY'\nheaders = {{ x-team = 'a', x-lab = '{held}' }}\nendpoint"
        config.write_text(config.read_text().replace("endpoint", given))
        done = harness(*run_args(tmp_path))
        forecast = harness(*run_args(tmp_path, "--dry-run"))
    assert done.code == 2 and server.arrivals == []
    assert "header 'x-lab' of provider 'lab' holds an API key" in done.err and "api_key_env" in done.err
    assert forecast.code == 0 and "this would stop: header 'x-lab'" in forecast.err
    assert held not in done.err + forecast.err
    assert not (tmp_path / "store.sqlite3").exists()


@pytest.mark.parametrize("key", ["lab", "the-lab-of-others"])
def test_a_header_without_a_key_is_no_reason_to_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("LAB_KEY", key)  # a short one is a word
    write_cases(tmp_path / "data", 1)
    with ScriptedServer(right_answer) as server:
        config = write_config(tmp_path, server.url)
        given = "api_key_env = 'LAB_KEY'\nheaders = { x-lab = 'the-lab' }\nendpoint"
        config.write_text(config.read_text().replace("endpoint", given))
        assert harness(*run_args(tmp_path)).code == 0
    assert len(server.arrivals) == 1


def test_an_edited_prompt_asks_all_anew_and_keeps_the_old_answers(tmp_path: Path) -> None:  # F3
    write_cases(tmp_path / "data", 3)
    prompt = tmp_path / "prompt.txt"
    prompt.write_text("Triage this please: {chief_complaint}")
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url)
        assert harness(*run_args(tmp_path, "--prompt", prompt, "--name", "one")).code == 0
        prompt.write_text("Triage this carefully: {chief_complaint}")
        assert harness(*run_args(tmp_path, "--prompt", prompt, "--name", "two")).code == 0
        assert len(server.arrivals) == 6
        prompt.write_text("Triage this please: {chief_complaint}")
        assert harness(*run_args(tmp_path, "--prompt", prompt, "--name", "one")).code == 0
        assert len(server.arrivals) == 6
    digests = {record["prompt"]["sha256"] for run in ("one", "two") for record in records(tmp_path, run)}
    assert len(digests) == 2


def edit_case(data: Path, number: int, **changes: object) -> None:
    lines = (data / "cases.jsonl").read_text().splitlines()
    lines[number] = json.dumps(json.loads(lines[number]) | changes)
    (data / "cases.jsonl").write_text("\n".join(lines) + "\n")


def test_a_case_with_another_text_is_asked_anew_and_its_old_answer_is_kept(tmp_path: Path) -> None:  # F3
    data = write_cases(tmp_path / "data", 3)
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url)
        assert harness(*run_args(tmp_path, "--name", "one")).code == 0
        edit_case(data, 1, chief_complaint="CASE<001> my tooth hurts at night")
        assert harness(*run_args(tmp_path, "--name", "two")).code == 0
    assert ["at night" in arrival.text for arrival in server.arrivals] == [False, False, False, True]
    old, new = (
        {one["case_id"]: one["exchanges"][0]["key"] for one in records(tmp_path, run)}
        for run in ("one", "two")
    )
    assert [case_id for case_id in old if old[case_id] != new[case_id]] == ["c001"]


def test_other_labels_ask_nothing_and_change_the_scores(tmp_path: Path) -> None:  # F3
    data = write_cases(tmp_path / "data", 3)
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url)
        first = harness(*run_args(tmp_path, "--json"))
        edit_case(data, 1, labels=[])
        second = harness(*run_args(tmp_path, "--json"))
        assert (first.code, second.code, len(server.arrivals)) == (0, 0, 3)

    def exact(done: Done) -> float:
        (row,) = [row for row in done.json["rows"] if row["kind"] == "model"]
        value: float = row["as_answered"]["fine.exact_match"]["value"]
        return value

    assert (exact(first), exact(second)) == (1, pytest.approx(2 / 3))


def test_a_name_held_by_another_run_is_refused(tmp_path: Path) -> None:  # F3
    write_cases(tmp_path / "data", 2)
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url)
        assert harness(*run_args(tmp_path, "--name", "one")).code == 0
        done = harness(*run_args(tmp_path, "--name", "one", "--limit", "1"))
    assert done.code == 2 and "one" in done.err and len(server.arrivals) == 2


def test_new_bytes_at_an_old_path_are_asked_and_old_bytes_at_a_new_path_are_not(tmp_path: Path) -> None:  # F4
    data = write_cases(tmp_path / "data", 2)
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url)
        assert harness(*run_args(tmp_path)).code == 0
        (data / "images").rename(data / "pictures")
        cases = (data / "cases.jsonl").read_text().replace("images/", "pictures/")
        (data / "cases.jsonl").write_text(cases)
        moved = harness(*run_args(tmp_path))
        assert moved.code == 0 and "nothing is left to ask" in moved.err
        assert len(server.arrivals) == 2
        (data / "pictures" / "000.png").write_bytes((data / "pictures" / "001.png").read_bytes())
        assert harness(*run_args(tmp_path)).code == 0
        assert [case_number(arrival) for arrival in server.arrivals[2:]] == [0]


def test_a_case_inserted_at_the_top_is_the_only_one_sent(tmp_path: Path) -> None:  # F24
    data = write_cases(tmp_path / "data", 5)
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url)
        assert harness(*run_args(tmp_path)).code == 0
        lines = (data / "cases.jsonl").read_text().splitlines()
        new = json.loads(lines[0]) | {"id": "new", "chief_complaint": "CASE<099> it wobbles"}
        (data / "cases.jsonl").write_text("\n".join([json.dumps(new), *lines]))
        assert harness(*run_args(tmp_path)).code == 0
    assert [case_number(arrival) for arrival in server.arrivals[5:]] == [99]
    assert len(records(tmp_path)) == 6


def test_five_repeats_are_five_exchanges_and_a_rerun_sends_none(tmp_path: Path) -> None:  # F10
    write_cases(tmp_path / "data", 2)
    with ScriptedServer(lambda a: chat_reply(answer_text(reasoning=f"sample {a.number}"))) as server:
        write_config(tmp_path, server.url)
        done = harness(*run_args(tmp_path, "--repeats", "5", "--json"))
        assert done.code == 0 and len(server.arrivals) == 10
        assert harness(*run_args(tmp_path, "--repeats", "5")).code == 0
        assert len(server.arrivals) == 10
    rows = records(tmp_path)
    assert len({row["exchanges"][0]["key"] for row in rows}) == len(rows) == 10
    assert len({row["prediction"]["reasoning"] for row in rows}) == 10
    (row,) = [row for row in done.json["rows"] if row["kind"] == "model"]
    assert (row["n_cases"], row["n_units"]) == (2, 10)


def test_what_failed_for_the_providers_reasons_is_asked_again_and_nothing_else(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 6)
    ill = {1, 4}

    def script(arrival: Arrival) -> Behaviour:
        if case_number(arrival) in ill:
            return status_reply(500, headers={"retry-after-ms": "5"})
        return right_answer(arrival)

    with ScriptedServer(script) as server:
        write_config(tmp_path, server.url, max_sends=1)
        assert harness(*run_args(tmp_path)).code == 3
        assert len(server.arrivals) == 6
        ill.clear()
        done = harness(
            "resume", "latest", "--config", tmp_path / "harness.toml", "--store", tmp_path / "store.sqlite3"
        )
    assert done.code == 0, done.err
    assert sorted(case_number(arrival) for arrival in server.arrivals[6:]) == [1, 4]
    assert outcomes(tmp_path) == {"valid": 6}
    failed = [record for record in records(tmp_path) if len(record["exchanges"]) == 2]
    assert [record["case_id"] for record in failed] == ["c001", "c004"]


@pytest.mark.slow
def test_again_asks_once_more_keeps_the_old_exchanges_and_reads_the_new(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 3)
    good = False

    def script(arrival: Arrival) -> Behaviour:
        return right_answer(arrival) if good or case_number(arrival) else chat_reply("cut", finish="length")

    with ScriptedServer(script) as server:
        write_config(tmp_path, server.url)
        assert harness(*run_args(tmp_path)).code == 0
        assert outcomes(tmp_path) == {"truncated": 1, "valid": 2}
        assert len(server.arrivals) == 5
        good = True
        assert harness(*run_args(tmp_path)).code == 0
        assert len(server.arrivals) == 5, "a plain rerun must not ask what was answered"
        assert harness(*run_args(tmp_path, "--again", "truncated")).code == 0
        assert len(server.arrivals) == 6
        assert harness(*run_args(tmp_path, "--again", "truncated")).code == 0
        assert len(server.arrivals) == 6
    assert outcomes(tmp_path) == {"valid": 3}
    (again,) = [record for record in records(tmp_path) if record["case_id"] == "c000"]
    assert [one["outcome"] for one in again["exchanges"]] == ["truncated"] * 3 + ["answered"]
    assert [one["used"] for one in again["exchanges"]] == [False, False, False, True]


def test_a_second_run_with_one_more_model_pays_for_that_model_only(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 3)
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url, ["m", "n"])
        assert harness(*run_args(tmp_path, models="m")).code == 0
        assert harness(*run_args(tmp_path, models="m,n")).code == 0
    assert [arrival.json["model"] for arrival in server.arrivals[3:]] == ["n"] * 3
    cached = {record["model"]: record["exchanges"][0]["cached"] for record in records(tmp_path)}
    assert cached == {"m": True, "n": False}


def test_resume_refuses_where_the_configuration_has_changed(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 1)
    with ScriptedServer(lambda arrival: status_reply(500, headers={"retry-after-ms": "5"})) as server:
        write_config(tmp_path, server.url, max_sends=1)
        assert harness(*run_args(tmp_path)).code == 3
        config = write_config(tmp_path, server.url, max_sends=1)
        config.write_text(config.read_text() + "params = { temperature = 1 }\n")
        done = harness("resume", "--config", config, "--store", tmp_path / "store.sqlite3")
    assert done.code == 2 and "models: m" in done.err and len(server.arrivals) == 1


def test_limits_timeouts_and_concurrency_do_not_change_what_is_stored(tmp_path: Path) -> None:  # F2
    write_cases(tmp_path / "data", 3)
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url)
        assert harness(*run_args(tmp_path)).code == 0
        write_config(
            tmp_path,
            server.url,
            total_timeout_s=7,
            requests_per_minute=6000,
            max_in_flight=2,
            max_sends=1,
            max_images=3,
        )
        assert harness(*run_args(tmp_path, "--max-in-flight", "1", "--order", "model")).code == 0
    assert len(server.arrivals) == 3


def test_a_parameter_changes_the_key(tmp_path: Path) -> None:  # F1
    write_cases(tmp_path / "data", 1)
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url)
        for value in ("0", "0.5", "1"):
            assert harness(*run_args(tmp_path, "--param", f"temperature={value}")).code == 0
        assert harness(*run_args(tmp_path, "--param", "temperature=0.0")).code == 0
    assert [arrival.json["temperature"] for arrival in server.arrivals] == [0, 0.5, 1]


def test_answers_match_their_cases_at_any_concurrency_and_half_from_the_store(
    tmp_path: Path,
) -> None:  # F8 F9
    write_cases(tmp_path / "data", 120)

    def script(arrival: Arrival) -> Behaviour:
        assert arrival.text.count("CASE<") == 1
        images = json.dumps(arrival.json).count("data:image/png;base64,")
        assert images == 1 and len(arrival.json["messages"]) == 1
        return right_answer(arrival)

    with ScriptedServer(script) as server:
        write_config(tmp_path, server.url)
        assert harness(*run_args(tmp_path, "--limit", "60")).code == 0
        assert harness(*run_args(tmp_path, "--max-in-flight", "64")).code == 0
    assert len(server.arrivals) == 120
    from harness.benchmarks.triage.taxonomy import answer_of

    for record in records(tmp_path):
        wanted = json.loads(json.dumps(answer_of(labels_of(int(record["case_id"][1:])))))
        assert record["prediction"]["triage_output"] == wanted["triage_output"], record["case_id"]


def test_answers_stored_under_another_endpoint_are_told_of_before_they_are_paid_again(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 3)
    with ScriptedServer(right_answer) as server:
        config = write_config(tmp_path, server.url)
        assert harness(*run_args(tmp_path)).code == 0
        config.write_text(config.read_text().replace('endpoint = "lab"', 'endpoint = "new-lab"'))
        done = harness(*run_args(tmp_path))
        assert done.code == 0 and "'lab'" in done.err and "3 of its next 3" in done.err
        assert len(server.arrivals) == 6
        assert "answered before" not in harness(*run_args(tmp_path)).err


def test_a_stored_answer_that_is_read_as_an_error_today_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # F7
    write_cases(tmp_path / "data", 1)
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url)
        assert harness(*run_args(tmp_path, "--name", "one")).code == 0
        fault = Fault(ExchangeOutcome.UNAVAILABLE, "the gateway was overloaded")
        monkeypatch.setattr("harness.client.read_exchange", lambda exchange, provider: fault)
        assert harness(*run_args(tmp_path, "--name", "two", "--attempts", "2")).code == 0
    assert len(server.arrivals) == 2


def test_a_name_that_another_run_holds_is_refused_with_what_differs(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 2)
    with ScriptedServer(right_answer) as server:
        write_config(tmp_path, server.url)
        assert harness(*run_args(tmp_path, "--name", "mine")).code == 0
        done = harness(*run_args(tmp_path, "--name", "mine", "--param", "temperature=0.5", "--repeats", "2"))
        assert len(server.arrivals) == 2
    assert done.code == 2 and "the name 'mine' is held" in done.err
    assert "what differs: models: m, repeats)" in done.err


def test_answers_stored_under_another_model_id_are_told_of_before_they_are_paid_again(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 3)
    with ScriptedServer(right_answer) as server:
        config = write_config(tmp_path, server.url)
        assert harness(*run_args(tmp_path, "--limit", "2")).code == 0
        config.write_text(config.read_text().replace('model = "m"', 'model = "m-2"'))
        dry = harness(*run_args(tmp_path, "--dry-run"))
        assert (dry.code, len(server.arrivals)) == (0, 2)
        done = harness(*run_args(tmp_path))
    assert (done.code, len(server.arrivals)) == (0, 5)  # told of, and never taken for the same
    for said in (dry.err, done.err):
        assert "note: m: 2 of its next 3 requests were answered before, under the model id 'm'; " in said
        assert "if it is the same model, set model = 'm' under [models.m] to use those answers" in said
