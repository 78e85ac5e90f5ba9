"""The one answer that a stream of Google's chunks adds up to.

`streamGenerateContent` sends complete `GenerateContentResponse` objects, each with the next part of the text:
as server-sent events with `alt=sse`, else as a JSON list. There is no end mark; the last chunk of an answer
has a finish reason. A fault in mid-stream is an object with `error`, as an event or, seen with shed load, as
bare JSON behind the last event.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from harness.providers.bodies import Object, as_object, as_text, parse_json
from harness.providers.streams import Event, beside_events, events, is_event_stream

_EMPTY = (b"", b"[DONE]")
"""What gateways put between and behind the chunks."""


def read_chunks(body: bytes) -> object:
    """Return the answer in a body of any form, as one object like that of `generateContent`.

    Raises ValueError on what is no JSON, and on a stream that stops before its finish reason.
    """
    if is_event_stream(body):
        said = [_chunk(event) for event in events(body) if event.data.strip() not in _EMPTY]
        return fold_chunks([*said, *_bare(body)])
    value = parse_json(body)
    return fold_chunks(value) if isinstance(value, list) and any(map(_is_chunk, value)) else value


def fold_chunks(chunks: Sequence[object]) -> Object:
    """Return the answer that chunks add up to: parts strung together, for all else the last word counts.

    An error in any of them is kept as `error`. Raises ValueError where no chunk ends the answer.
    """
    whole: dict[str, Any] = {}
    candidate: dict[str, Any] = {}
    parts: list[object] = []
    for chunk in map(as_object, chunks):
        for key, value in chunk.items():
            if key in ("promptFeedback", "usageMetadata"):
                # Counts grow from chunk to chunk; a later chunk may leave out what an earlier one said.
                whole[key] = {**as_object(whole.get(key)), **as_object(value)}
            elif key != "candidates" and value is not None:
                whole[key] = value
        first = first_candidate(chunk)
        content = as_object(first.get("content")).get("parts")
        parts.extend(content if isinstance(content, list) else ())
        candidate.update({key: value for key, value in first.items() if value is not None})
    blocked = as_text(as_object(whole.get("promptFeedback")).get("blockReason"))
    if not (candidate.get("finishReason") or blocked or whole.get("error")):
        raise ValueError("the stream stops before its finish reason")
    if candidate:
        content = {**as_object(candidate.get("content")), "parts": parts}
        whole["candidates"] = [{**candidate, "content": content}]
    return whole


def _chunk(event: Event) -> object:
    value = parse_json(event.data)
    named = event.name == "error" and not as_object(value).get("error")
    return {"error": value or "an error event"} if named else value


def _is_chunk(value: object) -> bool:
    return any(key in as_object(value) for key in ("candidates", "promptFeedback"))


def first_candidate(chunk: Object) -> Object:
    """Return the candidate of an answer that is read: the one of index 0, else an empty one."""
    candidates = chunk.get("candidates")
    for item in candidates if isinstance(candidates, list) else ():
        candidate = as_object(item)
        if candidate.get("index") in (None, 0):
            return candidate
    return {}


def _bare(body: bytes) -> Iterator[object]:
    """Yield the JSON that stands in a stream without being an event."""
    loose = beside_events(body)
    try:
        value = parse_json(loose) if loose else None
    except ValueError:
        return  # half an error says no more than that the stream was cut
    yield from value if isinstance(value, list) else (value,)
