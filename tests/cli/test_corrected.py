"""`--data` of commands that score: corrected references reach each, and never stand for the own ones."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from scripted_replies import Arrival, Reply, chat_reply
from scripted_server import ScriptedServer
from sweep_kit import (
    Done,
    answer_text,
    case_number,
    harness,
    labels_of,
    right_answer,
    run_args,
    write_cases,
    write_config,
)

from harness import open_store

METRIC = "fine.exact_match"
CASES = 12
CORRECTED = ("c000", "c001", "c002", "c003")


def reply(arrival: Arrival) -> Reply:
    """Answer rightly as `good`; as `poor` what the corrected references say."""
    if arrival.json["model"] == "good":
        return right_answer(arrival)
    return chat_reply(answer_text(other_labels(case_number(arrival))), model="poor")


def other_labels(number: int) -> list[str]:
    return [label for label in labels_of(number + 1) if label not in labels_of(number)][:1]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a run of two models, its cases in `data`, and corrected ones."""
    folder = tmp_path_factory.mktemp("corrected")
    write_cases(folder / "data", CASES)
    with ScriptedServer(reply) as server:
        config = write_config(folder, server.url, ("good", "poor"))
        name = ("--name", "night", "--config", config)
        done = harness(*run_args(folder, *name, models="good,poor", store=folder / "store.sqlite3"))
    assert done.code == 0, done.err
    for name, changes in {
        "corrected": lambda number: {"labels": other_labels(number)} if number < 4 else {},
        "grouped": lambda number: {"group": "all"},
        "alone": lambda number: {"group": f"g{number}"},
    }.items():
        shutil.copytree(folder / "data", folder / name)
        file = folder / name / "cases.jsonl"
        lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        changed = [line | changes(number) for number, line in enumerate(lines)]
        file.write_text("".join(json.dumps(one) + "\n" for one in changed), "utf-8")
    return folder


@pytest.fixture
def store(asked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shutil.copy(asked / "store.sqlite3", tmp_path / "store.sqlite3")
    return tmp_path / "store.sqlite3"


def command(store: Path, *words: str | Path) -> Done:
    done = harness(*words, "--store", store)
    assert done.code == 0, done.err
    return done


def scored(store: Path, *words: str | Path) -> Mapping[str, Any]:
    rows = command(store, "score", "night", *words, "--json").json["rows"]
    return {row["model"]: row["as_answered"][METRIC]["value"] for row in rows if row["kind"] == "model"}


def compared(store: Path, *words: str | Path) -> Mapping[str, Any]:
    [metric] = command(store, "compare", "night", "--metric", METRIC, *words, "--json").json["metrics"]
    return {one["label"]: one["value"] for one in metric["values"]}


def reported(store: Path, *words: str | Path) -> tuple[Mapping[str, Any], str]:
    """Return the values of a report's leaderboard, and all of the report as text."""
    command(store, "report", "night", "--out", "out", *words)
    text = (store.parent / "out/report.md").read_text("utf-8")
    report = json.loads((store.parent / "out/report.json").read_text("utf-8"))
    return {name: _cell(report, name) for name in ("good", "poor")}, text


def _cell(node: Any, model: str) -> Any:
    """Return the value of a model in the first table that has the metric."""
    if isinstance(node, dict):
        if METRIC in [one["id"] for one in node.get("columns", ())]:
            return next(row["cells"][METRIC]["value"] for row in node["rows"] if row["name"] == model)
        node = list(node.values())
    if isinstance(node, list):
        return next((found for one in node if (found := _cell(one, model)) is not None), None)
    return None


OWN = {"good": 1, "poor": 0}
NOW = {"good": pytest.approx(8 / 12), "poor": pytest.approx(4 / 12)}


@pytest.mark.slow
def test_report_and_compare_show_the_numbers_of_score_with_corrected_references(
    asked: Path, store: Path
) -> None:
    data = ("--data", asked / "corrected")
    assert scored(store) == compared(store) == reported(store)[0] == OWN
    assert scored(store, *data) == NOW
    assert compared(store, *data) == NOW
    found, text = reported(store, *data)
    assert found == NOW
    assert f"References of 4 cases were corrected since: {', '.join(CORRECTED)}" in text
    assert "4 corrected since the run" in text


@pytest.mark.slow
def test_stored_scores_of_one_are_never_shown_for_the_other(asked: Path, store: Path) -> None:
    data = ("--data", asked / "corrected")
    same = ("--data", asked / "data")
    for words, expected in ((data, NOW), ((), OWN), (data, NOW), (same, OWN), ((), OWN)):
        assert compared(store, *words) == expected
        found, text = reported(store, *words)
        assert found == expected
        assert ("were corrected since" in text) == (expected is NOW)
        assert ("0 corrected since the run" in text) == (expected is OWN)


def test_scores_that_are_current_for_these_references_are_taken_as_stored(asked: Path, store: Path) -> None:
    words = ("compare", "night", "--data", asked / "corrected")
    for expected in (True, False):
        told = command(store, *words).err
        assert ("scoring run 'night' first" in told) == expected
        assert f"run 'night': corrected references are used for 4 cases: {', '.join(CORRECTED)}" in told
    assert "its stored scores use corrected references, which are not used" in command(
        store, "compare", "night"
    ).err
    assert "its stored scores use the run's own references" in command(store, *words).err
    others = command(store, "compare", "night", "--data", asked / "data").err
    assert "its stored scores use other corrected references" in others


def test_notebooks_take_corrected_references_too(asked: Path, store: Path) -> None:
    def value(data: Path | None) -> Mapping[str, Any]:
        rows = opened.metrics(data=data).to_pylist()
        return {one["model"]: one["value"] for one in rows if _is_ours(one)}

    def units(data: Path | None) -> Mapping[str, Any]:
        rows = [row for row in opened.scores(data=data).to_pylist() if row["metric"] == METRIC]
        return {name: sum(row["value"] for row in rows if row["model"] == name) / CASES for name in OWN}

    with open_store(store) as opened:
        assert value(None) == units(None) == OWN
        assert value(asked / "corrected") == units(asked / "corrected") == NOW
        assert value(None) == OWN


def _is_ours(row: Mapping[str, Any]) -> bool:
    return (row["kind"], row["reading"], row["metric"]) == ("model", "as_answered", METRIC)


def test_the_same_references_in_other_groups_are_other_scores(asked: Path, store: Path) -> None:
    for name, clusters in (("grouped", 1), ("alone", CASES), ("grouped", 1)):
        found = command(store, "compare", "night", "--data", asked / name, "--json").json
        assert found["cases"]["clusters"] == clusters


def test_a_comparison_says_that_references_were_corrected(asked: Path, store: Path) -> None:
    told = f"REFERENCES CORRECTED: those of 4 cases of run night: {', '.join(CORRECTED)}"
    found = command(store, "compare", "night", "--data", asked / "corrected", "--json").json
    assert told in found["warnings"]
    assert "REFERENCES CORRECTED" not in command(store, "compare", "night").out


def test_two_runs_whose_references_are_corrected_alike_share_these_cases(asked: Path, store: Path) -> None:
    with ScriptedServer(reply) as server:
        config = write_config(store.parent, server.url, ("poor",))
        shutil.copytree(asked / "corrected", store.parent / "data")
        name = ("--name", "day", "--config", config)
        done = harness(*run_args(store.parent, *name, models="poor", store=store))
    assert done.code == 0, done.err
    words = ("compare", "night:good", "day:poor", "--json")
    assert command(store, *words).json["cases"]["common"] == CASES - 4
    assert command(store, *words, "--data", asked / "corrected").json["cases"]["common"] == CASES


@pytest.mark.parametrize("name", ["report", "compare"])
def test_case_files_of_one_benchmark_are_not_for_runs_of_two(asked: Path, store: Path, name: str) -> None:
    done = harness(
        "run", "--benchmark", "medlay", "--models", "sim/steady", "--limit", "2", "--reformatter", "none",
        "--name", "lay", "--store", store,
    )  # fmt: skip
    assert done.code == 0, done.err
    out = ("--out", "out") if name == "report" else ()
    done = harness(name, "night", "lay", *out, "--data", asked / "data", "--store", store)
    assert (done.code, done.out) == (2, "")
    told = "has the cases of one benchmark, and these runs are of medlay and triage (night is triage; lay"
    assert told in " ".join(done.err.split())
    assert not (store.parent / "out").exists()
