"""Failures that were stored as text are nobody's answer; what only looks like one stays, and is named."""

from __future__ import annotations

import pytest

from harness.imports.failures import EXCEL_CELL, known_failure, suspicion
from harness.imports.stated import Stated, meaning
from harness.messages import Fault, Reply, Usage
from harness.outcomes import ExchangeOutcome, UnitOutcome
from harness.retry import unit_outcome_of
from harness.settings import Provider

PROVIDER = Provider(name="imported", adapter="imported")


def means(text: str | None, *own: str, **stated: object) -> Reply | Fault:
    return meaning(Stated(text, **stated), own, PROVIDER)  # type: ignore[arg-type]


FAILURES = [
    "Failed to obtain answer via API.",
    "Failed to obtain answer via API. ",
    "Failed to obtain answer",
    "Failed to obtain answer: <class 'RuntimeError'> CUDA out of memory",
    "Error: 429 Too Many Requests",
    "Error code: 429 - {'error': {'message': 'Rate limit reached'}}",
    "ERROR: timed out",
    "[ERROR]: no reply",
    "Traceback (most recent call last):\n  File x",
    "openai.RateLimitError: slow down",
    "RuntimeError('CUDA out of memory')",
    "ReadTimeout: the server is silent",
    "#NAME?",
    '{"error": {"message": "quota exceeded", "code": 429}}',
    '[{\n  "error": {"code": 429, "message": "quota exceeded", "status": "RESOURCE_EXHAUSTED"}\n}\n]',
    '\n{ "error" : "no such model" }\n',
    "<html><body>502 Bad Gateway</body></html>",
    '<HTML lang="en">\n<head>',
    " <!DOCTYPE html>\n<html>",
    "",
    " \n\t",
    None,
]


@pytest.mark.parametrize("text", FAILURES)
def test_a_failure_stored_as_text_is_a_typed_failure_without_text(text: str | None) -> None:  # F5 F7 F14
    read = means(text)
    assert isinstance(read, Fault)
    assert read.outcome is ExchangeOutcome.UNKNOWN
    assert unit_outcome_of(read) is UnitOutcome.PROVIDER_ERROR


ANSWERS = [
    '{"triage_output": {}, "reasoning": "Failed to obtain answer via API."}',
    "The model failed to obtain answer via API.",
    "I made an Error: it is a molar",
    "Errors: none",
    "None",
    "nan",
    "Request timed out",
    "Sorry, I cannot help with that.",
    "#1 Exodontia",
    '{"error": "the image is blurred", "triage_output": {}}',
    '{"error": null}',
    '{"error": "cut off',
    '{"error": "x"} and more',
    '[{"error": "x"}, {"triage_output": {}}]',
    '[{"error": null}]',
    "[]",
    '{"detail": "Not authenticated"}',
    "API call failed after 3 retries",
    "<htmlx>",
    "see <html>",
]


@pytest.mark.parametrize("text", ANSWERS)
def test_a_text_that_only_speaks_of_a_failure_stays_an_answer(text: str) -> None:
    read = means(text)
    assert isinstance(read, Reply)
    assert (read.outcome, read.text) == (ExchangeOutcome.ANSWERED, text)


def test_what_a_model_was_seen_to_write_is_its_answer() -> None:
    # A finish reason or written tokens say that a model was at work, and an odd answer is its own.
    for stated in ({"finish_reason": "stop"}, {"usage": Usage(5, 3)}, {"reasoning": "hm"}):
        assert isinstance(means("Error: I see no image", **stated), Reply)
        assert isinstance(means('{"error": "I see no image"}', **stated), Reply)
        assert isinstance(means("<html>", **stated), Reply)
        assert means("", **stated).outcome is ExchangeOutcome.EMPTY
    # Words that no model says are a failure all the same.
    assert isinstance(means(FAILURES[0], finish_reason="stop"), Fault)


def test_a_text_named_by_the_user_is_a_failure_only_as_a_whole() -> None:
    assert isinstance(means(" None ", "None"), Fault)
    assert isinstance(means("None of them", "None"), Reply)


@pytest.mark.parametrize(
    ("stated", "outcome"),
    [
        ({"finish_reason": "length"}, ExchangeOutcome.TRUNCATED),
        ({"finish_reason": "max_tokens"}, ExchangeOutcome.TRUNCATED),
        ({"finish_reason": "content_filter"}, ExchangeOutcome.FILTERED),
        ({"refusal": "no"}, ExchangeOutcome.REFUSED),
        ({"stopped": True}, ExchangeOutcome.TRUNCATED),
    ],
)
@pytest.mark.parametrize("text", ["half an ans", None])
def test_a_finish_reason_means_what_it_means_elsewhere(
    stated: dict[str, object], outcome: ExchangeOutcome, text: str | None
) -> None:
    assert means(text, **stated).outcome is outcome


def test_an_error_beside_a_text_leaves_no_answer() -> None:
    read = means("half", error="connection lost " * 100)
    assert isinstance(read, Fault)
    assert "connection lost" in read.message
    assert len(read.message) < 400


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("None", "a word for nothing"),
        ("N/A\n", "a word for nothing"),
        ("Request timed out.", "words of a failure"),
        ("rate limit exceeded", "words of a failure"),
        ("x" * EXCEL_CELL, "as long as a spreadsheet's cell can be"),
        ("Exodontia", None),
        ('{"error": 1}', "an object with nothing but an error"),
        ('{"detail": "Not authenticated"}', "an object with nothing but an error"),
        ('{"detail": "two roots", "label": 3}', None),
        ('{"error": null}', None),
        ("<html>", "a web page"),
        ("API call failed after 3 retries", "words of a failure"),
        ("The molar failed a test of vitality, and " + "so on " * 100, None),
    ],
)
def test_what_is_suspicious_is_named(text: str, why: str | None) -> None:
    assert suspicion(text) == why


def test_the_patterns_take_linear_time() -> None:
    text = "a." * 500_000 + "b"
    assert known_failure(text, (), evidence=False) is None
    assert suspicion(text) is None
