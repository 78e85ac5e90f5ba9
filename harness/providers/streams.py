"""Streamed chat completions: server-sent events folded into the one object they stand for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from harness.providers.bodies import Object, as_object, parse_json

_STARTS = (b"data:", b"event:", b"id:", b"retry:", b":")


def is_event_stream(body: bytes) -> bool:
    """Return True if a body is server-sent events; comments (keep-alive) may come first."""
    return body.lstrip().startswith(_STARTS)


def fold_events(body: bytes) -> Object:
    """Return the completion that a stream of chunks adds up to.

    Text fields of the deltas are joined, lists strung together, all else taken from the last chunk that
    has it. An error among the events is kept as `error`. Raises ValueError on a stream that stops before
    a finish reason or its end mark, or that holds no JSON.
    """
    whole: dict[str, Any] = {}
    choice: dict[str, Any] = {}
    deltas: dict[str, list[Any]] = {}
    ended = False
    for event in _events(body):
        if event.strip() == b"[DONE]":
            ended = True
            break
        chunk = as_object(parse_json(event))
        whole.update({key: value for key, value in chunk.items() if key != "choices" and value is not None})
        first = _first_choice(chunk.get("choices"))
        choice.update({key: value for key, value in first.items() if key != "delta" and value is not None})
        _add(deltas, as_object(first.get("delta")))
    if not (ended or choice.get("finish_reason") or whole.get("error")):
        raise ValueError("the stream stops before its end")
    if choice or deltas:
        message = {key: _joined(key, values) for key, values in deltas.items()}
        whole["choices"] = [{"message": message, **choice}]
    else:
        whole.setdefault("choices", [])
    return whole


def _events(body: bytes) -> Iterator[bytes]:
    for block in body.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n\n"):
        lines = [line[5:].removeprefix(b" ") for line in block.split(b"\n") if line.startswith(b"data:")]
        if lines:
            yield b"\n".join(lines)


def _first_choice(value: object) -> Object:
    for item in value if isinstance(value, list) else ():
        choice = as_object(item)
        if choice.get("index") in (None, 0):
            return choice
    return {}


def _add(message: dict[str, list[Any]], delta: Object) -> None:
    for key, value in delta.items():
        if value is not None:
            message.setdefault(key, []).append(value)


def _joined(key: str, values: list[Any]) -> object:
    if key != "role" and all(isinstance(value, str) for value in values):
        return "".join(values)
    if all(isinstance(value, list) for value in values):
        return [item for value in values for item in value]
    return values[-1]
