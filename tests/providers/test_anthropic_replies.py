"""What messages of status 200 mean, whole and streamed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from wire_doubles import answer, message, message_events, named_events, provider

from harness.messages import Fault, Reply, Usage
from harness.outcomes import ExchangeOutcome as Outcome
from harness.providers.base import get_adapter

ANTHROPIC = get_adapter("anthropic")
THOUGHT = {"type": "thinking", "thinking": "let me see", "signature": "c2ln"}
SEALED = {"type": "redacted_thinking", "data": "c2VhbGVk"}
TEXT = {"type": "text", "text": "two caries, one implant"}
TOOL = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": 3}}
REFUSAL = {"type": "refusal", "category": "bio", "explanation": "blocked under the policy"}


def read(body: Any, **headers: str) -> Reply | Fault:
    return ANTHROPIC.read_reply(answer(body, **headers), provider("anthropic"))


def stream(*events: dict[str, Any]) -> bytes:
    return named_events(list(events))


WHOLE = [
    (message(), "answered"),
    (message([]), "empty"),
    (message(" \n"), "empty"),
    (message([THOUGHT]), "empty"),
    (message([THOUGHT, SEALED, TEXT]), "answered"),
    (message([TEXT, TEXT], "stop_sequence"), "answered"),
    (message([THOUGHT], "max_tokens"), "truncated"),
    (message("half an ans", "max_tokens"), "truncated"),
    (message("half an ans", "model_context_window_exceeded"), "truncated"),
    (message("so far", "pause_turn"), "truncated"),
    (message("whatever", "a reason of tomorrow"), "truncated"),
    (message([], "refusal", stop_details=REFUSAL), "refused"),
    (message("half an ans", "refusal"), "refused"),
    (message("no", "content_filter"), "filtered"),
    (message([TOOL], "tool_use"), "empty"),
    (message([TEXT, TOOL], "tool_use"), "answered"),
]


@pytest.mark.parametrize(("body", "outcome"), WHOLE)
def test_answers_are_told_apart(body: Any, outcome: str) -> None:  # F6
    assert read(body).outcome == Outcome(outcome)


@pytest.mark.parametrize(("body", "outcome"), WHOLE)
def test_a_streamed_answer_means_what_the_whole_one_does(body: dict[str, Any], outcome: str) -> None:  # F34
    assert read(stream(*message_events(body))) == read(body)


def test_text_and_thinking_are_kept_apart_and_sealed_thinking_is_noted() -> None:
    reply = read(message([THOUGHT, SEALED, TEXT, {"type": "server_tool_use"}, TEXT]))
    assert isinstance(reply, Reply)
    assert reply.text == TEXT["text"] * 2
    assert reply.reasoning == "let me see[redacted thinking]"
    assert (reply.finish_reason, reply.served_model) == ("end_turn", "served-1")


def test_thinking_whose_text_is_left_out_is_no_reasoning() -> None:
    reply = read(message([{"type": "thinking", "thinking": "", "signature": "c2ln"}, TEXT]))
    assert isinstance(reply, Reply) and reply.reasoning is None


@pytest.mark.parametrize(
    ("details", "detail"),
    [
        (REFUSAL, "blocked under the policy"),
        ({"type": "refusal", "category": "bio", "explanation": None}, "bio"),
        (None, None),
    ],
)
def test_a_refusal_keeps_the_providers_own_words(details: Any, detail: str | None) -> None:
    reply = read(message([], "refusal", stop_details=details))
    assert isinstance(reply, Reply) and reply.detail == detail


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"input_tokens": 5, "output_tokens": 2}, Usage(5, 2, None, None)),
        (
            {
                "input_tokens": 5,
                "cache_read_input_tokens": 100,
                "cache_creation_input_tokens": 30,
                "output_tokens": 9,
                "output_tokens_details": {"thinking_tokens": 6},
            },
            Usage(135, 9, 6, 100, 30),
        ),
        ({"input_tokens": 5, "cache_read_input_tokens": None, "output_tokens": 2}, Usage(5, 2)),
        ({}, Usage()),
        ({"input_tokens": "x", "output_tokens": -1}, Usage()),
    ],
)
def test_input_tokens_hold_what_a_cache_had_and_was_given(usage: dict[str, Any], expected: Usage) -> None:
    assert read(message(usage=usage)).usage == expected


def test_the_last_count_of_a_stream_is_the_one_that_holds() -> None:
    events = message_events(message(usage={"input_tokens": 5, "output_tokens": 40}))
    events[-2]["usage"] |= {"input_tokens": 6, "cache_read_input_tokens": 10}
    assert read(stream(*events)).usage == Usage(16, 40, None, 10)


@pytest.mark.parametrize(
    "body",
    [
        "",
        "<html>Sign in</html>",
        "{",
        "[]",
        "{}",
        message(stop=None),
        message(stop=""),
        {"stop_reason": "end_turn"},
        {"content": "text", "stop_reason": "end_turn"},
        {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]},
    ],
)
def test_what_is_no_complete_message_is_malformed_and_may_be_paid(body: Any) -> None:  # F7
    fault = read(body)
    assert isinstance(fault, Fault)
    assert (fault.outcome, fault.maybe_billed) == (Outcome.MALFORMED_REPLY, True)


@pytest.mark.parametrize("kept", range(1, len(message_events(message("twelve chars")))))
def test_a_stream_that_stops_before_its_end_is_malformed(kept: int) -> None:  # F33 F34
    fault = read(stream(*message_events(message("twelve chars"))[:kept]))
    assert isinstance(fault, Fault) and fault.outcome is Outcome.MALFORMED_REPLY


@pytest.mark.parametrize("lost", ["message_delta", "message_stop"])
def test_an_end_without_a_reason_or_a_reason_without_an_end_is_malformed(lost: str) -> None:
    events = [event for event in message_events(message()) if event["type"] != lost]
    assert read(stream(*events)).outcome is Outcome.MALFORMED_REPLY


def test_a_stream_whose_last_event_is_cut_is_malformed() -> None:
    whole = stream(*message_events(message()))
    assert read(whole[:-6]).outcome is Outcome.MALFORMED_REPLY
    assert read(whole.rstrip()).outcome is Outcome.ANSWERED


def test_events_and_deltas_of_unknown_kinds_are_passed_over() -> None:
    events = message_events(message("yes"))
    unknown = {"type": "mood_delta", "text": "x"}
    events.insert(3, {"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta"}})
    events.insert(4, {"type": "content_block_delta", "index": 0, "delta": unknown})
    events.insert(5, {"type": "weather", "text": "rain"})
    odd = stream(*events).replace(b'{"type": "weather", "text": "rain"}', b"no JSON at all")
    assert read(odd) == read(message("yes"))
    assert b"no JSON at all" in odd


def test_comments_line_ends_and_a_mark_of_the_end_change_nothing() -> None:
    whole = stream(*message_events(message("yes")))
    odd = b": keep-alive\n\n" + whole + b"data: [DONE]\n\n"
    assert read(odd.replace(b"\n", b"\r\n")) == read(message("yes"))


def test_events_without_names_are_known_by_their_type() -> None:
    lines = [f"data: {json.dumps(event)}\n\n" for event in message_events(message("yes"))]
    assert read("".join(lines)) == read(message("yes"))


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        ("overloaded_error", "unavailable"),
        ("api_error", "unavailable"),
        ("timeout_error", "unavailable"),
        ("rate_limit_error", "rate_limited"),
        ("authentication_error", "auth"),
        ("permission_error", "auth"),
        ("billing_error", "quota_exhausted"),
        ("not_found_error", "model_not_found"),
        ("request_too_large", "unsupported_input"),
        ("invalid_request_error", "bad_request"),
        ("an_error_of_tomorrow", "unknown"),
    ],
)
@pytest.mark.parametrize("before", [0, 1, 4, 6])
def test_an_error_in_mid_stream_is_an_error_whatever_came_before(
    kind: str, outcome: str, before: int
) -> None:  # F7 F34
    begun = message_events(message("twelve chars"))[:before]
    fault = read(stream(*begun, {"type": "error", "error": {"type": kind, "message": "Sorry"}}))
    assert isinstance(fault, Fault)
    assert (fault.outcome, fault.message, fault.code) == (Outcome(outcome), "Sorry", kind)
    assert fault.usage.output_tokens is None
    assert fault.maybe_billed is (before > 1 or kind == "timeout_error")


def test_an_error_after_the_end_of_the_text_is_an_error_too() -> None:
    events = message_events(message("yes"))
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    fault = read(stream(*events[:-1], error))
    assert isinstance(fault, Fault)
    assert (fault.outcome, fault.usage) == (Outcome.UNAVAILABLE, Usage(7, 3))


def test_a_block_in_mid_stream_is_filtered_and_leaves_no_text() -> None:
    said = {"type": "invalid_request_error", "message": "Output blocked by content filtering policy"}
    for kind in ("invalid_request_error", "api_error"):
        begun = message_events(message("half an answer"))[:5]
        reply = read(stream(*begun, {"type": "error", "error": {**said, "type": kind}}))
        assert isinstance(reply, Reply)
        assert (reply.outcome, reply.text, reply.usage.input_tokens) == (Outcome.FILTERED, "", 7)


@pytest.mark.parametrize(
    "event",
    [
        'event: error\ndata: {"error": {"message": "boom"}}',
        'event: error\ndata: {"type": "overloaded_error", "message": "boom"}',
        'event: error\ndata: {"error": "boom"}',
        "event: error\ndata: {}",
        'event: error\ndata: "boom"',
        'data: {"error": {"message": "boom"}}',
        'data: {"type": "error", "message": "boom"}',
    ],
)
def test_errors_of_other_shapes_are_errors(event: str) -> None:
    whole = stream(*message_events(message()))
    wanted = Outcome.UNAVAILABLE if "overloaded" in event else Outcome.UNKNOWN
    assert read(whole + f"{event}\n\n".encode()).outcome is wanted


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [("overloaded_error", "unavailable"), ("invalid_request_error", "bad_request"), ("odd", "unknown")],
)
def test_an_error_in_a_200_is_the_error_that_it_names(kind: str, outcome: str) -> None:  # F7
    fault = read({"type": "error", "error": {"type": kind, "message": "x"}, "request_id": "req_1"})
    assert isinstance(fault, Fault)
    assert (fault.outcome, fault.maybe_billed) == (Outcome(outcome), False)


def test_surrogates_and_nul_survive_in_both_forms() -> None:
    body = message("a\ud800b\x00c")
    for form in (body, stream(*message_events(body))):
        reply = read(form)
        assert isinstance(reply, Reply) and reply.text == "a\ud800b\x00c"
