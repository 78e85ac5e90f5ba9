"""What answers of status 200 mean."""

from __future__ import annotations

import json
from typing import Any

import pytest
from wire_doubles import answer, candidate, completion, provider

from harness.messages import Fault, Reply, Usage
from harness.outcomes import ExchangeOutcome
from harness.providers.base import get_adapter

OPENAI, GEMINI = get_adapter("openai"), get_adapter("gemini")


def chat(body: Any, **fields: Any) -> Reply | Fault:
    return OPENAI.read_reply(answer(body), provider("openai", **fields))


def google(body: Any) -> Reply | Fault:
    return GEMINI.read_reply(answer(body), provider("gemini"))


TOOL = {"tool_calls": [{"type": "function", "function": {"name": "f", "arguments": "{}"}}]}


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        (completion(), "answered"),
        (completion({"content": None}), "empty"),
        (completion({"content": " \n"}), "empty"),
        (completion({}), "empty"),
        ({**completion(), "choices": []}, "empty"),
        ({**completion(), "choices": None}, "empty"),
        ({"choices": [{"finish_reason": "stop"}]}, "empty"),
        (completion({"content": None, "reasoning": "hm"}), "empty"),
        (completion({"content": "", "reasoning": "hm"}, "length"), "truncated"),
        (completion({"content": "half an ans"}, "length"), "truncated"),
        (completion({"content": None, "refusal": "no"}), "refused"),
        (completion({"content": None}, "content_filter"), "filtered"),
        ({"choices": [{"finish_reason": "content_filter"}]}, "filtered"),
        (completion({"content": None, **TOOL}, "tool_calls"), "empty"),
        (completion({"content": "text too", **TOOL}, "tool_calls"), "answered"),
        (completion({"content": "half"}, "abort"), "unavailable"),
        (completion({"content": "half"}, "error"), "unavailable"),
        (
            {
                "choices": [],
                "prompt_filter_results": [{"content_filter_results": {"violence": {"filtered": True}}}],
            },
            "filtered",
        ),
        (
            {"choices": [{"error": {"code": 429, "message": "slow"}, "finish_reason": "error"}]},
            "rate_limited",
        ),
    ],
)
def test_chat_answers_have_distinct_outcomes(body: Any, outcome: str) -> None:  # F6
    assert chat(body).outcome == outcome


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        (candidate(), "answered"),
        (candidate([]), "empty"),
        ({"candidates": []}, "empty"),
        ({"candidates": [{"finishReason": "STOP"}]}, "empty"),
        ({"usageMetadata": {"promptTokenCount": 3}}, "empty"),
        (candidate([{"text": "hm", "thought": True}]), "empty"),
        (candidate([{"text": "hm", "thought": True}], "MAX_TOKENS"), "truncated"),
        (candidate([{"text": "half"}], "MAX_TOKENS"), "truncated"),
        (candidate([{"functionCall": {"name": "f"}}]), "empty"),
        (candidate([{"text": "and"}, {"functionCall": {"name": "f"}}]), "answered"),
        (candidate([{"functionCall": {"name": "f"}}], "MALFORMED_FUNCTION_CALL"), "empty"),
        *(
            (candidate([{"text": "half"}], reason), "truncated")
            for reason in (
                "LANGUAGE",
                "OTHER",
                "MALFORMED_FUNCTION_CALL",
                "MALFORMED_RESPONSE",
                "UNEXPECTED_TOOL_CALL",
                "A_NEW_REASON",
            )
        ),
        ({"candidates": [{"content": {"parts": [{"text": "half"}]}}]}, "truncated"),
        (candidate([{"text": "whole"}], "stop"), "answered"),
        ({"promptFeedback": {"blockReason": "SAFETY"}}, "filtered"),
        *(
            (candidate([], reason), "filtered")
            for reason in ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR")
        ),
    ],
)
def test_gemini_answers_have_distinct_outcomes(body: Any, outcome: str) -> None:  # F6
    assert google(body).outcome == outcome


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"  \n",
        b"<html><title>Sign in</title></html>",
        b'{"choices": [{"mess',
        b"[]",
        b'"text"',
        b"null",
        b"{}",
        b"\xff\xfe\x00",
        b"[" * 100_000,
    ],
)
@pytest.mark.parametrize("read", [chat, google])
def test_a_200_that_is_no_answer_is_malformed_and_may_have_been_paid(body: bytes, read: Any) -> None:  # F7
    fault = read(body)
    assert isinstance(fault, Fault)
    assert (fault.outcome, fault.maybe_billed) == (ExchangeOutcome.MALFORMED_REPLY, True)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        ({"code": 429, "message": "slow down"}, "rate_limited"),
        ({"code": 502, "message": "upstream"}, "unavailable"),
        ({"code": "insufficient_quota", "message": ""}, "quota_exhausted"),
        ({"type": "invalid_request_error", "message": "bad value"}, "bad_request"),
        ({"message": "Rate limit reached, try again in 3s"}, "rate_limited"),
        ({"message": "something new"}, "unknown"),
        ("something new", "unknown"),
        ({"message": "Provider returned error"}, "unavailable"),
        ({"message": "Internal Server Error"}, "unavailable"),
        ({"message": "the request timed out"}, "timeout"),
        ({"code": 404, "message": "The model `x` does not exist"}, "model_not_found"),
        (
            {"code": 403, "message": "flagged", "metadata": {"reasons": ["x"], "raw": "requires moderation"}},
            "filtered",
        ),
    ],
)
def test_an_error_within_a_200_counts_by_what_it_says(error: Any, outcome: str) -> None:  # F7
    assert chat({"error": error}).outcome == outcome
    assert google({"error": error}).outcome == outcome


def test_reasoning_is_kept_but_is_no_answer() -> None:  # F6
    reply = chat(completion({"content": "A", "reasoning_content": "because"}))
    assert isinstance(reply, Reply)
    assert (reply.text, reply.reasoning) == ("A", "because")
    thought = google(candidate([{"text": "because", "thought": True}, {"text": "A"}]))
    assert isinstance(thought, Reply)
    assert (thought.text, thought.reasoning) == ("A", "because")


def test_reasoning_is_read_from_the_fields_that_the_provider_names() -> None:
    message = {"content": "A", "thoughts": [{"type": "text", "text": "be"}, {"summary": "cause"}]}
    reply = chat(completion(message), reasoning_fields=["thoughts"])
    assert isinstance(reply, Reply)
    assert reply.reasoning == "because"


def test_content_in_typed_chunks_is_read_as_text_and_thinking() -> None:
    chunks = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "A"},
        "B",
    ]
    reply = chat(completion({"content": chunks}))
    assert isinstance(reply, Reply)
    assert (reply.text, reply.reasoning) == ("AB", "hm")


def test_think_tags_nul_and_lone_surrogates_stay_in_the_text() -> None:
    text = "<think>\x00\ud83d</think> yes"
    reply = chat(json.dumps(completion({"content": text})))
    assert isinstance(reply, Reply)
    assert reply.text == text


def test_blank_lines_before_the_json_are_skipped() -> None:
    assert chat(b"\n    \n\n" + json.dumps(completion()).encode()).outcome == "answered"


def test_usage_tells_reasoning_and_cached_tokens_within_the_totals() -> None:
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 7,
        "total_tokens": 17,
        "completion_tokens_details": {"reasoning_tokens": 4},
        "prompt_tokens_details": {"cached_tokens": 6},
    }
    assert chat(completion(usage=usage)).usage == Usage(10, 7, 4, 6)


def test_reasoning_that_a_vendor_counts_beside_the_output_is_added_to_it() -> None:
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 7,
        "total_tokens": 21,
        "completion_tokens_details": {"reasoning_tokens": 4},
    }
    assert chat(completion(usage=usage)).usage == Usage(10, 11, 4, None)


def test_gemini_thoughts_are_part_of_the_output() -> None:
    usage = {
        "promptTokenCount": 10,
        "candidatesTokenCount": 3,
        "thoughtsTokenCount": 5,
        "cachedContentTokenCount": 2,
    }
    assert google(candidate(usageMetadata=usage)).usage == Usage(10, 8, 5, 2)


def test_tokens_that_a_provider_did_not_count_are_unknown_and_not_zero() -> None:
    assert chat(completion(usage={"prompt_tokens": None, "completion_tokens": "7"})).usage == Usage()
    assert google(candidate()).usage == Usage()


def test_the_model_that_answered_is_told() -> None:
    assert [
        reply.served_model for reply in (chat(completion()), google(candidate())) if isinstance(reply, Reply)
    ] == ["served-1", "served-1"]


STREAM = (
    ": keep-alive\n\n"
    'data: {"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Hel"}}]}\n\n'
    'data: {"choices":[{"index":0,"delta":{"content":"lo","reasoning":"h"}}]}\r\n\r\n'
    'data: {"choices":[{"index":0,"delta":{"reasoning":"m"},"finish_reason":"stop"}]}\n\n'
    'data: {"choices":[],"usage":{"prompt_tokens":2,"completion_tokens":3}}\n\n'
    "data: [DONE]\n\n"
)


def test_a_stream_reads_as_the_answer_it_adds_up_to() -> None:
    reply = chat(STREAM)
    assert isinstance(reply, Reply)
    assert (reply.text, reply.reasoning, reply.usage) == ("Hello", "hm", Usage(2, 3))


def test_a_stream_that_stops_before_its_end_is_no_answer() -> None:
    assert chat(STREAM.split("\r\n\r\n")[0] + "\n\n").outcome == ExchangeOutcome.MALFORMED_REPLY


def chunk(delta: Any = None, finish: str | None = None, **fields: Any) -> str:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return f"data: {json.dumps({'choices': [choice], **fields})}\n\n"


DONE = "data: [DONE]\n\n"


@pytest.mark.parametrize(
    "body",
    [
        chunk({"role": "assistant", "content": "Hel"}) + DONE,
        chunk({"role": "assistant"}) + DONE,
        chunk({"content": "Hel"}) + 'data: {"choices":[],"usage":{"completion_tokens":1}}\n\n' + DONE,
        DONE,
        ": OPENROUTER PROCESSING\n\n",
        chunk({"content": "Hello"}, "stop")[:-8],
    ],
)
def test_an_end_mark_does_not_make_a_cut_answer_whole(body: str) -> None:  # F5 F34
    # Gateways send the mark after an upstream that was lost in mid-answer.
    meaning = chat(body)
    assert meaning.outcome == ExchangeOutcome.MALFORMED_REPLY


def test_an_empty_finish_reason_in_a_later_chunk_takes_nothing_back() -> None:
    reply = chat(chunk({"content": "yes"}, "stop") + chunk({}, "", usage={"completion_tokens": 1}) + DONE)
    assert isinstance(reply, Reply)
    assert (reply.text, reply.finish_reason) == ("yes", "stop")


def test_a_stream_without_any_choice_is_read_like_such_an_answer() -> None:
    verdict = {"prompt_filter_results": [{"content_filter_results": {"hate": {"filtered": True}}}]}
    blocked = f"data: {json.dumps({'choices': [], **verdict})}\n\n{DONE}"
    assert chat(blocked).outcome == ExchangeOutcome.FILTERED
    assert chat(f'data: {{"choices":[],"usage":{{"prompt_tokens":3}}}}\n\n{DONE}').outcome == "empty"


@pytest.mark.parametrize(
    "frame",
    [
        'data: {"error":{"code":503,"message":"overloaded"}}\n\n',
        'data: {"error":{"code":503,"message":"overloaded"},"choices":[{"finish_reason":"error"}]}\n\n',
        'event: error\ndata: {"code":503,"text":"overloaded"}\n\n',
        'data: {"object":"error","message":"overloaded","code":503}\n\n',
        'data: {"detail":"overloaded"}\n\n',
        'data: {"choices":[{"index":0,"delta":{},"error":{"code":503,"message":"overloaded"}}]}\n\n',
    ],
)
@pytest.mark.parametrize("after", ["", DONE, chunk({}, "stop") + DONE], ids=["end", "mark", "finish"])
def test_text_before_an_error_is_never_the_answer_and_may_be_billed(frame: str, after: str) -> None:  # F5 F7
    fault = chat(chunk({"content": "The find"}) + frame + after)
    assert isinstance(fault, Fault)
    assert (fault.outcome, fault.maybe_billed) == (ExchangeOutcome.UNAVAILABLE, True)


def test_an_error_before_any_word_was_not_billed() -> None:
    fault = chat(chunk({"role": "assistant", "content": ""}) + 'data: {"error":{"message":"overloaded"}}\n\n')
    assert isinstance(fault, Fault)
    assert (fault.outcome, fault.maybe_billed) == (ExchangeOutcome.UNAVAILABLE, False)


def test_only_the_first_of_several_choices_is_read() -> None:
    other = {"choices": [{"index": 1, "delta": {"content": "B"}, "finish_reason": "length"}]}
    reply = chat(chunk({"content": "A"}) + f"data: {json.dumps(other)}\n\n" + chunk({}, "stop") + DONE)
    assert isinstance(reply, Reply)
    assert (reply.text, reply.outcome) == ("A", ExchangeOutcome.ANSWERED)


def test_plain_text_after_typed_pieces_is_kept() -> None:
    thinking = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]
    reply = chat(
        chunk({"content": thinking}) + chunk({"content": "le"}) + chunk({"content": "ft"}, "stop") + DONE
    )
    assert isinstance(reply, Reply)
    assert (reply.text, reply.reasoning) == ("left", "hm")


def test_an_error_in_mid_stream_counts_by_what_it_says() -> None:
    cut = STREAM.split("\r\n\r\n")[0] + '\n\ndata: {"error":{"code":429,"message":"slow"}}\n\n'
    assert chat(cut).outcome == ExchangeOutcome.RATE_LIMITED


def test_the_first_choice_is_that_of_index_0() -> None:  # F8
    second = {"index": 1, "message": {"content": "B"}, "finish_reason": "stop"}
    first = {"index": 0, "message": {"content": "A"}, "finish_reason": "stop"}
    found = [chat({"choices": choices}) for choices in ([second, first], [first, second], [second])]
    assert [reply.text for reply in found if isinstance(reply, Reply)] == ["A", "A", "B"]


def test_a_stream_may_begin_with_a_byte_order_mark() -> None:
    chunk = json.dumps({"choices": [{"delta": {"content": "A"}, "finish_reason": "stop"}]})
    reply = chat(f"\ufeffdata: {chunk}\n\n".encode())
    assert isinstance(reply, Reply)
    assert (reply.outcome, reply.text) == ("answered", "A")
