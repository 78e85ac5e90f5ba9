"""What commands say and do about runs that are steps, and runs that steps follow."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from scripted_replies import chat_reply
from scripted_server import ScriptedServer
from step_examples import (
    QUESTION,
    SECRET,
    SmallJudge,
    answering,
    answering_server,
    ask_source,
    install,
    is_judging,
    ready_source,
    step_args,
    store_of,
    with_small_judge,
)
from sweep_kit import (
    case_number,
    harness,
    records,
    write_cases,
    write_config,
)

from harness.benchmarks.registry import get_benchmark

CASES = 4

small_judge = pytest.fixture(autouse=True)(with_small_judge)
server = pytest.fixture(answering_server)


@pytest.fixture
def folder(tmp_path: Path, server: ScriptedServer) -> Path:
    """A folder with cases, and settings for two models and a judge."""
    write_cases(tmp_path / "data", CASES, rationale=SECRET)
    write_config(tmp_path, server.url, ["a", "b", "j", "k"])
    return tmp_path


def test_a_step_is_no_benchmark_with_case_files(folder: Path, server: ScriptedServer) -> None:
    (folder / "old.jsonl").write_text('{"id": "c000", "response": "x"}\n')
    told = "`harness step judge RUN` makes its cases from the answers of a run of triage"
    for words in (
        ("run", "--benchmark", "triage.judge", "--models", "none-such", *store_of(folder)),
        ("run", "--benchmark", "triage.judge", "--models", "j", "--data", folder / "data", *store_of(folder)),
        ("import", folder / "old.jsonl", "--benchmark", "triage.judge", "--model", "x", *store_of(folder)),
        ("data", "check", "--benchmark", "triage.judge", "--data", folder / "data"),
        ("data", "sample", "--benchmark", "triage.judge", "--out", folder / "out"),
        ("benchmarks", "triage.judge"),
    ):
        done = harness(*words)
        assert done.code == 2 and told in done.err, (words, done.err)
    assert server.arrivals == []
    ready_source(folder, CASES)
    assert harness(*step_args(folder, "--name", "verdicts")).code == 0
    for words in (("score",), ("resume",), ("explain", "--case", "c000")):
        done = harness(*words, "verdicts", "--data", folder / "data", *store_of(folder))
        assert done.code == 2 and "has no case files" in done.err, done.err


def test_a_dry_run_of_a_step_sends_and_writes_nothing_and_its_prices_are_the_judges(
    folder: Path, server: ScriptedServer
) -> None:
    write_config(folder, server.url, ["a", "b", "k"])
    with (folder / "harness.toml").open("a") as file:
        file.write('[models.j]\nprovider = "lab"\nmodel = "j"\nparams = { max_tokens = 100 }\n')
        file.write("price = { input = 10.0, output = 20.0 }\n")
    ready_source(folder, CASES, "a,b")
    shutil.copy(folder / "store.sqlite3", folder / "before.sqlite3")
    before = len(server.arrivals)
    done = harness(*step_args(folder, "--dry-run", "--json", "--max-cost", "5"))
    assert done.code == 0, done.err
    (judge,) = done.json["models"]
    assert (judge["model"], judge["units"], judge["to_send"]) == ("j", 8, 8)
    assert judge["usd_high"] >= 8 * 100 * 20 / 1e6
    assert len(server.arrivals) == before
    runs = harness("status", "--json", *store_of(folder)).json["runs"]
    assert [run["run"] for run in runs] == ["night"]
    assert harness(*step_args(folder, "--limit", "2")).code == 0
    done = harness(*step_args(folder, "--dry-run", "--json"))
    assert done.json["models"][0]["to_send"] == 4


def test_what_people_said_of_the_same_answers_stands_beside_the_step(  # F12 F19
    folder: Path, server: ScriptedServer
) -> None:
    server.script = lambda arrival: (
        chat_reply("1") if is_judging(arrival) and case_number(arrival) == 2 else answering(arrival)
    )
    ready_source(folder, CASES, "a,b")
    first = harness(*step_args(folder, "--json", "--of", "a"))
    assert "agreement" not in first.json
    source = harness("score", "night", "--json", *store_of(folder)).json
    names = ("model", "case_id", "rater", "value", "condition", "question")
    said = ("a c001 ann 1", "a c001 bob 0", "a c002 ann 0", "b c000 ann 1")
    units = [[*words[:3], int(words[3]), "both", QUESTION] for words in map(str.split, said)]
    lines: list[dict[str, Any]] = [dict(zip(names, unit, strict=True)) for unit in units]
    file = folder / "grades.jsonl"
    both = [*lines, *(line | {"question": "else"} for line in lines)]
    file.write_text("".join(json.dumps(line) + "\n" for line in both))
    assert harness("grades", "import", "night", file, *store_of(folder)).code == 0
    name = first.json["run"]["name"]
    scored = harness("score", name, "--json", *store_of(folder))
    found = scored.json["agreement"]
    assert found["pairs"] == [
        ["a", "c001", 1, 1, {"ann": {QUESTION: 1}, "bob": {QUESTION: 0}}],
        ["a", "c002", 1, None, {"ann": {QUESTION: 0}}],  # judged, and without a usable judgement
        ["b", "c000", 1, None, {"ann": {QUESTION: 1}}],  # never judged
    ]
    assert found["grades"] == 4
    assert {**scored.json, "agreement": None} == {**first.json, "agreement": None}
    assert harness("score", name, "--json", *store_of(folder)).out == scored.out
    assert harness(*step_args(folder, "--json", "--of", "a")).out == scored.out
    whole = harness("score", "night", "--json", *store_of(folder)).json
    people = whole.pop("agreement")["between_people"]["ann and bob"]
    (far,) = whole.pop("graded")  # how far people are stands beside their agreement, which rests on it
    assert (far["task"], far["by_raters"]) == ("judge", {"2 of 2": 1, "1 of 2": 2})
    assert whole == source, "the run's own numbers do not use these grades"
    assert (people["n_graded"], people["dimensions"][QUESTION]["n"]) == (1, 1)
    file.write_text(json.dumps(lines[0] | {"value": 0}) + "\n")
    assert harness("grades", "import", "night", file, *store_of(folder)).code == 0
    newer = harness("score", name, "--json", *store_of(folder)).json["agreement"]
    assert newer["pairs"][0][4]["ann"] == {QUESTION: 0} and newer["grades"] == 4
    assert newer["grades_sha256"] != found["grades_sha256"]


def test_grades_at_the_run_of_a_judge_are_sent_to_the_run_that_was_judged(
    folder: Path, server: ScriptedServer
) -> None:
    ready_source(folder, CASES, "a,b")
    assert harness(*step_args(folder, "--name", "verdicts")).code == 0
    file = folder / "g.csv"
    file.write_text(f"model,condition,case_id,question,value\na,both,c001,{QUESTION},1\n")
    done = harness("grades", "import", "verdicts", file, "--rater", "ann", *store_of(folder))
    assert done.code == 2
    told = (
        "nothing was imported: run 'verdicts' is a step (judge), and grades of what it "
        f"looked at belong to run 'night': `harness grades import night {file}`; "
        "line 2: run 'verdicts' has no model 'a'"
    )
    assert told in done.err, done.err


def test_latest_is_the_newest_run_that_has_the_step(folder: Path, server: ScriptedServer) -> None:
    where = store_of(folder)
    pandent = ("run", "--benchmark", "pandent", "--models", "sim/steady", "--limit", "1", *where)
    assert harness(*pandent, "--conditions", "attribute:caries", "--name", "before").code == 0
    done = harness(*step_args(folder, "--dry-run", run="latest"))
    assert done.code == 2 and "no run of the store has a step 'judge'" in done.err
    ready_source(folder, CASES, "a")
    assert harness(*pandent, "--conditions", "attribute:caries", "--name", "caries").code == 0
    done = harness(*step_args(folder, "--json", run="latest"))
    assert done.code == 0 and done.json["run"]["name"].startswith("judge-of-night")
    told = "the latest run, 'caries', is of pandent, which has no step 'judge'; the latest that has"
    assert f"{told} is 'night', which is taken" in done.err
    done = harness("step", "normalise", "latest", "--model", "sim/steady", "--dry-run", *where)
    assert done.code == 2 and "'caries'" in done.err  # its answers are no reports


def test_a_missing_key_of_the_only_model_is_told_without_leaving_it_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready_source(folder, CASES, "a,b")
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    place = ("--store", folder / "store.sqlite3")
    done = harness("step", "judge", "night", "--model", "o3", *place)
    assert done.code == 2 and "not set; give it, or choose another with --model" in done.err
    run = ("run", "--benchmark", "triage", "--reformatter", "none", *place, "--models")
    assert "not set; give it, or choose another with --models" in harness(*run, "o3").err
    assert "not set; give it, or leave the model out" in harness(*run, "o3,gemini-3-flash").err


def test_the_help_of_steps_promises_no_model(folder: Path) -> None:
    for benchmark, kind in (("triage", "judge"), ("pandent", "normalise")):
        assert getattr(get_benchmark(f"{benchmark}.{kind}"), "default_model", "?") is None
        told = " ".join(harness("step", kind, "--help").out.split())
        assert "Who is asked. Needed, as no model that the papers name can be asked" in told


def test_commands_say_what_a_step_is_and_which_steps_follow_a_run(
    folder: Path, server: ScriptedServer
) -> None:
    ask_source(folder, "--conditions", "both,complaint", models="a,b")
    done = harness(*step_args(folder, "--name", "verdicts", "--json", "--conditions", "both"))
    assert done.code == 0
    where = store_of(folder)
    one = harness("status", "verdicts", *where).out
    assert "  step judge by j, of run night (" in one and "  j: valid 8" in one
    facts = harness("status", "verdicts", "--json", *where).json
    source = facts["step"].pop("source")
    assert facts["step"] == {"kind": "judge", "model": "j", "source_run": "night", "not_shown": []}
    facts = harness("status", "night", "--json", *where).json
    assert facts["steps"] == [{"run": "verdicts", "kind": "judge", "model": "j"}]
    assert facts["step"] is None and facts["digest"] == source
    assert "  step judge by j: verdicts" in harness("status", "night", *where).out
    scored = harness("score", "night", "--json", *where)
    assert "note: step judge by j over these answers: `harness score verdicts`" in scored.err
    assert "verdicts" not in scored.out
    scored = harness("score", "verdicts", "--json", *where)
    assert "note: this is a step of run 'night': `harness score night`" in scored.err
    assert scored.out == done.out and '"night"' not in scored.out
    row = next(row for row in records(folder, "verdicts") if row["step"]["about"]["case_id"] == "c001")
    assert row["step"] == {
        "kind": "judge", "source": source,
        "about": {"model": "a", "condition": "both", "case_id": "c001", "repeat": 1},
    }  # fmt: skip
    assert all(row["step"] is None for row in records(folder, "night"))


def test_explain_takes_a_case_of_the_step_or_of_the_run_that_it_follows(
    folder: Path, server: ScriptedServer
) -> None:
    ready_source(folder, CASES, "a,b")
    assert harness(*step_args(folder, "--name", "verdicts")).code == 0
    where = store_of(folder)
    whole = harness("explain", "verdicts", "--case", "b|both|c001|1", "--model", "j", *where)
    assert whole.code == 0, whole.err
    about = "step judge, about the answer of run night: case c001, condition both, model b"
    assert about in whole.out.replace("\n", " ")
    assert "as it cannot be planned here" not in whole.out
    parts = harness("explain", "verdicts", "--case", "c001", "--of", "b", *where)
    assert parts.out == whole.out
    several = harness("explain", "verdicts", "--case", "c001", *where)
    assert several.code == 2 and "'a|both|c001|1', 'b|both|c001|1'" in several.err
    assert harness("explain", "verdicts", "--case", "c009", *where).code == 2
    other = harness("explain", "night", "--case", "c001", "--model", "a", "--of", "b", *where)
    assert other.code == 2 and "leave it out" in other.err
    (folder / "harness.toml").write_text(
        (folder / "harness.toml").read_text() + "\n[models.j.params]\ntemperature = 0\n"
    )
    moved = harness("explain", "verdicts", "--case", "c001", "--of", "b", "--json", *where).json["next"]
    assert moved["asks"] and any("temperature" in told for told in moved["nearest"]["told"])


def test_stores_are_joined_verified_and_emptied_with_their_steps(
    folder: Path, server: ScriptedServer
) -> None:
    ready_source(folder, CASES, "a,b")
    first = harness(*step_args(folder, "--json"))
    name = first.json["run"]["name"]
    other = folder / "other.sqlite3"
    done = harness("store", "merge", folder / "store.sqlite3", "--store", other, "--json")
    assert done.code == 0 and done.json["runs_new"] == 2, done.err
    for command in (("verify",), ("vacuum", "--derived"), ("verify",)):
        assert harness("store", *command, "--store", other).code == 0
    assert harness("score", name, "--json", "--store", other).out == first.out
    arrived = len(server.arrivals)
    again = ["step", "judge", "night", "--model", "j", "--config", folder / "harness.toml", "--store", other]
    done = harness(*again, "--json")
    assert done.code == 0 and done.out == first.out and len(server.arrivals) == arrived
    assert harness("store", "merge", folder / "store.sqlite3", "--store", other).code == 0


def test_a_store_with_the_step_alone_scores_it_and_says_what_is_missing(
    folder: Path, server: ScriptedServer
) -> None:
    ready_source(folder, CASES)
    first = harness(*step_args(folder, "--json", "--name", "verdicts"))
    database = sqlite3.connect(folder / "store.sqlite3")
    database.execute("DELETE FROM run WHERE name = 'night'")
    database.commit()
    database.close()
    where = store_of(folder)
    scored = harness("score", "verdicts", "--json", *where)
    assert scored.out == first.out and "which is not in this store" in scored.err
    assert "which is not in this store" in harness("status", "verdicts", *where).out
    done = harness("resume", "verdicts", *where)
    assert done.code == 2 and "harness store merge" in done.err


def test_benchmarks_lists_steps_with_their_models(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = harness("benchmarks", "triage").out
    assert "judge: a small judge, for tests; give --model" in " ".join(shown.split())
    judge = SmallJudge()
    judge.default_model = "gemini-3-flash"
    install(monkeypatch, judge)
    assert "by gemini-3-flash unless --model says otherwise" in " ".join(harness("benchmarks").out.split())
    (facts,) = harness("benchmarks", "triage", "--json").json
    (step,) = [one for one in facts["steps"] if one["kind"] == "judge"]
    assert step["default_model"] == "gemini-3-flash" and step["questions"] == {QUESTION: [0, 1]}


def test_a_step_is_not_compared_and_says_at_once_what_is(folder: Path, server: ScriptedServer) -> None:
    ask_source(folder, models="a,b")
    assert harness(*step_args(folder, "--name", "verdicts")).code == 0
    where = store_of(folder)
    told = (
        "error: run 'verdicts' is a step (judge) over answers of run 'night'; what a step says of answers is "
        "not compared; compare the answers: `harness compare night`\n"
    )
    for words in ((), ("verdicts",), ("verdicts:a", "verdicts:b"), ("night", "--baseline", "verdicts:a")):
        done = harness("compare", *words, *where)
        assert (done.code, done.out) == (2, "")
        assert done.err.splitlines(keepends=True)[1:] == [told]
    done = harness("compare", "night", *where)
    assert done.code == 0, done.err
