"""Adapters read anything that a server may send without raising, and read it the same every time."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wire_doubles import provider

from harness.messages import Fault, RawReply, Reply
from harness.providers.anthropic import AnthropicAdapter
from harness.providers.base import Adapter
from harness.providers.gemini import GeminiAdapter
from harness.providers.limit_headers import limits_from_headers
from harness.providers.litellm_format import REPLY, LiteLLMAdapter
from harness.providers.openai import OpenAIAdapter
from harness.providers.openai_responses import ResponsesAdapter

ADAPTERS: list[Adapter] = [
    OpenAIAdapter(now_s=lambda: 1.8e9),
    ResponsesAdapter(now_s=lambda: 1.8e9),
    GeminiAdapter(now_s=lambda: 1.8e9),
    AnthropicAdapter(now_s=lambda: 1.8e9),
    LiteLLMAdapter(now_s=lambda: 1.8e9),
]
EVERY = pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.kind)

NAMES = st.sampled_from(
    [
        "choices",
        "message",
        "content",
        "finish_reason",
        "usage",
        "error",
        "code",
        "status",
        "details",
        "metadata",
        "candidates",
        "parts",
        "text",
        "thought",
        "promptFeedback",
        "blockReason",
        "usageMetadata",
        "violations",
        "quotaId",
        "retryDelay",
        "reasoning",
        "refusal",
        "type",
        "detail",
        "errors",
        "completion_tokens",
        "raw",
        "prompt_filter_results",
        "content_filter_results",
        "failed_generation",
        "innererror",
        "finishReason",
        "model",
        "stop_reason",
        "stop_details",
        "content_block",
        "delta",
        "index",
        "thinking",
        "error_code",
        "output",
        "response",
        "summary",
        "item",
        "incomplete_details",
    ]
)
EVENTS = ["message_start", "content_block_delta", "text_delta", "message_delta", "message_stop", "end_turn"]
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=12),
    st.sampled_from([
            "stop", "length", "429", "RESOURCE_EXHAUSTED", "try again in 3s", "\ud800", "message",
            "output_text", "refusal", "completed", "incomplete", "failed", "response.completed",
            "response.output_item.done", *EVENTS,
        ]),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=25,
)
HEADERS = st.dictionaries(
    st.sampled_from(
        [
            "retry-after",
            "retry-after-ms",
            "date",
            "x-ratelimit-reset",
            "x-ratelimit-reset-tokens",
            "x-ratelimit-remaining-tokens",
            "x-ratelimit-limit-requests",
            "anthropic-ratelimit-input-tokens-reset",
        ]
    ),
    st.one_of(st.text(max_size=12), st.integers().map(str), st.floats().map(str)),
    max_size=3,
)
STATUSES = st.sampled_from([200, 204, 302, 400, 401, 403, 404, 413, 429, 500, 503, 504, 529, 599, 999])


def check(adapter: Adapter, raw: RawReply) -> None:
    own = provider(adapter.kind)
    for read in (adapter.read_reply, adapter.read_error):
        meaning = read(raw, own)
        assert meaning.outcome.serves is isinstance(meaning, Reply)
        if isinstance(meaning, Fault):
            assert meaning.wait_s is None or 0 <= meaning.wait_s < float("inf")
        assert read(raw, own) == meaning


@pytest.mark.slow
@EVERY
@given(status=STATUSES, headers=HEADERS, body=st.binary(max_size=200))
@settings(max_examples=150, deadline=None)
def test_any_bytes_are_read(adapter: Adapter, status: int, headers: dict[str, str], body: bytes) -> None:
    check(adapter, RawReply(status, headers, body))


@pytest.mark.slow
@EVERY
@given(status=STATUSES, headers=HEADERS, value=VALUES)
@settings(max_examples=150, deadline=None)
def test_any_json_is_read(adapter: Adapter, status: int, headers: dict[str, str], value: Any) -> None:
    check(adapter, RawReply(status, headers, json.dumps(value).encode()))


@given(value=VALUES, reply=VALUES)
@settings(max_examples=150, deadline=None)
def test_any_translation_is_read(value: Any, reply: Any) -> None:
    raw = RawReply(200, {REPLY: json.dumps(reply)}, json.dumps(value).encode())
    check(LiteLLMAdapter(now_s=lambda: 1.8e9), raw)


@EVERY
@given(value=VALUES, junk=st.text(max_size=10))
@settings(max_examples=100, deadline=None)
def test_any_stream_is_read(adapter: Adapter, value: Any, junk: str) -> None:
    body = f"data: {json.dumps(value)}\n\n{junk}\ndata: {json.dumps(value)}\n\ndata: [DONE]\n\n"
    check(adapter, RawReply(200, {}, body.encode("utf-8", "surrogatepass")))
    check(adapter, RawReply(200, {}, json.dumps([value, {"candidates": [value]}]).encode()))


@EVERY
def test_endless_nesting_is_read(adapter: Adapter) -> None:
    for opening, closing in (
        (b'{"error":', b"}"),
        (b"[", b"]"),
        (b'{"error":[', b"]}"),
        (b'{"message":', b"}"),
    ):
        for depth in (900, 50_000):
            check(adapter, RawReply(400, {}, opening * depth + b"1" + closing * depth))


@given(headers=HEADERS)
@settings(max_examples=100, deadline=None)
def test_any_limit_headers_are_read(headers: dict[str, str]) -> None:
    for dialect in ("openai", "azure", "anthropic", "groq", "mistral", "none"):
        limits = limits_from_headers(dialect, headers)
        assert limits.requests_per_minute is None or limits.requests_per_minute > 0
