"""What a response object of OpenAI's Responses API says, and the one that a stream ends with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from harness.messages import Fault, Reply, Usage
from harness.outcomes import ExchangeOutcome as Outcome
from harness.providers.bodies import Object, as_count, as_object, as_text, parse_json
from harness.providers.streams import events

_ENDS: Final = frozenset(
    {"response.completed", "response.incomplete", "response.failed", "response.cancelled"}
)
_DELTA: Final = ".delta"
_BEGAN: Final = "$began"
"""Put beside an error that came in a stream after the first words of an answer."""


def last_response(body: bytes) -> Object:
    """Return the response object of a stream's last event; an error among the events is kept as `error`.

    Nothing is put together from deltas: only the provider says that an answer is whole. Raises ValueError
    on a stream that stops before its last event, or that holds no JSON.
    """
    items: dict[int, object] = {}
    began = False
    for event in events(body):
        if event.data.strip() == b"[DONE]":
            break
        content = as_object(parse_json(event.data))
        kind = as_text(content.get("type")) or event.name
        if kind == "error" or (not kind.startswith("response.") and content.get("error")):
            return {"error": _error_of(content), _BEGAN: began}
        if kind in _ENDS:
            return _whole(kind, as_object(content.get("response")), items, began=began)
        if kind == "response.output_item.done":
            place = as_count(content.get("output_index"))
            items[len(items) if place is None else place] = content.get("item")
        began = began or kind.endswith(_DELTA)
    raise ValueError("the stream stops before its end")


def _error_of(event: Object) -> object:
    """Return the error of an `error` event, which holds its fields itself, or an object with them."""
    inner = event.get("error")
    return inner or {key: event.get(key) for key in ("code", "message", "param")}


def _whole(kind: str, response: Object, items: Mapping[int, object], *, began: bool) -> Object:
    """Return the response object of a last event, with the items that it may leave out.

    Some backends send the last event with an empty output; what they called done before is whole too.
    """
    status = kind.removeprefix("response.")
    if kind == "response.failed":
        return {"status": status, **response, _BEGAN: began or bool(items)}
    if response.get("output") or kind != "response.completed" or not (items or began):
        return {"status": status, **response}
    if not items:
        raise ValueError("the last event leaves out what was said before")
    return {"status": status, **response, "output": [items[place] for place in sorted(items)]}


def has_begun(reply: Object) -> bool:
    """Tell whether an answer was being given when an error ended it, so that it may be billed."""
    return bool(reply.get("output") or reply.get(_BEGAN))


def read_response(reply: Object) -> Reply | Fault:
    """Return what a response object without an error means."""
    status = as_text(reply.get("status"))
    reason = as_text(as_object(reply.get("incomplete_details")).get("reason"))
    usage = read_usage(reply)
    if status in ("failed", "cancelled"):
        said = f"the server gave up in mid-answer: status {status!r}"
        return Fault(Outcome.UNAVAILABLE, said, code=status, maybe_billed=True, usage=usage)
    if status not in ("", "completed", "incomplete"):
        # It may be worked on, and billed, yet: asking again at once could pay for it twice.
        said = f"an answer that is not finished: status {status!r}; this format is read in one piece only"
        return Fault(Outcome.UNKNOWN, said, code=status, maybe_billed=True, usage=usage)
    said_there = _read_output(reply)
    outcome = _outcome(status, reason, said_there)
    return Reply(
        outcome,
        text=said_there.text,
        reasoning=said_there.reasoning or None,
        finish_reason=reason or status or None,
        served_model=as_text(reply.get("model")) or None,
        detail=said_there.refusal or (reason if outcome is Outcome.FILTERED else None),
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


@dataclass(frozen=True, slots=True)
class _Output:
    text: str
    refusal: str
    reasoning: str
    cut: bool


def _outcome(status: str, reason: str, output: _Output) -> Outcome:
    if reason == "content_filter":
        return Outcome.FILTERED
    if output.refusal:
        return Outcome.REFUSED
    if status == "incomplete" or output.cut:
        return Outcome.TRUNCATED
    return Outcome.ANSWERED if output.text.strip() else Outcome.EMPTY


def _read_output(reply: Object) -> _Output:
    """Return what the output items say; `commentary` on the way to an answer is no part of it."""
    text: list[str] = []
    refusal: list[str] = []
    reasoning: list[str] = []
    cut = False
    output = reply.get("output")
    for value in output if isinstance(output, list) else ():
        item = as_object(value)
        match item.get("type", "message"):
            case "message" if item.get("phase") == "commentary":
                reasoning.append("".join(_texts(item.get("content"), "output_text")))
            case "message":
                text += _texts(item.get("content"), "output_text")
                refusal += _texts(item.get("content"), "refusal")
                cut = cut or item.get("status") == "incomplete"
            case "reasoning":
                reasoning += _texts(item.get("summary"), "summary_text")
                reasoning += _texts(item.get("content"), "reasoning_text")
    return _Output("".join(text), "".join(refusal), "\n\n".join(filter(None, reasoning)), cut)


def _texts(parts: object, kind: str) -> Iterator[str]:
    """Yield the texts of the parts of one kind; a refusal's stands under its own name."""
    for value in parts if isinstance(parts, list) else ():
        part = as_object(value)
        if part.get("type") == kind:
            yield as_text(part.get("refusal" if kind == "refusal" else "text"))
