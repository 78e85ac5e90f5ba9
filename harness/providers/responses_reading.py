"""What a response object of OpenAI's Responses API says, and the one that a stream ends with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from harness.messages import Fault, Reply, Usage
from harness.outcomes import ExchangeOutcome as Outcome
from harness.providers.bodies import Object, as_count, as_object, as_text, parse_json
from harness.providers.streams import events

_ENDS: Final = frozenset(
    {"response.completed", "response.incomplete", "response.failed", "response.cancelled", "response.done"}
)


def last_response(body: bytes) -> Object:
    """Return the response object of a stream's last event; an error among the events is kept as `error`.

    Nothing is put together from deltas: only the provider says that an answer is whole. Raises ValueError
    on a stream that stops before its last event, or that holds no JSON.
    """
    done: list[object] = []
    for event in events(body):
        if event.data.strip() == b"[DONE]":
            break
        content = as_object(parse_json(event.data))
        kind = as_text(content.get("type")) or event.name
        if kind == "error" or content.get("error"):
            inner = content.get("error") or {key: content.get(key) for key in ("code", "message", "param")}
            return {"error": inner}
        if kind == "response.output_item.done":
            done.append(content.get("item"))
        if kind in _ENDS:
            response = as_object(content.get("response"))
            # Some gateways leave the output out of the last event; each item was called done before.
            return response if response.get("output") else {**response, "output": done}
    raise ValueError("the stream stops before its end")


def read_response(reply: Object) -> Reply | Fault:
    """Return what a response object without an error means."""
    status = as_text(reply.get("status"))
    reason = as_text(as_object(reply.get("incomplete_details")).get("reason"))
    usage = read_usage(reply)
    if status in ("failed", "cancelled"):
        said = f"the server gave up in mid-answer: status {status!r}"
        return Fault(Outcome.UNAVAILABLE, said, code=status, maybe_billed=True, usage=usage)
    if status not in ("", "completed", "incomplete"):
        said = f"an answer that is not finished: status {status!r}; it was asked for in one piece"
        return Fault(Outcome.UNKNOWN, said, code=status, maybe_billed=True, usage=usage)
    text, refusal, reasoning = _said(reply)
    outcome = _outcome(status, reason, text, refusal)
    return Reply(
        outcome,
        text=text,
        reasoning=reasoning or None,
        finish_reason=reason or status or None,
        served_model=as_text(reply.get("model")) or None,
        detail=refusal or None,
        usage=usage,
    )


def read_usage(reply: Object) -> Usage:
    """Return the token counts: input holds the cached ones, output those of reasoning."""
    usage = as_object(reply.get("usage"))
    return Usage(
        input_tokens=as_count(usage.get("input_tokens")),
        output_tokens=as_count(usage.get("output_tokens")),
        reasoning_tokens=as_count(as_object(usage.get("output_tokens_details")).get("reasoning_tokens")),
        cached_tokens=as_count(as_object(usage.get("input_tokens_details")).get("cached_tokens")),
    )


def _outcome(status: str, reason: str, text: str, refusal: str) -> Outcome:
    if reason == "content_filter":
        return Outcome.FILTERED
    if refusal:
        return Outcome.REFUSED
    if status == "incomplete":
        return Outcome.TRUNCATED
    return Outcome.ANSWERED if text.strip() else Outcome.EMPTY


def _said(reply: Object) -> tuple[str, str, str]:
    """Return the text, the words of a refusal, and the reasoning."""
    text: list[str] = []
    refusal: list[str] = []
    reasoning: list[str] = []
    output = reply.get("output")
    for value in output if isinstance(output, list) else ():
        item = as_object(value)
        match item.get("type"):
            case "message":
                text += _texts(item.get("content"), "output_text", "text")
                refusal += _texts(item.get("content"), "refusal", "refusal")
            case "reasoning":
                reasoning += _texts(item.get("summary"), "summary_text", "text")
                reasoning += _texts(item.get("content"), "reasoning_text", "text")
    return "".join(text), "".join(refusal), "\n\n".join(reasoning)


def _texts(parts: object, kind: str, field: str) -> Iterator[str]:
    for value in parts if isinstance(parts, list) else ():
        part = as_object(value)
        if part.get("type") == kind and as_text(part.get(field)):
            yield as_text(part.get(field))
