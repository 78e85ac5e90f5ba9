"""Server-sent events, and the one completion that a stream of OpenAI's chunks stands for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from harness.providers.bodies import Object, as_object, holds_error, parse_json

_STARTS = (b"data:", b"event:", b"id:", b"retry:", b":")


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event: its name (empty where it has none) and its data."""

    name: str
    data: bytes


def is_event_stream(body: bytes) -> bool:
    """Return True if a body is server-sent events; comments (keep-alive) may come first."""
    return body.lstrip().startswith(_STARTS)


def events(body: bytes) -> Iterator[Event]:
    """Return the events of a stream that hold data, in order; a last one that was cut is among them.

    Line ends of all three kinds, comments and fields without data are taken as the WHATWG HTML standard
    says (section 9.2.6, "Interpreting an event stream").
    """
    for block in body.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n\n"):
        lines = block.split(b"\n")
        data = [line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:")]
        if data:
            names = [line[6:].strip() for line in lines if line.startswith(b"event:")]
            yield Event(names[-1].decode("utf-8", "replace") if names else "", b"\n".join(data))


def fold_events(body: bytes) -> Object:
    """Return the completion that a stream of chunks adds up to.

    Text fields of the deltas are joined, lists strung together, all else taken from the last chunk that
    has it. An error among the events is kept as `error`, whatever was said before or after it. Raises
    ValueError on a stream that stops before its end, or that holds no JSON. An end mark alone does not
    make an answer whole: gateways send it after an upstream that was lost, and every server known here
    gives a finish reason.
    """
    whole: dict[str, Any] = {}
    choice: dict[str, Any] = {}
    deltas: dict[str, list[Any]] = {}
    ended = False
    for event in events(body):
        if event.data.strip() == b"[DONE]":
            ended = True
            break
        chunk = as_object(parse_json(event.data))
        if event.name == "error" or holds_error(chunk):
            whole.setdefault("error", chunk.get("error") or chunk or event.data.decode("utf-8", "replace"))
            chunk = {"usage": chunk.get("usage")}
        whole.update({key: value for key, value in chunk.items() if key != "choices" and value is not None})
        first = _first_choice(chunk.get("choices"))
        told = {key: value for key, value in first.items() if value not in (None, "")}
        choice.update({key: value for key, value in told.items() if key != "delta"})
        _add(deltas, as_object(first.get("delta")))
    whole_answer = choice.get("finish_reason") or (ended and whole and not (choice or deltas))
    if not (whole_answer or choice.get("error") or whole.get("error")):
        raise ValueError("the stream stops before its end")
    if choice or deltas:
        message = {key: _joined(key, values) for key, values in deltas.items()}
        whole["choices"] = [{"message": message, **choice}]
    else:
        whole.setdefault("choices", [])
    return whole


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
    if any(isinstance(value, list) for value in values):
        # Mistral's reasoning models send typed pieces first, and then plain text.
        return [item for value in values for item in (value if isinstance(value, list) else [value])]
    return values[-1]
