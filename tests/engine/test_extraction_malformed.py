"""Extraction over whole collections of odd answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.answers.extraction import extract
from harness.answers.validation import Validator

FIXTURE = Path(__file__).parent.parent / "fixtures" / "malformed" / "examples.json"
OURS = json.loads(FIXTURE.read_text(encoding="utf-8"))
SHARED = Path(__file__).resolve().parents[3] / "shared" / "malformed"
HOW = {"valid": "whole", "recoverable-by-extraction": "cut", "needs-retry": None}


@pytest.mark.parametrize("example", OURS["examples"], ids=lambda example: str(example["kind"]))
def test_our_own_odd_answer_is_taken_as_it_should_be(example: dict[str, Any]) -> None:
    found = extract(example["raw"], Validator(OURS["schema"]))

    assert (found.how or "nothing") == example["expected"]
    assert found.value == example.get("value")
    assert (found.problem is None) == (found.how is not None)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared collection is not at hand")
@pytest.mark.parametrize("path", sorted(SHARED.glob("*.json")), ids=lambda path: str(path.stem))
def test_shared_malformed_answer_is_classified_as_it_says(path: Path) -> None:
    example = json.loads(path.read_text(encoding="utf-8"))

    found = extract(example["raw"], Validator(example["schema"]))

    assert found.how == HOW[example["expected"]]
    if "expected_value" in example:
        assert found.value == example["expected_value"]


def test_a_problem_never_quotes_what_the_model_wrote() -> None:
    check = Validator(OURS["schema"])
    words = ("canine", "premolar", "again", "dead", "painful tooth")

    problems = [extract(example["raw"], check).problem or "" for example in OURS["examples"]]

    assert not [problem for problem in problems if any(word in problem for word in words)]
