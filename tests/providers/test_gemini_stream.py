"""Gemini's two forms of an answer: as one object and as a stream, over the wire and as they are read."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_replies import Arrival, gemini_reply, sse_reply
from scripted_replies import Reply as ScriptedReply
from scripted_server import ScriptedServer
from wire_doubles import answer, ask, candidate, model, provider

from harness.identity import build
from harness.messages import Fault, Reply, Usage
from harness.outcomes import ExchangeOutcome
from harness.providers.base import get_adapter
from harness.providers.transport import Transport
from harness.sending import Sender

GEMINI = get_adapter("gemini")
OVERLOADED = {"error": {"code": 503, "message": "high demand", "status": "UNAVAILABLE"}}


def read(body: bytes | str) -> Reply | Fault:
    return GEMINI.read_reply(answer(body), provider("gemini"))


def part(*parts: Any, finish: str | None = None, **fields: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
    return {"candidates": [found | ({"finishReason": finish} if finish else {})], **fields}


CHUNKS = [
    part({"text": "hm", "thought": True}, usageMetadata={"promptTokenCount": 7, "thoughtsTokenCount": 2}),
    part({"text": "Hel"}, modelVersion="early"),
    part(
        {"text": "lo"},
        finish="STOP",
        modelVersion="served-2",
        usageMetadata={"promptTokenCount": 7, "candidatesTokenCount": 3, "thoughtsTokenCount": 2},
    ),
]


def events(chunks: list[Any], end: str = "\n\n") -> str:
    return "".join(f"data: {json.dumps(chunk)}{end}" for chunk in chunks)


@pytest.mark.parametrize(
    "body",
    [
        events(CHUNKS),
        events(CHUNKS, "\r\n\r\n"),
        ": hello\n\ndata:\n\n" + events(CHUNKS) + "data: [DONE]\n\n",
        json.dumps(CHUNKS, indent=2),
    ],
    ids=["events", "other line ends", "what gateways add", "a list, without alt=sse"],
)
def test_a_stream_reads_as_the_answer_it_adds_up_to(body: str) -> None:
    reply = read(body)
    assert isinstance(reply, Reply)
    assert (reply.outcome, reply.text, reply.reasoning) == (ExchangeOutcome.ANSWERED, "Hello", "hm")
    assert reply.usage == Usage(7, 5, reasoning_tokens=2)
    assert (reply.finish_reason, reply.served_model) == ("STOP", "served-2")


@given(cuts=st.lists(st.integers(0, 12), max_size=4), finish=st.sampled_from(["STOP", "OTHER", "SAFETY"]))
@settings(max_examples=60, deadline=None)
def test_streamed_and_plain_read_to_the_same_reply(cuts: list[int], finish: str) -> None:
    text = "twelve chars"
    usage = {"usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4, "totalTokenCount": 7}}
    plain = read(json.dumps(candidate([{"text": text}], finish, **usage)))
    edges = [0, *sorted(cuts), len(text)]
    pieces = [part({"text": text[start:end]}) for start, end in pairwise(edges)]
    last = {"candidates": [{"finishReason": finish, "index": 0}], "modelVersion": "served-1", **usage}
    assert read(events([*pieces, last])) == plain


@pytest.mark.parametrize(
    "tail",
    [
        events([OVERLOADED]),
        f"\n{json.dumps(OVERLOADED, indent=2)}\n",
        f"\n{json.dumps([OVERLOADED])}",
        f"event: error\n{events([OVERLOADED])}",
        f"event: error\n{events([OVERLOADED['error']])}",
    ],
    ids=["an event", "bare and indented", "a bare list", "a named event", "a named event without envelope"],
)
def test_an_error_in_mid_stream_is_an_error_and_its_text_no_answer(tail: str) -> None:  # F7 F34
    fault = read(events(CHUNKS[:2]) + tail)
    assert isinstance(fault, Fault)
    assert (fault.outcome, "high demand" in fault.message) == (ExchangeOutcome.UNAVAILABLE, True)
    assert fault.maybe_billed
    first = read(": hello\n\n" + tail.lstrip())
    assert isinstance(first, Fault)
    assert (first.outcome, first.maybe_billed) == (ExchangeOutcome.UNAVAILABLE, False)


def test_an_error_in_a_list_of_chunks_is_an_error() -> None:  # F7 F34
    assert read(json.dumps([*CHUNKS[:2], OVERLOADED])).outcome == ExchangeOutcome.UNAVAILABLE


@pytest.mark.parametrize(
    "body",
    [events(CHUNKS[:2]), events(CHUNKS)[:-60], json.dumps(CHUNKS[:2]), events(CHUNKS[:2]) + '{"error": {"co'],
    ids=["no last chunk", "half a chunk", "a list without its end", "half an error"],
)
def test_a_stream_without_a_finish_reason_is_cut_and_no_answer(body: str) -> None:  # F6 F34
    fault = read(body)
    assert isinstance(fault, Fault)
    assert (fault.outcome, fault.maybe_billed) == (ExchangeOutcome.MALFORMED_REPLY, True)


def test_a_blocked_prompt_is_complete_without_a_candidate() -> None:
    block = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}
    late = {"usageMetadata": {"promptTokenCount": 4, "totalTokenCount": 4}}
    reply = read(events([block, late]))
    assert isinstance(reply, Reply)
    assert (reply.outcome, reply.finish_reason) == (ExchangeOutcome.FILTERED, "PROHIBITED_CONTENT")
    assert reply.usage == Usage(4, 0)


def test_only_the_first_candidate_is_read() -> None:
    second = {"content": {"parts": [{"text": "other"}]}, "finishReason": "STOP", "index": 1}
    both = part({"text": "mine"}, finish="STOP")
    both["candidates"].append(second)
    reply = read(events([{"candidates": [second]}, both]))
    assert isinstance(reply, Reply)
    assert reply.text == "mine"


async def test_streaming_is_transport_the_same_body_to_another_address_under_the_same_key() -> None:  # F2
    def script(arrival: Arrival) -> ScriptedReply:
        return sse_reply(CHUNKS, done=False) if "alt=sse" in arrival.path else gemini_reply("Hello")

    async with Transport() as transport:
        with ScriptedServer(script) as server:
            there = {"base_url": f"{server.url}/v1beta", "endpoint": "google"}
            still = model("gemini", provider_fields=there)
            streamed = still.model_copy(update={"stream": True})
            found = []
            for one in (still, streamed):
                request = ask(params={"temperature": 0})
                exchange, meaning = await Sender(transport, {}).send(
                    one, request, build(request, one), pool="p"
                )
                assert isinstance(meaning, Reply)
                found.append((exchange.key, meaning.text))
    assert found[0] == found[1]
    assert found[0][1] == "Hello"
    # A stream opens at once, and is silent while the model thinks: the pause between chunks says nothing.
    assert build(ask(), streamed).wire.thinks_silently
    first, second = server.arrivals
    assert (first.path, second.path) == (
        "/v1beta/models/vendor-model-1:generateContent",
        "/v1beta/models/vendor-model-1:streamGenerateContent?alt=sse",
    )
    assert first.body == second.body
    assert exchange.raw.body.startswith(b"data: ")
