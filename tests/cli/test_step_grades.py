"""Grades beside a step: only where people and step saw one and the same answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from scripted_replies import Arrival, Reply, chat_reply
from scripted_server import ScriptedServer
from step_examples import (
    QUESTION,
    SECRET,
    answering,
    answering_server,
    ask_source,
    is_judging,
    step_args,
    store_of,
    with_small_judge,
)
from sweep_kit import answer_text, case_number, harness, labels_of, write_cases, write_config

CASES = 3

small_judge = pytest.fixture(autouse=True)(with_small_judge)
server = pytest.fixture(answering_server)


@pytest.fixture
def folder(tmp_path: Path, server: ScriptedServer) -> Path:
    write_cases(tmp_path / "data", CASES, rationale=SECRET)
    write_config(tmp_path, server.url, ["a", "j"])
    ask_source(tmp_path)
    return tmp_path


def changed(arrival: Arrival) -> Reply:
    """Answer otherwise than before about case 1, and alike about the others."""
    if is_judging(arrival) or case_number(arrival) != 1:
        return answering(arrival)
    return chat_reply(answer_text(labels_of(1), "second thoughts on 001"), model="a")


def grade(folder: Path, **values: int) -> None:
    names = {"model": "a", "condition": "both", "question": QUESTION, "rater": "ann"}
    lines = [json.dumps({**names, "case_id": case, "value": value}) for case, value in values.items()]
    (folder / "grades.jsonl").write_text("\n".join(lines))
    done = harness("grades", "import", "night", folder / "grades.jsonl", *store_of(folder))
    assert done.code == 0, done.err


def compared(folder: Path, step: str) -> tuple[dict[str, Any], int]:
    """Return case -> (judge, person), and how many grades were left out."""
    found = harness("score", step, "--json", *store_of(folder)).json["agreement"]
    pairs = found.get("pairs", [])
    assert found["grades"] == len(pairs)
    return {case: (said, grades["ann"][QUESTION]) for _, case, _, said, grades in pairs}, found[
        "of_other_answers"
    ]


@pytest.mark.slow
def test_grades_of_an_answer_that_was_asked_again_are_not_compared_with_verdicts_on_another(  # F12
    folder: Path, server: ScriptedServer
) -> None:
    first = harness(*step_args(folder, "--json")).json["run"]["name"]
    grade(folder, c000=0, c001=1)
    assert compared(folder, first) == ({"c000": (0, 0), "c001": (1, 1)}, 0)
    server.script = changed
    ask_source(folder, "--again", "valid")
    second = harness(*step_args(folder, "--json")).json["run"]["name"]
    assert second != first
    for step, others in ((first, 1), (second, 0)):
        done = harness("score", step, "--json", *store_of(folder))
        assert done.json["step"]["answers_changed"] == others
        shown = harness("score", step, *store_of(folder)).out
        assert ("OF EARLIER ANSWERS: 1" in shown) is bool(others)
    for step in (first, second):
        assert compared(folder, step) == ({"c000": (0, 0)}, 1)
    told = harness("score", second, *store_of(folder)).out
    assert "grades that are not compared: 1" in " ".join(told.split())
    grade(folder, c001=0)  # what they say now, c000 stands
    assert compared(folder, first) == ({"c000": (0, 0)}, 1)
    assert compared(folder, second) == ({"c000": (0, 0), "c001": (1, 0)}, 0)
