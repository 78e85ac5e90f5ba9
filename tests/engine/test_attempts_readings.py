"""Reading a reply: reasoning taken out, and the advisory flag for refusals."""

from __future__ import annotations

import pytest

from harness.answers.readings import read_answer
from harness.answers.refusals import reads_like_refusal
from harness.answers.thinking import without_thinking
from harness.answers.validation import Validator
from harness.messages import Reply
from harness.outcomes import ExchangeOutcome, UnitOutcome


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        (" plain text ", " plain text "),
        ("<think>a</think>b", "b"),
        ("\n<think>a</think>\n\nb\n", "b"),
        ("<THINKING>a</THINKING> b", "b"),
        ("<think>a</think><think>b</think>c", "c"),
        ("a</think>b", "b"),
        ("a <think>b</think> c </think> d", "d"),
        ("<think>a", ""),
        ("a <think>b", "a"),
        ("a<reasoning>b</reasoning>", "a"),
        ("<think>a</thinking>b", ""),
        ("<think></think>", ""),
        ("◁think▷a◁/think▷b", "b"),
    ],
)
def test_reasoning_is_taken_out(text: str, rest: str) -> None:
    assert without_thinking(text) == rest


def test_tag_within_a_string_of_an_answer_that_does_not_fit_is_kept_for_the_reformatter() -> None:
    text = '{"note": "a </think> b"}'

    reading = read_answer(Reply(ExchangeOutcome.ANSWERED, text), Validator({"required": ["x"]}))

    assert (reading.outcome, reading.answer) == (UnitOutcome.UNPARSABLE, text)


def test_fault_is_no_reply() -> None:
    with pytest.raises(ValueError, match="fault"):
        read_answer(Reply(ExchangeOutcome.TIMEOUT), None)


def test_words_of_the_provider_on_a_refusal_are_kept() -> None:
    reading = read_answer(Reply(ExchangeOutcome.REFUSED, detail="policy 7"), None)

    assert reading.error is not None and reading.error.message == "policy 7"


@pytest.mark.parametrize(
    "text",
    [
        "I cannot help with identifying what is in this picture.",
        "I'm sorry, but I can\u2019t assist with that request.",
        "I am unable to provide a medical diagnosis from an image.",
        "I'm not able to view images.",
        "As an AI language model, I do not diagnose.",
        "I must respectfully decline.",
        "Unable to safely interpret this radiograph.",
        "很遗憾我无法提供医疗诊断。",
        "作为人工智能我不能分析医学影像。",
    ],
)
def test_refusal_is_recognised(text: str) -> None:
    assert reads_like_refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        "I cannot see any caries on this radiograph.",
        "I can't identify a fracture in the image.",
        "Malignancy cannot be excluded.",
        "The root tip could not be assessed; otherwise normal.",
        "The patient is unable to open her mouth. Diagnosis: trismus.",
        "She cannot give a history. Findings: no fracture.",
        '{"sign": 0}',
        "病变不能排除。",
        "",
        "Normal study. " * 60 + "I cannot help with anything else.",
    ],
)
def test_finding_is_no_refusal(text: str) -> None:
    assert not reads_like_refusal(text)
