"""Answers of simulated models that stored runs and documents rely on: not one byte of them may change."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator

import pytest

from harness.benchmarks.registry import get_benchmark
from harness.simulator.behaviours import BEHAVIOURS, answer
from harness.simulator.questions import Question, read_question

TRIAGE = get_benchmark("triage")
CASES = (
    "my gums bleed when I brush",
    "a back tooth hurts at night, it is hot and throbs",
    "牙痛\u2028\r",
    "",
)
FREE_TEXTS = (
    "Describe what this patient should know, in one sentence.",
    "Say what the report of this radiograph means to a patient. Complaint: pain",
    "Please reply with this one word and nothing else: lantern",
)
GOLDEN = {
    "sim/steady": "db2f7272dec714d0",
    "sim/careful": "0ce30b2b7f66e695",
    "sim/eager": "620abe9ca57a92ea",
    "sim/messy": "6c810f5afafae0bc",
    "sim/flaky": "92944ada70aeee82",
    "sim/reader": "25f50200be5a66ea",
    "sim/reformatter": "1a71575d0fe17829",
}


def bodies() -> Iterator[tuple[str, dict[str, object], list[object]]]:
    """Yield (purpose, what the simulator is told, content) of questions as the program asks them."""
    schema, reformat = TRIAGE.schema("both"), TRIAGE.reformat_schema("both")
    assert schema is not None and reformat is not None
    for number, complaint in enumerate(CASES):
        asked = f"Answer in exactly this form: ...\n\nThe patient's complaint:\n{complaint}"
        image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{'abcd' * (number + 1)}"}}
        told: dict[str, object] = {"seed": number, "schema": dict(schema.body)}
        yield "answer", told, [{"type": "text", "text": asked}]
        yield "answer", told, [{"type": "text", "text": asked}, image]
        yield "answer", told, [{"type": "text", "text": "The panoramic radiograph:"}, image]
        quoted = f"Restate.\n\n=== 0a ===\nExodontia: 1, no Minor O.S., {complaint}\n=== 0a ==="
        yield "reformat", {"seed": 0, "schema": dict(reformat.body)}, [{"type": "text", "text": quoted}]
    for text in FREE_TEXTS:
        yield "answer", {"seed": 0}, [{"type": "text", "text": text}]


def questions(model: str) -> Iterator[Question]:
    for purpose, told, content in bodies():
        for attempt, repeat in ((1, 1), (2, 1), (3, 1), (1, 2)):
            body = {"model": model, "messages": [{"role": "user", "content": content}], "simulator": told}
            headers = {
                "X-Harness-Attempt": str(attempt),
                "X-Harness-Repeat": str(repeat),
                "X-Harness-Purpose": purpose,
            }
            yield read_question(body, headers)


def test_every_model_has_golden_answers() -> None:
    assert GOLDEN.keys() == BEHAVIOURS.keys()


@pytest.mark.parametrize("model", list(GOLDEN))
def test_answers_to_triage_and_to_unknown_questions_are_those_of_the_first_version(model: str) -> None:
    said = [answer(question) for question in questions(model)]
    lines = [json.dumps([one.text, one.finish, one.refusal, one.latency_s]) for one in said]
    assert len(lines) == 76
    assert hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16] == GOLDEN[model]
