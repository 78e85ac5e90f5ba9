"""Answers with status 200 of every kind, as servers give them (`tests/fixtures/answers.jsonl`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from wire_doubles import provider

from harness.messages import Fault, RawReply
from harness.providers.base import read

ANSWERS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "fixtures" / "answers.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("line", ANSWERS, ids=lambda line: f"{line['outcome']}: {line['vendor']}")
def test_an_answer_means_what_its_kind_says(line: dict[str, Any]) -> None:  # F6, F7
    body = line["body"] if isinstance(line["body"], str) else json.dumps(line["body"], ensure_ascii=False)
    found = read(RawReply(200, {}, body.encode()), provider(line.get("adapter", "openai")))
    assert found.outcome == line["outcome"]
    if isinstance(found, Fault):
        assert found.maybe_billed is line.get("billed", False)
    else:
        assert found.text == line.get("text", "")  # F5


def test_every_outcome_of_an_answer_has_its_examples() -> None:
    counts: dict[str, int] = {}
    for line in ANSWERS:
        counts[line["outcome"]] = counts.get(line["outcome"], 0) + 1
    usual = ("answered", "empty", "truncated", "filtered", "malformed_reply", "unavailable")
    assert {outcome: counts[outcome] for outcome in usual if counts[outcome] < 6} == {}
