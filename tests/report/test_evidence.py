"""What a report warns of before any number."""

from __future__ import annotations

from typing import Any

import pytest
from report.score_examples import MAIN, incomplete, row, score

from harness.phrases import as_sentence
from harness.report.document import Paragraph
from harness.report.evidence import all_warnings, warnings, what_was_asked

GRADED = {"by": "model", "raters": ["judge"], "model": "judge", "step": "g", "simulated": False}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"synthetic": True}, "SYNTHETIC DATA: no evidence about real models"),
        ({"simulated": True}, "SIMULATED MODELS: no evidence about real models"),
        (
            {"synthetic": True, "simulated": True},
            "SYNTHETIC DATA - SIMULATED MODELS: no evidence about real models",
        ),
        ({"imported": True}, "IMPORTED ANSWERS: prompt and parameters are not known here"),
        ({"grading": GRADED}, "LLM-GRADED: the grades are those of the model judge, not people's"),
        (
            {"grading": {**GRADED, "simulated": True}},
            "LLM-GRADED: the grades are those of the SIMULATED model judge, not people's",
        ),
        (
            {"step": {"answers_changed": 2}},
            "OF EARLIER ANSWERS: 2 answers that this step was shown are others now; step them once more",
        ),
    ],
)
def test_what_is_no_evidence_is_warned_of(changes: dict[str, Any], said: str) -> None:
    assert [*warnings(score([row("alpha", {MAIN: 0.5})], **changes))] == [said]


def test_people_who_graded_and_real_runs_are_no_warning() -> None:
    by_people = {**GRADED, "by": "imported"}
    assert [*warnings(score([row("alpha", {MAIN: 0.5})], grading=by_people))] == []


def test_incomplete_models_are_named_once() -> None:
    rows = [incomplete("alpha", {}), incomplete("alpha", {}, condition="opg"), row("beta", {})]
    assert [*warnings(score(rows))] == ["INCOMPLETE: alpha; incomplete models have no rank"]


def test_a_warning_of_one_of_several_runs_names_it() -> None:
    made_up = score([row("a", {})], synthetic=True, run={"name": "one", "digest": "1" * 64})
    real = score([row("a", {})], run={"name": "two", "digest": "2" * 64})
    assert all_warnings([made_up, real]) == ["SYNTHETIC DATA: no evidence about real models (run one)"]
    assert all_warnings([made_up, made_up]) == ["SYNTHETIC DATA: no evidence about real models"]
    assert all_warnings([made_up]) == ["SYNTHETIC DATA: no evidence about real models"]
    assert all_warnings([real]) == []


def texts(**changes: Any) -> list[tuple[str, str]]:
    parts = what_was_asked(score([row("alpha", {})], **changes), "Triage", 24, ["both", "opg"])
    return [(part.tone, part.text) for part in parts if isinstance(part, Paragraph)]


def test_what_was_asked_is_said_in_words() -> None:
    assert texts() == [
        ("plain", "1 model was asked 24 cases of Triage, each case once in 2 conditions (both, opg).")
    ]
    assert texts(repeats=3)[0][1].startswith("1 model was asked 24 cases of Triage, each case 3 times")


@pytest.mark.parametrize(("text", "shown"), [
    ("top-k: share of cases", "Top-k: share of cases"),
    ("maF1, miF1: macro- and micro-F1", "maF1, miF1: macro- and micro-F1"),
    ("", ""),
])  # fmt: skip
def test_a_sentence_begins_with_a_capital_but_a_name_stays_as_it_is(text: str, shown: str) -> None:
    assert as_sentence(text) == shown


def test_a_step_says_whose_answers_it_is_about() -> None:
    step = {"kind": "judge", "model": "big", "source": "ab" * 32, "not_shown": [], "answers_changed": 0}
    assert texts(step=step)[0][1] == (
        "The step judge: big was asked once about 24 answers of 1 model (run abababababab). Rows are named "
        "by whose answers these are."
    )


def test_what_is_read_otherwise_than_in_the_run_is_said() -> None:
    unit = {"model": "alpha", "condition": "both", "case_id": "c1", "repeat": 1}
    told = texts(
        changed_since_run={"units": 2, "steps": {"unparsable -> valid": 2}},
        gaps=[unit],
        references={"sha256": "3c" * 32, "corrected": ["c1"], "inputs_changed": []},
    )
    assert [text for tone, text in told if tone == "note"] == [
        "2 units are read differently than when they were asked (unparsable -> valid: 2).",
        "1 gap: today's parser needs asks that nobody made; these units are nobody's answer.",
        "References of 1 case were corrected since: c1.",
    ]
