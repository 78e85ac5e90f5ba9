"""The one message that the events of a streamed answer stand for."""

from __future__ import annotations

from typing import Any, Final

from harness.providers.bodies import Object, as_count, as_object, as_text, parse_json
from harness.providers.streams import Event, events

_KINDS: Final = frozenset(
    {"message_start", "content_block_start", "content_block_delta", "message_delta", "message_stop", "error"}
)
# Kind of a delta -> kind of its block, the block's field that grows, the delta's field that it grows by.
_DELTAS: Final = {
    "text_delta": ("text", "text", "text"),
    "thinking_delta": ("thinking", "thinking", "thinking"),
    "signature_delta": ("thinking", "signature", "signature"),
    "input_json_delta": ("tool_use", "input", "partial_json"),
}


def fold_message(body: bytes) -> Object:
    """Return the message that a stream of events adds up to (the API's page "Streaming Messages").

    An error among the events makes it an error, whatever came before: `error`, with the content and the
    usage so far. Events and deltas of unknown kinds are passed over, as the API asks of its clients. Raises
    ValueError on a stream that stops before its stop reason and `message_stop`, or that holds no JSON.
    """
    message: dict[str, Any] = {}
    usage: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    ended = counted = False
    for event in events(body):
        kind, data = _read(event)
        if kind == "error":
            # The count that a stream begins with says nothing of what was written since.
            known = usage if counted else {key: n for key, n in usage.items() if key != "output_tokens"}
            said = data.get("error") or data or kind
            return {"error": said, "content": list(blocks.values()), "usage": known}
        if kind == "message_start":
            message.update(_given(data.get("message")))
            usage.update(_given(message.get("usage")))
        elif kind == "content_block_start":
            blocks[_index(data)] = dict(as_object(data.get("content_block")))
        elif kind == "content_block_delta":
            _grow(blocks, _index(data), as_object(data.get("delta")))
        elif kind == "message_delta":
            message.update(_given(data.get("delta")))
            usage.update(_given(data.get("usage")))
            counted = True
        ended = ended or kind == "message_stop"
    if not ended or not message.get("stop_reason"):
        raise ValueError("the stream stops before its end")
    return {**message, "content": [blocks[index] for index in sorted(blocks)], "usage": usage}


def _read(event: Event) -> tuple[str, Object]:
    """Return the kind of an event and its data; empty for one that says nothing to us."""
    if (event.name and event.name not in _KINDS) or event.data.strip() == b"[DONE]":
        return "", {}
    data = as_object(parse_json(event.data))
    kind = as_text(data.get("type")) or event.name
    return ("error" if event.name == "error" or data.get("error") else kind), data


def _given(value: object) -> dict[str, object]:
    return {key: inner for key, inner in as_object(value).items() if inner is not None}


def _index(data: Object) -> int:
    return as_count(data.get("index")) or 0


def _grow(blocks: dict[int, dict[str, Any]], index: int, delta: Object) -> None:
    found = _DELTAS.get(as_text(delta.get("type")))
    if found is None:
        return
    kind, field, source = found
    block = blocks.setdefault(index, {"type": kind})
    block[field] = as_text(block.get(field)) + as_text(delta.get(source))
