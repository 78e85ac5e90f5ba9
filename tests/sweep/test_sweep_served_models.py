"""Another model answers than was asked: the run, its status and its scores say so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scripted_replies import Arrival, Behaviour, chat_reply
from scripted_server import ScriptedServer
from sweep_kit import answer_text, case_number, harness, labels_of, run_args, write_cases, write_config

OTHER = "gpt-3.5-turbo-0125"


def answering(served: Any) -> Any:
    """Return a script that answers rightly, under the name that `served(arrival)` gives."""

    def script(arrival: Arrival) -> Behaviour:
        return chat_reply(answer_text(labels_of(case_number(arrival))), model=served(arrival))

    return script


def swept(folder: Path, served: Any, *more: str, models: str = "m,good") -> tuple[Any, Any, Any]:
    """Return what a run, its score as JSON and its status as JSON came to."""
    write_cases(folder / "data", 3)
    with ScriptedServer(answering(served)) as server:
        write_config(folder, server.url, models.split(","))
        done = harness(*run_args(folder, *more, models=models))
    place = ("latest", "--json", "--store", folder / "store.sqlite3")
    return done, harness("score", *place), harness("status", *place)


def of_model(found: Any, name: str) -> Any:
    rows = found.json["rows"] if "rows" in found.json else found.json["models"]
    [row] = [one for one in rows if one["model"] == name]
    return row["served_as"]


def test_a_replaced_model_is_named_by_run_score_and_status(tmp_path: Path) -> None:
    def served(arrival: Arrival) -> str:
        return OTHER if arrival.json["model"] == "m" else f"lab/{arrival.json['model']}-2025-04-16"

    done, score, status = swept(tmp_path, served)
    note = f"m: 3 of 3 answers came from '{OTHER}'"
    assert done.code == 0
    assert [line for line in done.err.splitlines() if "came from" in line] == [f"warning: {note}"]
    assert done.out.count(note) == 1 and "good: " not in done.err.split("warning: ")[1]
    found = {"asked": "m", "model": OTHER, "answers": 3, "as_asked": False, "dated": False}
    assert of_model(score, "m") == of_model(status, "m") == [found]
    assert of_model(score, "good") == of_model(status, "good") == [
        {"asked": "good", "model": "lab/good-2025-04-16", "answers": 3, "as_asked": True, "dated": True}
    ]
    assert of_model(score, "nothing") == []
    place = ("latest", "--store", tmp_path / "store.sqlite3")
    assert f"  {note}\n" in harness("status", *place).out
    assert f"  {note}\n" in harness("score", *place).out
    assert [row["rank"] for row in score.json["rows"] if row["kind"] == "model"] == [1, 1]
    assert harness("score", *place, "--json").out == score.out


def test_mixed_answers_are_counted_and_a_resumed_run_warns_again(tmp_path: Path) -> None:
    def served(arrival: Arrival) -> str:
        return OTHER if case_number(arrival) == 1 else "m"

    done, score, status = swept(tmp_path, served, models="m")
    assert f"warning: m: 1 of 3 answers came from '{OTHER}'\n" in done.err
    assert of_model(score, "m") == of_model(status, "m")
    assert [(one["model"], one["answers"]) for one in of_model(score, "m")] == [("m", 2), (OTHER, 1)]
    resumed = harness(
        "resume", "latest", "--config", tmp_path / "harness.toml", "--store", tmp_path / "store.sqlite3"
    )
    assert f"warning: m: 1 of 3 answers came from '{OTHER}'\n" in resumed.err


def test_answers_of_an_earlier_round_are_not_counted(tmp_path: Path) -> None:
    swept(tmp_path, lambda arrival: OTHER, models="m")
    done, score, status = swept(tmp_path, lambda arrival: "m", "--again", "valid", models="m")
    assert done.code == 0 and "came from" not in done.err + done.out
    assert of_model(score, "m") == of_model(status, "m")
    assert [(one["model"], one["answers"]) for one in of_model(score, "m")] == [("m", 3)]


def test_a_replaced_reformatter_is_named_too(tmp_path: Path) -> None:
    write_cases(tmp_path / "data", 2)

    def script(arrival: Arrival) -> Behaviour:
        if arrival.json["model"] == "fixer":
            return chat_reply(answer_text(), model=OTHER)
        return chat_reply("no answer", model="m")

    with ScriptedServer(script) as server:
        write_config(tmp_path, server.url, ["m", "fixer"])
        done = harness(*run_args(tmp_path, reformatter="fixer"))
    place = ("latest", "--json", "--store", tmp_path / "store.sqlite3")
    score, status = harness("score", *place), harness("status", *place)
    assert f"warning: fixer: 2 of 2 answers came from '{OTHER}'\n" in done.err
    assert "m: " not in done.err.split("warning: ")[1]
    assert of_model(score, "m") == of_model(status, "m")
    assert [(one["asked"], one["answers"]) for one in of_model(score, "m")] == [("m", 6), ("fixer", 2)]


def test_an_interrupted_run_warns_from_what_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from harness import exit_codes
    from harness.cli import run_command
    from harness.cli.session_work import Ended

    work_on = run_command.work_on

    async def interrupted(*args: Any) -> Ended:
        await work_on(*args)
        return Ended(exit_codes.INTERRUPTED)

    monkeypatch.setattr(run_command, "work_on", interrupted)
    done, _, _ = swept(tmp_path, lambda arrival: OTHER, models="m")
    assert done.code == exit_codes.INTERRUPTED and done.out == ""
    assert f"warning: m: 3 of 3 answers came from '{OTHER}'\n" in done.err


def test_simulated_models_have_none(tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite3"
    done = harness(
        "run", "--benchmark", "triage", "--models", "sim/careful", "--limit", "2", "--reformatter", "none",
        "--store", store, "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "came from" not in done.err
    status = harness("status", "latest", "--json", "--store", store)
    assert of_model(done, "sim/careful") == of_model(status, "sim/careful") == []
