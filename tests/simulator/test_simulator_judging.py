"""Simulated judges: scores of 0 or 1 with reasons, by the labels that the prompt lists."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import jsonschema
import pytest

from harness.benchmarks.registry import get_benchmark
from harness.simulator.behaviours import answer
from harness.simulator.judging import LISTS, NO_REASON, listed_labels, verdict_names
from harness.simulator.questions import Question, read_question

NAMES = ("D1_Neglect", "D2_Omission", "D3_Misinterpretation", "D4_Protocol_Confusion", "D5_Hallucination")


def schema_of(score: Mapping[str, Any]) -> dict[str, Any]:
    pair = {
        "type": "object",
        "properties": {"score": score, "reason": {"type": "string"}},
        "required": ["score", "reason"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {name: {"$ref": "#/$defs/pair"} for name in NAMES},
        "required": list(NAMES),
        "additionalProperties": False,
        "$defs": {"pair": pair},
    }


SCHEMA = schema_of({"type": "integer", "enum": [0, 1]})
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def a_question(text: str, model: str = "sim/steady", schema: Any = SCHEMA, **headers: int) -> Question:
    body = {
        "model": model,
        "messages": [{"role": "user", "content": text}],
        "simulator": {"seed": 0, "schema": schema},
    }
    return read_question(
        body, {f"X-Harness-{name.capitalize()}": str(value) for name, value in headers.items()}
    )


def listing(case: int, missing: str, extra: str) -> str:
    return (
        f"Case {case}.\n\nLabels that are missing:\n{missing}\n\nExtra labels:\n{extra}\n\nReasoning:\n- none"
    )


@pytest.mark.parametrize(
    ("text", "missing", "extra"),
    [
        ("Missing labels: a; b (c; d)\nExtra labels: none", ["a", "b"], []),
        ('Labels that the expert chose and the program did not: ["a", "b; c"]\n'
         "Labels that the program chose and the expert did not: none\n\nMore:\nx", ["a", "b; c"], []),
        ("Labels that were missed:\n- a\n- b\nLabels that were added:\n- c\nReasons:\nd", ["a", "b"], ["c"]),
        ("The missing labels are no failure: each must be seen.\nMissing labels: a\n", ["a"], []),
        ("Missing labels:\n\nExtra labels:\n\nReasons:\nd", [], []),
        ("nothing is listed", [], []),
    ],
)  # fmt: skip
def test_lists_of_labels_are_known_by_their_headings(text: str, missing: list[str], extra: list[str]) -> None:
    assert [listed_labels(text, mark) for mark in LISTS] == [missing, extra]


def failures(missing: str, extra: str, model: str = "sim/steady") -> dict[str, int]:
    counts = dict.fromkeys(NAMES, 0)
    for case in range(150):
        verdict = json.loads(answer(a_question(listing(case, missing, extra), model)).text or "")
        VALIDATOR.validate(verdict)
        for name in NAMES:
            assert (verdict[name]["reason"] == NO_REASON) is (verdict[name]["score"] == 0)
            counts[name] += verdict[name]["score"]
    return counts


@pytest.mark.parametrize("none", ["none", "[]", "(none)", "N/A", "-", ""])
def test_a_judge_finds_little_where_no_label_differs(none: str) -> None:
    assert sum(failures(none, none).values()) < 50


def test_missing_labels_speak_for_omission_and_extra_ones_for_hallucination() -> None:
    alike, missing, extra = (
        failures("none", "none"),
        failures("- Exodontia\n- Crowns (Posterior; incl. Onlays)", "none"),
        failures("none", '["Exodontia", "Minor O.S."]'),
    )
    for name in NAMES[:4]:
        assert missing[name] > alike[name] + 10
    assert missing["D5_Hallucination"] < alike["D5_Hallucination"] + 10
    for name in NAMES[2:]:
        assert extra[name] > alike[name] + 10
    assert extra["D2_Omission"] < alike["D2_Omission"] + 10
    assert sum(failures("a; b; c; d", "none").values()) > sum(missing.values())


def test_dimensions_fail_apart() -> None:
    verdicts = [
        json.loads(answer(a_question(listing(case, "- Exodontia", "- Minor O.S."))).text or "")
        for case in range(100)
    ]
    patterns = {tuple(verdict[name]["score"] for name in NAMES) for verdict in verdicts}
    assert len(patterns) > 10


@pytest.mark.parametrize(
    "score", [{"type": "boolean"}, {"enum": ["0", "1"]}, {"type": "integer", "minimum": 0, "maximum": 1}]
)
def test_scores_take_the_form_of_the_schema(score: Mapping[str, Any]) -> None:
    schema = schema_of(score)
    values = set()
    for case in range(30):
        text = listing(case, "- Exodontia", "- Minor O.S.")
        verdict = json.loads(answer(a_question(text, schema=schema)).text or "")
        jsonschema.validate(verdict, schema)
        values |= {verdict[name]["score"] for name in NAMES}
    assert len(values) == 2


def test_a_messy_judge_breaks_the_schema_less_with_each_attempt() -> None:
    def fits(case: int, attempt: int) -> bool:
        question = a_question(listing(case, "- Exodontia", "none"), "sim/messy", attempt=attempt)
        try:
            VALIDATOR.validate(json.loads(answer(question).text or ""))
        except (ValueError, jsonschema.ValidationError):
            return False
        return True

    counts = [sum(fits(case, attempt) for case in range(200)) for attempt in (1, 2, 3)]
    assert 10 < counts[0] < counts[2] < 150  # F12


def test_a_verdict_is_known_by_its_schema() -> None:
    assert verdict_names(SCHEMA) == NAMES
    triage = get_benchmark("triage").schema("both")
    assert triage is not None
    assert verdict_names(triage.body) == ()
    assert verdict_names({"type": "object", "properties": {}}) == ()
    assert verdict_names({}) == ()
