"""The messages of the two asks that carry an earlier answer: restating it, and asking it again."""

from __future__ import annotations

from harness.attempts import Feedback
from harness.benchmarks.base import Prompt
from harness.benchmarks.prompts import load_prompt, placeholders, render
from harness.benchmarks.quoting import marker_for
from harness.errors import ConfigError
from harness.messages import Message, Request, TextPart
from harness.plans import Unit

QUOTING_PROMPT = "quoted-answer-v1"
"""Id of the text around the answer that a reformatter is given; part of a run's identity."""
FEEDBACK_PROMPT = "reask-feedback-v1"
"""Id of the text that `--reask feedback` adds; part of a run's identity."""


def reformat_messages(prompt: Prompt, answer: str) -> tuple[Message, ...]:
    """Return what the reformatter is asked: the benchmark's prompt with the answer as quoted data.

    The answer stands between two equal marker lines that do not occur in it, so nothing in it can
    end the quotation. Equal answers give equal messages. Raises ConfigError for a prompt
    without {answer} or with any other placeholder.
    """
    if "answer" not in placeholders(prompt):
        raise ConfigError(f"reformatter prompt {prompt.id!r} has no {{answer}}; add it where the answer goes")
    quoting = load_prompt(QUOTING_PROMPT)
    quoted = render(quoting, {"marker": marker_for([answer], [answer]), "answer": answer}).removesuffix("\n")
    return (_user(render(prompt, {"answer": quoted})),)


def reformat_request(unit: Unit, answer: str) -> Request:
    """Return what the reformatter of a unit is asked about an answer; its condition must have a schema."""
    condition, reformatter = unit.condition, unit.model.reformatter
    assert condition.reformat_prompt is not None and reformatter is not None
    return Request(
        reformat_messages(condition.reformat_prompt, answer),
        params=reformatter.params,
        schema=condition.reformat_schema,
        purpose="reformat",
        repeat=unit.id.repeat,
    )


def feedback_messages(messages: tuple[Message, ...], feedback: Feedback) -> tuple[Message, ...]:
    """Return the original messages with the last answer and what was wrong with it.

    `messages` are always those of the first attempt: feedback never accumulates.
    """
    asked = render(load_prompt(FEEDBACK_PROMPT), {"problem": feedback.problem}).strip()
    return (*messages, Message("assistant", (TextPart(feedback.previous_answer),)), _user(asked))


def _user(text: str) -> Message:
    return Message("user", (TextPart(text),))
