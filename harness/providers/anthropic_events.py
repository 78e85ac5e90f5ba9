"""The one message that the events of a streamed answer stand for."""

from __future__ import annotations

from typing import Any, Final

from harness.providers.bodies import Object, as_count, as_object, as_text, parse_json
from harness.providers.streams import events

# Kind of a delta -> kind of its block, the field that grows.
_DELTAS: Final = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("thinking", "signature"),
    "input_json_delta": ("tool_use", "input"),
}


def fold_message(body: bytes) -> Object:
    """Return the message that a stream of events adds up to (the API's page "Streaming Messages").

    An `error` event makes it an error, whatever came before. Events and deltas of unknown kinds are passed
    over, as the API asks of its clients. Raises ValueError on a stream that stops before its stop reason and
    `message_stop`, or that holds no JSON.
    """
    message: dict[str, Any] = {}
    usage: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    ended = False
    for event in events(body):
        if event.data.strip() == b"[DONE]":
            continue
        data = as_object(parse_json(event.data))
        kind = as_text(data.get("type")) or event.name
        if kind == "error":
            return {"type": "error", "error": data.get("error") or data or "error", "usage": usage}
        if kind == "message_start":
            message.update(as_object(data.get("message")))
            usage.update(as_object(message.get("usage")))
        elif kind == "content_block_start":
            blocks[_index(data)] = dict(as_object(data.get("content_block")))
        elif kind == "content_block_delta":
            _grow(blocks, _index(data), as_object(data.get("delta")))
        elif kind == "message_delta":
            message.update(as_object(data.get("delta")))
            usage.update({key: n for key, n in as_object(data.get("usage")).items() if n is not None})
        elif kind == "message_stop":
            ended = True
    if not ended or not message.get("stop_reason"):
        raise ValueError("the stream stops before its end")
    return {**message, "content": [blocks[index] for index in sorted(blocks)], "usage": usage}


def _index(data: Object) -> int:
    return as_count(data.get("index")) or 0


def _grow(blocks: dict[int, dict[str, Any]], index: int, delta: Object) -> None:
    found = _DELTAS.get(as_text(delta.get("type")))
    if found is None:
        return
    kind, field = found
    block = blocks.setdefault(index, {"type": kind})
    added = as_text(delta.get("partial_json" if field == "input" else field))
    present = block.get(field)
    block[field] = (present if isinstance(present, str) else "") + added
