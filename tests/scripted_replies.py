"""What a scripted server is told to do: replies, their distortions, and how scripts are put together."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

Cut: TypeAlias = Literal["close", "reset", "silence"]


@dataclass(frozen=True)
class Arrival:
    """One request as it arrived."""

    number: int
    nth: int
    at: float
    path: str
    headers: Mapping[str, str]
    body: bytes
    connection: int
    nth_on_connection: int
    in_flight: int

    @property
    def json(self) -> Any:
        """The body as JSON; None where it is none."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None

    @property
    def text(self) -> str:
        """All text parts of the messages, joined by line ends."""
        found: list[str] = []
        _collect_text(self.json, found)
        return "\n".join(found)


@dataclass(frozen=True)
class Reply:
    """An answer, and how it goes over the wire.

    `pieces` are sent one by one with `interval_s` before each but the first; `declared` is the content-length
    that is claimed (None: the true one; -1: chunked); after `cut_after` bytes of the body the connection ends
    by `cut`, or falls silent. `interim` goes before the head as it is; `extra_head` are header lines beside
    `headers` (each with its line end), which may contradict them; `endless_head` is a line of the head that
    is repeated until the client leaves.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    pieces: tuple[bytes, ...] = (b"",)
    delay_s: float = 0.0
    interval_s: float = 0.0
    header_drip_s: float = 0.0
    declared: int | None = None
    cut_after: int | None = None
    cut: Cut = "close"
    close: bool = False
    interim: bytes = b""
    extra_head: bytes = b""
    endless_head: bytes = b""

    @property
    def body(self) -> bytes:
        """The whole body."""
        return b"".join(self.pieces)


@dataclass(frozen=True)
class Hang:
    """No answer at all: the connection is reset, closed, or left in silence."""

    how: Literal["reset", "close", "silence"]


RESET, CLOSE, SILENCE = Hang("reset"), Hang("close"), Hang("silence")
Behaviour: TypeAlias = Reply | Hang
Script: TypeAlias = Callable[[Arrival], Behaviour | None]


def json_reply(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    """Return a JSON answer."""
    body = json.dumps(value).encode("utf-8")
    return Reply(status, {"content-type": "application/json", **(headers or {})}, (body,))


def chat_reply(
    text: str | None,
    finish: str | None = "stop",
    usage: tuple[int, int] | None = (11, 7),
    *,
    model: str = "scripted",
    reasoning: str | None = None,
    refusal: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """Return a chat completion in OpenAI's format."""
    message: dict[str, object] = {"role": "assistant", "content": text, "refusal": refusal}
    if reasoning is not None:
        message["reasoning_content"] = reasoning
    body: dict[str, object] = {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }
    if usage is not None:
        given, written = usage
        total = given + written
        body["usage"] = {"prompt_tokens": given, "completion_tokens": written, "total_tokens": total}
    return json_reply(body, headers=headers)


def gemini_reply(
    text: str | None,
    finish: str = "STOP",
    usage: tuple[int, int] | None = (11, 7),
    *,
    block_reason: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """Return a generateContent answer in Gemini's format; with `block_reason`, one without candidates."""
    body: dict[str, object] = {"modelVersion": "scripted", "responseId": "scripted"}
    if block_reason is not None:
        body["promptFeedback"] = {"blockReason": block_reason}
    else:
        parts = [] if text is None else [{"text": text}]
        body["candidates"] = [
            {"content": {"role": "model", "parts": parts}, "finishReason": finish, "index": 0}
        ]
    if usage is not None:
        given, written = usage
        body["usageMetadata"] = {
            "promptTokenCount": given,
            "candidatesTokenCount": written,
            "totalTokenCount": given + written,
        }
    return json_reply(body, headers=headers)


def responses_reply(
    text: str | None,
    reason: str | None = None,
    usage: tuple[int, int] | None = (11, 7),
    *,
    model: str = "scripted",
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """Return an answer in the format of OpenAI's responses; with a `reason` it is incomplete."""
    return json_reply(_response(text, reason, usage, model), headers=headers)


def responses_stream(text: str, reason: str | None = None, *, interval_s: float = 0.0) -> Reply:
    """Return the same answer as a stream of named events, its text in two pieces."""
    whole = _response(text, reason, (11, 7), "scripted")
    events = [
        {"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}},
        *({"type": "response.output_text.delta", "delta": part} for part in (text[:5], text[5:])),
        {"type": f"response.{whole['status']}", "response": whole},
    ]
    pieces = tuple(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in events)
    return Reply(200, {"content-type": "text/event-stream"}, pieces, interval_s=interval_s, declared=-1)


def _response(
    text: str | None, reason: str | None, usage: tuple[int, int] | None, model: str
) -> dict[str, object]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    status = "completed" if reason is None else "incomplete"
    said = {"type": "message", "role": "assistant", "status": status, "content": content}
    return {
        "id": "resp-scripted",
        "object": "response",
        "status": status,
        "error": None,
        "incomplete_details": None if reason is None else {"reason": reason},
        "model": model,
        "output": [] if text is None else [said],
        "usage": None if usage is None else {"input_tokens": usage[0], "output_tokens": usage[1]},
    }


def sse_reply(events: Sequence[object], interval_s: float = 0.0, *, done: bool = True) -> Reply:
    """Return a stream of server-sent events in chunked encoding, `interval_s` between two."""
    pieces = [f"data: {json.dumps(event)}\n\n".encode() for event in events]
    if done:
        pieces.append(b"data: [DONE]\n\n")
    headers = {"content-type": "text/event-stream"}
    return Reply(200, headers, tuple(pieces), interval_s=interval_s, declared=-1)


def status_reply(
    status: int,
    message: str = "scripted error",
    *,
    code: str | int | None = None,
    kind: str = "scripted_error",
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """Return an error in OpenAI's format."""
    error = {"message": message, "type": kind, "param": None, "code": code}
    return json_reply({"error": error}, status, headers)


def rate_limited(wait_s: float | None = None, message: str = "slow down") -> Reply:
    """Return a 429, with Retry-After where a wait is given (whole seconds) or retry-after-ms."""
    headers: dict[str, str] = {}
    if wait_s is not None:
        whole = float(wait_s).is_integer()
        headers = {"retry-after": str(int(wait_s))} if whole else {"retry-after-ms": str(int(wait_s * 1000))}
    return status_reply(429, message, code="rate_limit_exceeded", kind="requests", headers=headers)


def html_reply(status: int = 200) -> Reply:
    """Return the kind of page that a gateway shows."""
    page = b"<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
    return Reply(status, {"content-type": "text/html"}, (page,))


def huge_reply(size: int) -> Reply:
    """Return a 200 of `size` bytes in pieces of 1 MiB."""
    piece = b"x" * min(size, 1 << 20)
    return Reply(200, {"content-type": "application/json"}, tuple([piece] * -(-size // len(piece))))


def half(reply: Reply, share: float = 0.5, how: Cut = "close") -> Reply:
    """Cut the body after a share of it; its content-length stays whole."""
    return replace(reply, cut_after=int(len(reply.body) * share), cut=how)


def chunked(reply: Reply, size: int = 64) -> Reply:
    """Send the body in chunks of `size` bytes; with `half` it ends before the last chunk."""
    body = reply.body
    return replace(
        reply, pieces=tuple(body[at : at + size] for at in range(0, len(body), size)), declared=-1
    )


def after_interim(reply: Reply, *statuses: int) -> Reply:
    """Send interim answers (100, 102, 103) before the real one."""
    heads = [f"HTTP/1.1 {status} Interim\r\nlink: </x>; rel=preload\r\n\r\n" for status in statuses]
    return replace(reply, interim="".join(heads).encode("ascii"))


def endless_headers(reply: Reply, line: bytes = b"x-more: " + b"m" * 4000 + b"\r\n") -> Reply:
    """Send header lines until the client leaves."""
    return replace(reply, endless_head=line)


def redirect_reply(status: int, location: str) -> Reply:
    """Return a redirect to another address."""
    return Reply(status, {"content-type": "text/html", "location": location}, (b"<html>moved</html>",))


def gzip_reply(reply: Reply, *, sound: bool) -> Reply:
    """Say that the body is compressed, and compress it, or send garbage."""
    body = gzip.compress(reply.body) if sound else b"\x1f\x8b" + b"\xff" * 40
    return replace(reply, headers={**reply.headers, "content-encoding": "gzip"}, pieces=(body,))


def wrong_length(reply: Reply, off: int) -> Reply:
    """Declare `off` bytes more than are sent (fewer when negative), and close at the end."""
    return replace(reply, declared=len(reply.body) + off, close=True)


def dripping(reply: Reply, interval_s: float, size: int = 1, *, headers: bool = False) -> Reply:
    """Send `size` bytes of the body every `interval_s`, or a byte of the headers every `interval_s`."""
    body = reply.body
    pieces = tuple(body[at : at + size] for at in range(0, len(body), size)) or (b"",)
    if headers:
        return replace(reply, header_drip_s=interval_s)
    return replace(reply, pieces=pieces, interval_s=interval_s)


def delayed(reply: Reply, delay_s: float) -> Reply:
    """Be silent for a time first."""
    return replace(reply, delay_s=delay_s)


def closing(reply: Reply) -> Reply:
    """Close the connection after the answer, without having said so."""
    return replace(reply, close=True)


def in_turn(*behaviours: Behaviour | None) -> Script:
    """Return a script that goes through behaviours by arrival, then answers by default."""
    return lambda arrival: behaviours[arrival.number] if arrival.number < len(behaviours) else None


def by_sends(*behaviours: Behaviour | None) -> Script:
    """Return a script that goes through behaviours for each request by itself, then answers by default."""
    return lambda arrival: behaviours[arrival.nth - 1] if arrival.nth <= len(behaviours) else None


def burst(count: int, behaviour: Behaviour) -> Script:
    """Return a script that treats the first `count` arrivals so, and the others by default."""
    return lambda arrival: behaviour if arrival.number < count else None


def default_reply(arrival: Arrival, text: str | None = None, finish: str | None = None) -> Reply:
    """Return an answer in the format of the path: `text`, else an echo of the request's text."""
    said = arrival.text if text is None else text
    if "generateContent" in arrival.path:
        return gemini_reply(said, {"length": "MAX_TOKENS"}.get(finish or "", "STOP"))
    model = (arrival.json or {}).get("model", "scripted") if isinstance(arrival.json, dict) else "scripted"
    if arrival.path.endswith("/responses"):
        reason = {"length": "max_output_tokens", "content_filter": "content_filter"}.get(finish or "")
        return responses_reply(said, reason, model=str(model))
    return chat_reply(said, finish or "stop", model=str(model))


_MARKER = re.compile(r"<<(?P<name>[a-z]+)(?:=(?P<value>[^<>]*?))?(?: x(?P<times>\d+))?>>")


def by_markers(arrival: Arrival) -> Behaviour:
    """Return what the markers in an arrival's text ask for; the module's docstring lists them."""
    before, options = 0, {}
    for marker in _MARKER.finditer(arrival.text):
        name, value = marker["name"], marker["value"] or ""
        if name in {"text", "finish"}:
            options[name] = value
            continue
        times = int(marker["times"]) if marker["times"] else None
        if times is None or arrival.nth <= before + times:
            return _marked(name, value, default_reply(arrival, **options))
        before += times
    return default_reply(arrival, **options)


def _marked(name: str, value: str, reply: Reply) -> Behaviour:
    makers: dict[str, Callable[[], Behaviour]] = {
        "status": lambda: status_reply(int(value)),
        "wait": lambda: rate_limited(float(value)),
        "delay": lambda: delayed(reply, float(value)),
        "reset": lambda: RESET,
        "close": lambda: CLOSE,
        "silence": lambda: SILENCE,
        "drip": lambda: dripping(reply, float(value or 1)),
        "half": lambda: half(reply, float(value or 0.5)),
        "long": lambda: wrong_length(reply, int(value or 10)),
        "short": lambda: wrong_length(reply, -int(value or 10)),
        "html": lambda: html_reply(int(value or 200)),
        "empty": lambda: Reply(200, {"content-type": "application/json"}),
        "huge": lambda: huge_reply(int(value or 1 << 20)),
    }
    if name not in makers:
        raise ValueError(f"unknown marker {name!r}; known: {', '.join(sorted(makers))}")
    return makers[name]()


def _collect_text(value: Any, found: list[str]) -> None:
    if isinstance(value, dict):
        for name, item in value.items():
            if name in {"text", "content"} and isinstance(item, str):
                found.append(item)
            else:
                _collect_text(item, found)
    elif isinstance(value, list):
        for item in value:
            _collect_text(item, found)
