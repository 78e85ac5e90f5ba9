"""What Google's generated content says: its text, its thoughts, why it stopped, what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from harness.messages import Reply, Usage
from harness.outcomes import ExchangeOutcome as Outcome
from harness.providers.bodies import Object, as_count, as_object, as_text
from harness.providers.gemini_stream import first_candidate

_BLOCKED: Final = frozenset(
    {"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR", "IMAGE_SAFETY",
     "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "JAILBREAK"}
)  # fmt: skip
_NOT_BLOCKED: Final = frozenset({"", "BLOCK_REASON_UNSPECIFIED", "BLOCKED_REASON_UNSPECIFIED"})


def read_candidate(reply: Object) -> Reply:
    """Return what the first candidate says, or the verdict on the prompt; usage and model are apart."""
    feedback = as_object(reply.get("promptFeedback"))
    block = as_text(feedback.get("blockReason"))
    candidate = first_candidate(reply)
    finish = as_text(candidate.get("finishReason")) or (block or None)
    text, reasoning = texts_of(candidate)
    words = as_text(candidate.get("finishMessage")) or as_text(feedback.get("blockReasonMessage"))
    blocked = finish in _BLOCKED or block not in _NOT_BLOCKED
    return Reply(
        _outcome(finish, text, blocked=blocked),
        text=text,
        reasoning=reasoning or None,
        finish_reason=finish,
        detail=(words or finish) if blocked else None,
    )


def _outcome(finish: str | None, text: str, *, blocked: bool) -> Outcome:
    if blocked:
        return Outcome.FILTERED
    if finish == "MAX_TOKENS":
        return Outcome.TRUNCATED
    if not text.strip():
        return Outcome.EMPTY
    # Only STOP is a natural end. LANGUAGE, OTHER, MALFORMED_FUNCTION_CALL ..., a reason that nobody has seen
    # before, and none at all ("the model has not stopped"): nobody can say that the text is complete.
    return Outcome.ANSWERED if (finish or "").upper() == "STOP" else Outcome.TRUNCATED


def texts_of(candidate: Object) -> tuple[str, str]:
    """Return the text and, apart from it, the thoughts."""
    parts = as_object(candidate.get("content")).get("parts")
    text: list[str] = []
    thoughts: list[str] = []
    for item in parts if isinstance(parts, list) else ():
        part = as_object(item)
        (thoughts if part.get("thought") is True else text).append(as_text(part.get("text")))
    return "".join(text), "".join(thoughts)


def read_usage(reply: Object) -> Usage:
    """Return the token counts; Google counts thoughts and tool prompts beside the others, we with them."""
    usage: Mapping[str, object] = as_object(reply.get("usageMetadata"))
    prompt = as_count(usage.get("promptTokenCount"))
    tool = as_count(usage.get("toolUsePromptTokenCount"))
    answer = as_count(usage.get("candidatesTokenCount"))
    thoughts = as_count(usage.get("thoughtsTokenCount"))
    total = as_count(usage.get("totalTokenCount"))
    if answer is None and thoughts is None:
        # A blocked or empty answer leaves both out; the total still says what was spent.
        output = None if total is None or prompt is None else max(0, total - prompt - (tool or 0))
    else:
        output = (answer or 0) + (thoughts or 0)
    return Usage(
        input_tokens=None if prompt is None else prompt + (tool or 0),
        output_tokens=output,
        reasoning_tokens=thoughts,
        cached_tokens=as_count(usage.get("cachedContentTokenCount")),
    )
