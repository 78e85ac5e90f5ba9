"""Providers, models, requests and answers for the tests of wire formats."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from harness.canonical import digest
from harness.media import Media
from harness.messages import ImagePart, MediaSlot, Message, RawReply, Request, Schema, TextPart
from harness.settings import Model, Provider

SCAN = Media(sha256="a" * 64, mime="image/webp", size=10, width=2, height=2)
PHOTO = Media(sha256="b" * 64, mime="image/jpeg", size=20, width=3, height=3)

SCHEMA_BODY: Mapping[str, Any] = {
    "type": "object",
    "properties": {"labels": {"type": "array", "items": {"type": "string"}}},
    "required": ["labels"],
    "additionalProperties": False,
}
SCHEMA = Schema(id="triage v1", sha256=digest(SCHEMA_BODY), body=SCHEMA_BODY)


def provider(kind: str, **fields: Any) -> Provider:
    return Provider(name="p", adapter=kind, **fields)  # type: ignore[arg-type]


def model(kind: str, *, provider_fields: Mapping[str, Any] | None = None, **fields: Any) -> Model:
    given = {"structured": ("json", "schema"), **fields}
    return Model(
        name="m", provider=provider(kind, **(provider_fields or {})), model="vendor-model-1", **given
    )


def request(**fields: Any) -> Request:
    turns = (
        Message("system", (TextPart("be brief"),)),
        Message("user", (TextPart("before"), ImagePart(SCAN), TextPart("between"), ImagePart(PHOTO, "png"))),
    )
    return Request(**{"messages": turns, **fields})


def ask(text: str = "hello", **fields: Any) -> Request:
    return Request(messages=(Message("user", (TextPart(text),)),), **fields)


def plain(value: Any) -> Any:
    """Return a body as plain JSON, each slot as text that names the medium by digest."""
    if isinstance(value, MediaSlot):
        return f"{value.prefix}<{value.recipe}:{value.media.sha256}>"
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def answer(body: Any, status: int = 200, **headers: str) -> RawReply:
    """Return a raw answer; keyword names become header names, `_` as `-`."""
    data = (
        body
        if isinstance(body, bytes)
        else body.encode()
        if isinstance(body, str)
        else json.dumps(body).encode()
    )
    return RawReply(status, {name.replace("_", "-"): value for name, value in headers.items()}, data)


def completion(message: Any = None, finish: str | None = "stop", **fields: Any) -> dict[str, Any]:
    choice = {
        "index": 0,
        "message": message if message is not None else {"content": "yes"},
        "finish_reason": finish,
    }
    return {"object": "chat.completion", "model": "served-1", "choices": [choice], **fields}


def candidate(parts: Any = None, finish: str | None = "STOP", **fields: Any) -> dict[str, Any]:
    content = {"role": "model", "parts": parts if parts is not None else [{"text": "yes"}]}
    return {
        "candidates": [{"content": content, "finishReason": finish}],
        "modelVersion": "served-1",
        **fields,
    }


def message(content: Any = None, stop: str | None = "end_turn", **fields: Any) -> dict[str, Any]:
    """Return a message of Anthropic's; text stands for one text block."""
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "served-1",
        "content": blocks if blocks is not None else [{"type": "text", "text": "yes"}],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 7, "output_tokens": 3},
        **fields,
    }


def message_events(whole: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the events in which Anthropic streams a message, its texts in pieces of three characters."""
    usage = whole["usage"]
    begun = {**whole, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": begun}, {"type": "ping"}]
    for index, block in enumerate(whole["content"]):
        events += _block_events(index, block)
    ended = {key: whole[key] for key in ("stop_reason", "stop_sequence", "stop_details") if key in whole}
    counted = {key: usage[key] for key in ("output_tokens", "output_tokens_details") if key in usage}
    return [*events, {"type": "message_delta", "delta": ended, "usage": counted}, {"type": "message_stop"}]


def _block_events(index: int, block: Mapping[str, Any]) -> list[dict[str, Any]]:
    grows = {"text": "text_delta", "thinking": "thinking_delta"}.get(block["type"])
    deltas: list[dict[str, Any]] = []
    begun = dict(block)
    if grows:
        text = block[block["type"]]
        begun[block["type"]] = ""
        pieces = [text[start : start + 3] for start in range(0, len(text), 3)]
        deltas = [{"type": grows, block["type"]: piece} for piece in pieces]
    elif block["type"] == "tool_use":
        begun["input"] = {}
        deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
    return [
        {"type": "content_block_start", "index": index, "content_block": begun},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def named_events(events: list[dict[str, Any]]) -> bytes:
    """Return events as they go over the wire, each named by its type."""
    return b"".join(
        f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events
    )
