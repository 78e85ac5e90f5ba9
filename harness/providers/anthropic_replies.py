"""What a message of the Messages API says: its text, its thinking, why it stopped, what it cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from harness.messages import Reply, Usage
from harness.outcomes import ExchangeOutcome as Outcome
from harness.providers.bodies import Object, as_count, as_object, as_text

REDACTED: Final = "[redacted thinking]"
"""Stands where the provider encrypted a part of the thinking."""

_COMPLETE: Final = frozenset({"end_turn", "stop_sequence", "tool_use"})
# No stop reason of the API, but of gateways that put it before other models.
_FILTERED: Final = frozenset({"content_filter"})


def is_message(reply: Object) -> bool:
    """Tell whether a reply is a message that says why it stopped; without that it may be cut."""
    return isinstance(reply.get("content"), list) and bool(as_text(reply.get("stop_reason")))


def read_message(reply: Object) -> Reply:
    """Return what a message means, by its stop reason (the API's page "Handling stop reasons")."""
    stop = as_text(reply.get("stop_reason"))
    text = "".join(_texts(reply, "text"))
    details = as_object(reply.get("stop_details"))
    words = as_text(details.get("explanation")) or as_text(details.get("category"))
    return Reply(
        _outcome(stop, text),
        text=text,
        reasoning="".join(_texts(reply, "thinking")) or None,
        finish_reason=stop or None,
        usage=read_usage(reply),
        served_model=as_text(reply.get("model")) or None,
        detail=words or None,
    )


def read_usage(reply: Object) -> Usage:
    """Return the token counts; the API counts what a cache held or was given beside the input, we with it."""
    usage = as_object(reply.get("usage"))
    fresh = as_count(usage.get("input_tokens"))
    cached = as_count(usage.get("cache_read_input_tokens"))
    written = as_count(usage.get("cache_creation_input_tokens"))
    return Usage(
        input_tokens=None if fresh is None else fresh + (cached or 0) + (written or 0),
        output_tokens=as_count(usage.get("output_tokens")),
        reasoning_tokens=as_count(as_object(usage.get("output_tokens_details")).get("thinking_tokens")),
        cached_tokens=cached,
        cache_write_tokens=written,
        long_write_tokens=as_count(as_object(usage.get("cache_creation")).get("ephemeral_1h_input_tokens")),
    )


def _outcome(stop: str, text: str) -> Outcome:
    if stop == "refusal":
        return Outcome.REFUSED
    if stop in _FILTERED:
        return Outcome.FILTERED
    if stop not in _COMPLETE:
        # max_tokens, model_context_window_exceeded; pause_turn, after which the model would go on; and any
        # reason that nobody has seen before: nobody can say that the text is complete.
        return Outcome.TRUNCATED
    return Outcome.ANSWERED if text.strip() else Outcome.EMPTY


def _texts(reply: Object, kind: str) -> Iterator[str]:
    content = reply.get("content")
    for item in content if isinstance(content, list) else ():
        block = as_object(item)
        if block.get("type") == kind:
            yield as_text(block.get(kind))
        elif kind == "thinking" and block.get("type") == "redacted_thinking":
            yield REDACTED
