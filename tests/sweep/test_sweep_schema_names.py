"""Sweeps with `--structured schema` where the provider refuses the names of labels: aliases, as transport."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from scripted_replies import Arrival, Reply, chat_reply, json_reply, status_reply
from scripted_server import ScriptedServer
from sweep_kit import Done, answer_text, case_number, harness, labels_of, records, run_args, write_cases
from wire_doubles import message

RULE = r"[a-zA-Z0-9_.-]{1,64}"
MOLAR = "Molar endodontics"


def sent_schema(arrival: Arrival) -> Mapping[str, Any]:
    body = arrival.json
    found: Mapping[str, Any] = (
        body["output_config"]["format"]["schema"]
        if "output_config" in body
        else body["response_format"]["json_schema"]["schema"]
    )
    return found


def properties(schema: Any) -> Iterator[tuple[str, Any]]:
    for name, part in (schema.get("properties") or {}).items():
        yield name, part
        yield from properties(part)


def aliases(arrival: Arrival) -> dict[str, str]:
    """Return name -> alias, by what the schema tells the model: all that a model has to go by."""
    told = ((alias, part.get("description", "")) for alias, part in properties(sent_schema(arrival)))
    return {json.loads(said.removeprefix("Stands for the key ")): alias for alias, said in told if said}


def in_aliases(text: str, arrival: Arrival) -> str:
    def renamed(value: Any) -> Any:
        table = aliases(arrival)
        return {table.get(k, k): renamed(v) for k, v in value.items()} if isinstance(value, dict) else value

    return json.dumps(renamed(json.loads(text)))


def said(text: str, arrival: Arrival) -> Reply:
    if arrival.path.endswith("/messages"):
        return json_reply(message(text))
    return chat_reply(text, model=arrival.json["model"])


def obedient(arrival: Arrival) -> Reply:
    """Answer as a provider that refuses such names, and then holds its model to the schema's keys."""
    if any(not re.fullmatch(RULE, name) for name, _ in properties(sent_schema(arrival))):
        return status_reply(400, "Property keys should match pattern")
    return said(in_aliases(answer_text(labels_of(case_number(arrival))), arrival), arrival)


def settings(folder: Path, url: str, adapter: str, rule: str | None) -> None:
    lines = [
        "[providers.lab]",
        f'adapter = "{adapter}"',
        f'base_url = "{url}/v1"',
        'endpoint = "lab"',
        *([] if rule is None else [f"schema_names = {json.dumps(rule)}"]),
        "[models.m]",
        'provider = "lab"',
        'model = "m"',
        'structured = ["json", "schema"]',
        "max_output_tokens = 4000",
        "max_sends = 1",
        "[providers.other]",
        'adapter = "openai"',
        f'base_url = "{url}/v1"',
        'endpoint = "other"',
        "[models.r]",
        'provider = "other"',
        'model = "r"',
    ]
    (folder / "harness.toml").write_text("\n".join(lines), encoding="utf-8")


def sweep(
    folder: Path,
    script: Callable[[Arrival], Reply],
    *more: str,
    adapter: str = "anthropic",
    rule: str | None = None,
    cases: int = 1,
    reformatter: str = "none",
) -> tuple[Done, ScriptedServer]:
    write_cases(folder / "data", cases)
    with ScriptedServer(script) as server:
        settings(folder, server.url, adapter, rule)
        done = harness(*run_args(folder, "--structured", "schema", *more, reformatter=reformatter))
    return done, server


def scored(folder: Path) -> tuple[str, Mapping[str, Any]]:
    done = harness("score", "latest", "--store", folder / "store.sqlite3", "--json")
    (row,) = (row for row in done.json["rows"] if row["kind"] == "model")
    return done.out, row


EITHER = pytest.mark.parametrize(
    ("adapter", "rule"), [("anthropic", None), ("openai", RULE)], ids=["anthropic", "openai"]
)


@pytest.mark.slow
@EITHER
def test_answers_in_aliases_are_valid_in_the_run_and_on_replay(
    tmp_path: Path, adapter: str, rule: str | None
) -> None:  # F8
    done, server = sweep(tmp_path, obedient, "--json", adapter=adapter, rule=rule, cases=4)
    assert done.code == 0, done.err
    assert len(server.arrivals) == 4
    assert all(MOLAR in aliases(arrival) for arrival in server.arrivals)
    written = records(tmp_path)
    assert {record["outcome"] for record in written} == {"valid"}
    for record in written:
        assert record["prediction"] == json.loads(answer_text(labels_of(int(record["case_id"][1:]))))
        text = record["exchanges"][0]["text"]  # kept as it came
        assert ("Molar_endodontics" in text, MOLAR in text) == (True, False)
    replay, row = scored(tmp_path)
    assert row["as_answered"]["fine.micro_f1"]["value"] == 1.0
    assert json.loads(replay) == json.loads(done.out)
    assert scored(tmp_path)[0] == replay
    sound = harness("store", "verify", "--store", tmp_path / "store.sqlite3")
    assert sound.code == 0, sound.out + sound.err


def test_without_a_rule_the_names_are_sent_as_they_are(tmp_path: Path) -> None:
    done, server = sweep(tmp_path, obedient, adapter="openai")
    assert done.code == 3
    assert aliases(server.arrivals[0]) == {}
    assert MOLAR in dict(properties(sent_schema(server.arrivals[0])))


def test_true_names_are_valid_too(tmp_path: Path) -> None:
    def script(arrival: Arrival) -> Reply:
        return said(answer_text(labels_of(case_number(arrival))), arrival)

    done, _ = sweep(tmp_path, script)
    assert (done.code, [record["outcome"] for record in records(tmp_path)]) == (0, ["valid"])


def test_what_is_stored_is_served_under_its_true_names(tmp_path: Path) -> None:
    sweep(tmp_path, obedient, "--name", "first")
    done, server = sweep(tmp_path, obedient, "--name", "second", "--attempts", "1")
    assert (done.code, len(server.arrivals)) == (0, 0), done.err
    assert [record["outcome"] for record in records(tmp_path, "second")] == ["valid"]


def test_a_rule_that_has_changed_makes_another_run_and_no_stored_answer_unreadable(tmp_path: Path) -> None:
    sweep(tmp_path, obedient, "--name", "first", adapter="openai", rule=RULE)
    before, row = scored(tmp_path)
    assert row["outcomes"] == {"valid": 1}
    done, server = sweep(tmp_path, obedient, "--name", "first", adapter="openai")
    assert (done.code, len(server.arrivals)) == (2, 0)  # F3
    assert "wants something else" in done.err
    sweep(tmp_path, obedient, "--name", "second", adapter="openai")
    assert scored(tmp_path)[1]["outcomes"] == {"rejected": 1}
    assert harness("score", "first", "--store", tmp_path / "store.sqlite3", "--json").out == before


def test_the_reformatter_is_given_the_true_names_and_the_next_attempt_the_aliases(tmp_path: Path) -> None:
    asked: list[str] = []

    def script(arrival: Arrival) -> Reply:
        if arrival.json["model"] == "r":
            asked.append(arrival.text)
            return chat_reply(answer_text([MOLAR]), model="r")
        asked.append(json.dumps(arrival.json["messages"][1:]))
        return said('{"triage_output": {"Endo": {"Molar_endodontics": 1}}}', arrival)

    done, _ = sweep(tmp_path, script, "--attempts", "2", "--reask", "feedback", reformatter="r")
    assert done.code == 0, done.err
    first, second, restated = asked
    assert first == "[]"
    assert "Molar_endodontics" in second
    assert '"Endo": {"Molar endodontics": 1}' in restated
    assert "Molar_endodontics" not in restated
    (record,) = records(tmp_path)
    assert (record["outcome"], record["unsupported"]) == ("reformatted", [])
    assert scored(tmp_path)[1]["outcomes"] == {"reformatted": 1}
