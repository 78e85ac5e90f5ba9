"""How each wire format says the same things: an answer, a stream of it, and every kind of error.

A row here is all that a new adapter needs for the contract tests; one that speaks chat completions needs
none. Error bodies have each provider's own shape, as its page on errors has it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from scripted_replies import Reply, chat_reply, gemini_reply, json_reply, responses_reply, responses_stream
from wire_doubles import message, message_events, named_events

TEXT = "the left lower molar is carious"

Events: TypeAlias = tuple[bytes, ...]


@dataclass(frozen=True)
class Said:
    """What a provider says of one kind of error: `status`, its own `code` for it, and the words."""

    status: int
    code: str
    words: str


@dataclass(frozen=True)
class Dialect:
    """One wire format as a server speaks it.

    `events` are those of a streamed `answer`, each as it goes over the wire; `error_event` is an error among
    them. `errors` are by kind: see `KINDS`.
    """

    answer: Callable[[str], Reply]
    blocked: Callable[[], Reply]
    error: Callable[[Said], Mapping[str, Any]]
    errors: Mapping[str, Said]
    events: Callable[[str], Events]
    error_event: Callable[[Said], bytes]
    wait: Callable[[Said, float], Reply] | None = None
    block: str = "filtered"
    """Outcome of a block: `refused` where the provider says that it is the model's own refusal."""
    model: str = "m"

    def fails(self, kind: str, status: int | None = None, **headers: str) -> Reply:
        """Return an error of a kind, with another status where one is given."""
        said = self.errors[kind]
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return json_reply(self.error(said), said.status if status is None else status, named)

    def limited(self, wait_s: float) -> Reply:
        """Return a 429 that says how long to wait, in the place where this provider says it."""
        said = self.errors["rate_limited"]
        if self.wait is not None:
            return self.wait(said, wait_s)
        return json_reply(self.error(said), 429, {"retry-after": f"{wait_s:g}"})

    def streamed(self, events: Sequence[bytes], interval_s: float = 0.0) -> Reply:
        """Return events as a chunked stream that ends properly, whatever they say."""
        headers = {"content-type": "text/event-stream"}
        return Reply(200, headers, tuple(events), interval_s=interval_s, declared=-1)


KINDS = (
    "bad_request", "unprocessable", "auth", "forbidden", "model_not_found", "too_large", "context_length",
    "quota", "rate_limited", "internal", "unavailable", "overloaded",
)  # fmt: skip
"""Kinds of errors that every dialect words."""


def _data(value: object) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()


# -- chat completions: platform.openai.com/docs/guides/error-codes

_OPENAI = {
    "bad_request": Said(400, "invalid_value", "Invalid value for 'temperature': expected a number."),
    "unprocessable": Said(422, "invalid_value", "Input should be a valid list."),
    "auth": Said(401, "invalid_api_key", "Incorrect API key provided."),
    "forbidden": Said(403, "unsupported_country", "Country, region, or territory not supported."),
    "model_not_found": Said(404, "model_not_found", "The model `m` does not exist, or you have no access."),
    "too_large": Said(413, "request_too_large", "The request is too large."),
    "context_length": Said(
        400, "context_length_exceeded", "This model's maximum context length is 8192 tokens."
    ),
    "quota": Said(429, "insufficient_quota", "You exceeded your current quota, please check your plan."),
    "rate_limited": Said(429, "rate_limit_exceeded", "Rate limit reached for m on requests per min (RPM)."),
    "internal": Said(500, "server_error", "The server had an error while processing your request."),
    "unavailable": Said(503, "server_error", "The service is temporarily unavailable."),
    "overloaded": Said(503, "server_is_overloaded", "The engine is currently overloaded, try again later."),
}


def _openai_error(said: Said) -> Mapping[str, Any]:
    kind = "server_error" if said.status >= 500 else "invalid_request_error"
    return {"error": {"message": said.words, "type": kind, "param": None, "code": said.code}}


def _chat_events(text: str) -> Events:
    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _data({"object": "chat.completion.chunk", "model": "m", "choices": [choice]})

    half = len(text) // 2
    counts = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    return (
        chunk({"role": "assistant", "content": ""}),
        chunk({"content": text[:half]}),
        chunk({"content": text[half:]}),
        chunk({}, "stop"),
        _data({"object": "chat.completion.chunk", "model": "m", "choices": [], "usage": counts}),
        b"data: [DONE]\n\n",
    )


CHAT = Dialect(
    answer=chat_reply,
    blocked=lambda: chat_reply(None, "content_filter"),
    error=_openai_error,
    errors=_OPENAI,
    events=_chat_events,
    error_event=lambda said: _data(_openai_error(said)),
)


# -- OpenAI's responses

RESPONSES = Dialect(
    answer=responses_reply,
    blocked=lambda: responses_reply(None, "content_filter"),
    error=_openai_error,
    errors=_OPENAI,
    events=lambda text: responses_stream(text).pieces,
    error_event=lambda said: (
        b"event: error\n"
        + _data({"type": "error", "code": said.code, "message": said.words, "param": None})
    ),
)


# -- Gemini: ai.google.dev/gemini-api/docs/troubleshooting, google.rpc.Status

_GEMINI = {
    "bad_request": Said(400, "INVALID_ARGUMENT", "Invalid value at 'generation_config.temperature'."),
    "unprocessable": Said(400, "INVALID_ARGUMENT", "Request contains an invalid argument."),
    "auth": Said(401, "UNAUTHENTICATED", "Request had invalid authentication credentials."),
    "forbidden": Said(403, "PERMISSION_DENIED", "Your project has been denied access."),
    "model_not_found": Said(404, "NOT_FOUND", "models/m is not found for API version v1beta."),
    "too_large": Said(413, "INVALID_ARGUMENT", "Request payload size exceeds the limit: 20971520 bytes."),
    "context_length": Said(
        400, "INVALID_ARGUMENT", "The input token count (9) exceeds the maximum number of tokens allowed (8)."
    ),
    "quota": Said(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan."),
    "rate_limited": Said(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
    "internal": Said(500, "INTERNAL", "An internal error has occurred. Please retry."),
    "unavailable": Said(503, "UNAVAILABLE", "The service is currently unavailable."),
    "overloaded": Said(503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
}


def _gemini_error(said: Said) -> dict[str, Any]:
    body: dict[str, Any] = {"code": said.status, "message": said.words, "status": said.code}
    if "current quota" in said.words:
        quota = {"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "quotaValue": "50"}
        kind = "type.googleapis.com/google.rpc.QuotaFailure"
        body["details"] = [{"@type": kind, "violations": [quota]}]
    return {"error": body}


def _gemini_wait(said: Said, wait_s: float) -> Reply:
    body = _gemini_error(said)
    kind = "type.googleapis.com/google.rpc.RetryInfo"
    body["error"]["details"] = [{"@type": kind, "retryDelay": f"{wait_s:g}s"}]
    return json_reply(body, 429)


def _gemini_events(text: str) -> Events:
    def chunk(part: str, finish: str | None = None) -> bytes:
        candidate: dict[str, Any] = {"content": {"role": "model", "parts": [{"text": part}]}, "index": 0}
        if finish is not None:
            candidate["finishReason"] = finish
        counts = {"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18}
        return _data({"candidates": [candidate], "usageMetadata": counts, "modelVersion": "m"})

    third = len(text) // 3
    return chunk(text[:third]), chunk(text[third : 2 * third]), chunk(text[2 * third :], "STOP")


GEMINI = Dialect(
    answer=gemini_reply,
    blocked=lambda: gemini_reply(None, block_reason="PROHIBITED_CONTENT"),
    error=_gemini_error,
    errors=_GEMINI,
    events=_gemini_events,
    error_event=lambda said: _data(_gemini_error(said)),
    wait=_gemini_wait,
)


# -- Anthropic: docs.anthropic.com/en/api/errors

_ANTHROPIC = {
    "bad_request": Said(400, "invalid_request_error", "temperature: Input should be a valid number"),
    "unprocessable": Said(422, "invalid_request_error", "messages: Field required"),
    "auth": Said(401, "authentication_error", "invalid x-api-key"),
    "forbidden": Said(403, "permission_error", "Your API key does not have permission to use this."),
    "model_not_found": Said(404, "not_found_error", "model: m"),
    "too_large": Said(413, "request_too_large", "Request exceeds the maximum size"),
    "context_length": Said(400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"),
    "quota": Said(400, "invalid_request_error", "Your credit balance is too low to access the API."),
    "rate_limited": Said(429, "rate_limit_error", "This request would exceed your rate limit."),
    "internal": Said(500, "api_error", "Internal server error"),
    "unavailable": Said(503, "api_error", "Service temporarily unavailable"),
    "overloaded": Said(529, "overloaded_error", "Overloaded"),
}


def _anthropic_error(said: Said) -> Mapping[str, Any]:
    error = {"type": said.code, "message": said.words}
    return {"type": "error", "error": error, "request_id": "req_1"}


ANTHROPIC = Dialect(
    answer=lambda text: json_reply(message(text)),
    blocked=lambda: json_reply(message([], "refusal")),
    error=_anthropic_error,
    errors=_ANTHROPIC,
    events=lambda text: tuple(named_events([event]) for event in message_events(message(text))),
    error_event=lambda said: b"event: error\n" + _data(_anthropic_error(said)),
    block="refused",
)


DIALECTS = {
    "openai-responses": RESPONSES,
    "gemini": GEMINI,
    "anthropic": ANTHROPIC,
    "litellm": replace(CHAT, model="openai/m"),
}


def dialect_of(adapter: str) -> Dialect:
    """Return how an adapter's servers speak; chat completions where nothing else is said."""
    return DIALECTS.get(adapter, CHAT)
