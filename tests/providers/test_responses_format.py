"""OpenAI's Responses API: what is sent, and what its answers, streams and errors mean."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from wire_doubles import SCAN, SCHEMA, SCHEMA_BODY, answer, ask, model, plain, provider, request

from harness.errors import UnsupportedInputError
from harness.messages import Fault, ImagePart, Message, Reply, Request, Schema, TextPart, Usage
from harness.outcomes import ExchangeOutcome as Outcome
from harness.providers.base import get_adapter, read

RESPONSES = get_adapter("openai-responses")
KIND = "openai-responses"


def body_of(asked: Request, **fields: Any) -> Any:
    return plain(RESPONSES.build(asked, model(KIND, **fields)).body)


def message(*content: Any, **fields: Any) -> dict[str, Any]:
    given = {"type": "message", "role": "assistant", "status": "completed", "content": list(content)}
    return given | fields


def said(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": []}


def response(*output: Any, status: str | None = "completed", **fields: Any) -> dict[str, Any]:
    given = {"object": "response", "status": status, "model": "served-1", "error": None}
    return {**given, "incomplete_details": None, "output": list(output), **fields}


def reading(body: Any) -> Reply | Fault:
    return read(answer(body), provider(KIND))


def event(kind: str, named: bool = True, **fields: Any) -> str:
    name = f"event: {kind}\n" if named else ""
    return f"{name}data: {json.dumps({'type': kind, **fields})}\n\n"


YES = message(said("yes"))
REFUSAL = {"type": "refusal", "refusal": "I cannot help with that."}
CALL = {"type": "function_call", "name": "f", "arguments": "{}", "status": "completed"}
USAGE = {
    "input_tokens": 20,
    "input_tokens_details": {"cached_tokens": 8},
    "output_tokens": 9,
    "output_tokens_details": {"reasoning_tokens": 6},
    "total_tokens": 29,
}


# --- what is sent ---


def test_the_body_holds_text_and_images_in_order() -> None:
    params = {"temperature": 0, "max_tokens": 100, "reasoning_effort": "low", "verbosity": "low"}
    wire = RESPONSES.build(request(params=params, schema=SCHEMA, structured="schema"), model(KIND))
    assert wire.path == "/responses"
    assert plain(wire.body) == {
        "model": "vendor-model-1",
        "input": [
            {"role": "system", "content": "be brief"},
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "before"},
                    {
                        "type": "input_image",
                        "image_url": f"data:image/webp;base64,<original:{'a' * 64}>",
                        "detail": "auto",
                    },
                    {"type": "input_text", "text": "between"},
                    {
                        "type": "input_image",
                        "image_url": f"data:image/png;base64,<png:{'b' * 64}>",
                        "detail": "auto",
                    },
                ],
            },
        ],
        "temperature": 0,
        "max_output_tokens": 100,
        "reasoning": {"effort": "low"},
        "text": {
            "verbosity": "low",
            "format": {"type": "json_schema", "name": "triage_v1", "schema": SCHEMA_BODY, "strict": True},
        },
    }


def test_turns_keep_their_order_and_earlier_answers_are_plain_text() -> None:
    turns = (
        Message("user", (TextPart("a"),)),
        Message("assistant", (TextPart("b"), TextPart("c"))),
        Message("system", (TextPart("d"),)),
        Message("assistant", (TextPart("e"),)),
    )
    assert body_of(Request(turns))["input"] == [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "bc"},
        {"role": "system", "content": "d"},
        {"role": "assistant", "content": "e"},
    ]


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"reasoning_summary": "auto"}, {"reasoning": {"summary": "auto"}}),
        (
            {"reasoning_mode": "pro", "reasoning_effort": "high"},
            {"reasoning": {"mode": "pro", "effort": "high"}},
        ),
        ({"max_output_tokens": 7}, {"max_output_tokens": 7}),
        ({"text": {"verbosity": "low"}}, {"text": {"verbosity": "low"}}),
        ({"truncation": "auto"}, {"truncation": "auto"}),
    ],
)
def test_settings_stand_where_the_format_has_them(params: Any, expected: Any) -> None:
    assert body_of(ask(params=params)) == {**body_of(ask()), **expected}


@pytest.mark.parametrize(
    "params",
    [
        {"max_tokens": 5, "max_output_tokens": 6},
        {"reasoning": {"effort": "low"}, "reasoning_effort": "high"},
        {"reasoning_effort": "high", "reasoning": {"effort": "low"}},
        {"text": {"verbosity": "low"}, "verbosity": "high"},
        {"verbosity": "high", "text": "plain"},
        {"text": "plain", "verbosity": "high"},
    ],
)
def test_one_setting_given_twice_is_refused(params: Any) -> None:  # F15
    with pytest.raises(UnsupportedInputError, match=r"given twice|leave one out"):
        RESPONSES.build(ask(params=params), model(KIND))


def test_a_format_given_beside_structured_output_is_refused() -> None:
    asked = ask(params={"text": {"format": {"type": "text"}}}, structured="json")
    with pytest.raises(UnsupportedInputError, match="--structured"):
        RESPONSES.build(asked, model(KIND))


@pytest.mark.parametrize(
    "name",
    ["stop", "seed", "n", "presence_penalty", "frequency_penalty", "logit_bias", "logprobs",
     "response_format", "max_completion_tokens"],
)  # fmt: skip
def test_what_the_format_does_not_have_is_refused_and_not_dropped(name: str) -> None:  # F15
    with pytest.raises(UnsupportedInputError, match=f"'openai-responses' has no '{name}'"):
        RESPONSES.build(ask(params={name: 1}), model(KIND))


@pytest.mark.parametrize(
    "name", ["input", "instructions", "previous_response_id", "conversation", "background", "store", "prompt"]
)
def test_what_would_replace_the_question_or_hide_the_answer_is_refused(name: str) -> None:
    with pytest.raises(UnsupportedInputError, match=f"'{name}' is set by the program"):
        RESPONSES.build(ask(params={name: True}), model(KIND))


def test_nothing_is_kept_there_and_that_is_transport() -> None:  # F2
    params = {"service_tier": "flex", "metadata": {"a": "b"}, "safety_identifier": "lab"}
    wire = RESPONSES.build(ask(params=params), model(KIND, stream=True))
    assert wire.transport == {"store": False, "stream": True, **params}
    assert wire.thinks_silently
    assert wire.body == RESPONSES.build(ask(), model(KIND)).body
    assert RESPONSES.build(ask(), model(KIND)).transport == {"store": False}


def test_json_mode_and_a_loose_schema() -> None:
    assert body_of(ask(structured="json"))["text"] == {"format": {"type": "json_object"}}
    loose = Schema("s", "0" * 64, {**SCHEMA_BODY, "required": []})
    assert body_of(ask(schema=loose, structured="schema"))["text"]["format"]["strict"] is False


def test_an_image_outside_a_users_turn_is_refused() -> None:
    for role in ("system", "assistant"):
        with pytest.raises(UnsupportedInputError, match="user message"):
            RESPONSES.build(Request((Message(role, (ImagePart(SCAN), TextPart("x"))),)), model(KIND))


def test_the_key_goes_in_a_header() -> None:  # F46
    assert RESPONSES.auth_headers(provider(KIND), "sk-1") == {"authorization": "Bearer sk-1"}
    assert RESPONSES.auth_headers(provider(KIND), None) == {}


# --- what answers mean ---


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        (response(YES), "answered"),
        (response(YES, status=None), "answered"),
        (response(), "empty"),
        (response(message(said(" \n"))), "empty"),
        (response({"type": "reasoning", "summary": []}), "empty"),
        (response(CALL), "empty"),
        (response(CALL, YES), "answered"),
        (response(message(REFUSAL)), "refused"),
        (response(message(said("Well."), REFUSAL)), "refused"),
        (response(YES, status="incomplete", incomplete_details={"reason": "max_output_tokens"}), "truncated"),
        (response(status="incomplete", incomplete_details={"reason": "max_output_tokens"}), "truncated"),
        (response(YES, status="incomplete", incomplete_details={"reason": "content_filter"}), "filtered"),
        (response(YES, status="incomplete", incomplete_details={"reason": "steered"}), "truncated"),
        (response(YES, status="incomplete"), "truncated"),
        (response(message(said("hal"), status="incomplete")), "truncated"),
        (response(YES, status="failed"), "unavailable"),
        (response(YES, status="cancelled"), "unavailable"),
        (response(YES, status="in_progress"), "unknown"),
        (response(status="queued"), "unknown"),
        (response(YES, status="paused"), "unknown"),
        ({"object": "chat.completion", "choices": []}, "malformed_reply"),
        ({}, "malformed_reply"),
        ("", "malformed_reply"),
        ("<html>sign in</html>", "malformed_reply"),
        (json.dumps(response(YES))[:-30], "malformed_reply"),
    ],
)
def test_answers_are_told_apart(body: Any, outcome: str) -> None:  # F6 F7
    assert reading(body).outcome == outcome


@pytest.mark.parametrize(
    ("code", "words", "outcome"),
    [
        ("server_error", "The server had an error.", "unavailable"),
        ("rate_limit_exceeded", "Please try again in 2s.", "rate_limited"),
        ("insufficient_quota", "You exceeded your current quota.", "quota_exhausted"),
        ("server_is_overloaded", "Our servers are currently overloaded.", "unavailable"),
        ("context_length_exceeded", "Your input exceeds the context window.", "context_length"),
        ("invalid_prompt", "Your prompt was flagged as potentially violating our usage policy.", "filtered"),
        ("invalid_prompt", "Invalid prompt.", "bad_request"),
        ("bio_policy", "Blocked.", "filtered"),
        ("cyber_policy", "Blocked.", "filtered"),
        ("other", "Your request was flagged for possible cybersecurity risk", "filtered"),
        ("image_content_policy_violation", "The image violates.", "filtered"),
        ("invalid_image_format", "x", "bad_request"),
        ("image_too_large", "x", "bad_request"),
        ("image_parse_error", "x", "bad_request"),
        ("empty_image_file", "x", "bad_request"),
        ("unsupported_image_media_type", "x", "bad_request"),
        ("never_seen", "x", "unknown"),
    ],
)
def test_a_failed_response_counts_by_its_error_and_its_text_never(
    code: str, words: str, outcome: str
) -> None:  # F5 F7 F22
    error = {"code": code, "message": words}
    found = [
        reading(response(YES, status="failed", error=error)),
        reading(event("response.failed", response=response(YES, status="failed", error=error))),
        reading(event("response.created") + event("error", **error, param=None)),
        reading(event("response.created") + event("error", error=error)),
    ]
    assert {meaning.outcome for meaning in found} == {outcome}
    assert {meaning.text for meaning in found if isinstance(meaning, Reply)} <= {""}


def test_text_reasoning_and_usage_are_read_apart() -> None:
    thought = {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "first"}, {"type": "summary_text", "text": "then"}],
        "content": [{"type": "reasoning_text", "text": "raw"}],
    }
    body = response(thought, message(said("a"), said("b")), message(said("c")), usage=USAGE)
    assert reading(body) == Reply(
        Outcome.ANSWERED,
        text="abc",
        reasoning="first\n\nthen\n\nraw",
        finish_reason="completed",
        usage=Usage(20, 9, 6, 8),
        served_model="served-1",
    )


def test_commentary_on_the_way_is_no_part_of_the_answer() -> None:
    # Newer models of OpenAI say what they are about to do, in a message of its own.
    before = message(said("I will look at the image."), phase="commentary")
    whole = reading(response(before, message(said('{"a": 1}'), phase="final_answer")))
    assert isinstance(whole, Reply)
    assert (whole.text, whole.reasoning) == ('{"a": 1}', "I will look at the image.")
    assert reading(response(before)).outcome == "empty"


def test_a_refusal_and_a_block_say_why() -> None:
    blocked = response(YES, status="incomplete", incomplete_details={"reason": "content_filter"})
    found = [reading(response(message(REFUSAL))), reading(blocked)]
    assert [meaning.detail for meaning in found if isinstance(meaning, Reply)] == [
        "I cannot help with that.",
        "content_filter",
    ]


def test_tokens_that_were_not_counted_are_unknown_and_not_zero() -> None:
    assert reading(response(YES, usage=None)).usage == Usage()
    assert reading(response(YES, usage={"input_tokens": 3})).usage == Usage(input_tokens=3)


def test_an_answer_that_is_not_finished_is_asked_once_and_may_be_billed() -> None:
    for status in ("in_progress", "queued"):
        fault = reading(response(status=status, usage=USAGE))
        assert isinstance(fault, Fault)
        assert (fault.maybe_billed, fault.usage.output_tokens) == (True, 9)


# --- streams ---

START = event("response.created", response=response(status="in_progress")) + event(
    "response.in_progress", response=response(status="in_progress")
)
DELTAS = event("response.output_text.delta", delta="ye", output_index=0) + event(
    "response.output_text.delta", delta="s", output_index=0
)
ITEM = event("response.output_item.done", item=YES, output_index=0)


def stream(last: str, *, before: str = START + DELTAS + ITEM) -> str:
    return f": keep-alive\n\n{event('keepalive', sequence_number=3)}{before}{last}"


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("response.completed", response(YES, usage=USAGE)),
        ("response.completed", response(message(REFUSAL))),
        ("response.completed", response(CALL, usage=USAGE)),
        (
            "response.incomplete",
            response(YES, status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
        ),
        (
            "response.incomplete",
            response(YES, status="incomplete", incomplete_details={"reason": "content_filter"}),
        ),
        ("response.failed", response(YES, status="failed", usage=USAGE)),
        (
            "response.failed",
            response(status="failed", error={"code": "rate_limit_exceeded", "message": "in 3s"}),
        ),
        ("response.cancelled", response(YES, status="cancelled")),
    ],
)
def test_a_stream_reads_as_the_answer_in_one_piece_does(kind: str, body: Any) -> None:
    expected = reading(body)
    for last in (
        event(kind, response=body),
        event(kind, response=body).replace("\n", "\r\n"),
        event(kind, named=False, response=body) + "data: [DONE]\n\n",
    ):
        read_there = reading(stream(last))
        if isinstance(read_there, Fault):  # the stream knows that an answer had begun
            read_there = replace(read_there, maybe_billed=expected.maybe_billed)
        assert read_there == expected


@pytest.mark.parametrize(
    "body",
    [
        stream(""),
        stream("data: [DONE]\n\n"),
        stream(event("response.completed", response=response(YES))[:-40]),
        stream(event("response.output_text.done", text="yes")),
        START,
        "data: [DONE]\n\n",
    ],
)
def test_a_stream_without_its_last_event_is_no_answer(body: str) -> None:  # F5 F34
    meaning = reading(body)
    assert isinstance(meaning, Fault)
    assert (meaning.outcome, meaning.maybe_billed) == (Outcome.MALFORMED_REPLY, True)


def test_an_error_in_mid_stream_may_have_been_billed_and_one_before_it_not() -> None:
    error = event("error", code="server_error", message="The server had an error.")
    why = {"code": "server_is_overloaded", "message": "Please try again later."}
    last = [event("response.failed", response=response(status="failed", error=why)), error]
    begun = [reading(stream(one)) for one in last]
    begun += [reading(response(YES, status="failed", error=why))]
    begun += [reading(response(status="failed", error=why, usage=USAGE))]
    at_once = [reading(stream(one, before=START)) for one in last]
    at_once += [reading(response(status="failed", error=why))]
    found = {(fault.outcome, fault.maybe_billed) for fault in begun if isinstance(fault, Fault)}
    assert found == {(Outcome.UNAVAILABLE, True)}
    found = {(fault.outcome, fault.maybe_billed) for fault in at_once if isinstance(fault, Fault)}
    assert found == {(Outcome.UNAVAILABLE, False)}


def test_an_error_in_the_form_of_chat_completions_ends_a_stream_too() -> None:
    frame = 'data: {"error": {"message": "upstream", "type": null, "code": "500"}}\n\n'
    assert reading(stream(frame)).outcome == "unavailable"


def test_items_that_the_last_event_leaves_out_are_taken_as_they_were_done() -> None:
    # Seen at several gateways: `output` of the last event is empty, each item came before.
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}
    items = event("response.output_item.done", item=YES, output_index=1) + event(
        "response.output_item.done", item=thought, output_index=0
    )
    bare = response(usage=USAGE)
    reply = reading(stream(event("response.completed", response=bare), before=START + DELTAS + items))
    assert reply == reading(response(thought, YES, usage=USAGE))
    lost = reading(stream(event("response.completed", response=bare), before=START + DELTAS))
    assert lost.outcome == Outcome.MALFORMED_REPLY


# --- answers with a failure status ---


@pytest.mark.parametrize(
    ("status", "message_", "code", "outcome"),
    [
        (400, "Unsupported parameter: 'temperature'", "unsupported_parameter", "bad_request"),
        (400, "Unsupported value: 'reasoning.effort'", "unsupported_value", "bad_request"),
        (400, "Unknown parameter: 'top_k'.", "unknown_parameter", "bad_request"),
        (400, "The image data you provided does not represent a valid image.", "invalid_value",
         "bad_request"),
        (400, "Your input exceeds the context window of this model.", "context_length_exceeded",
         "context_length"),
        (400, "Invalid prompt: flagged as potentially violating our usage policy.", "invalid_prompt",
         "filtered"),
        (400, "Blocked.", "cyber_policy", "filtered"),
        (403, "Your organization must be verified to use the model `m`.", None, "model_not_found"),
        (404, "Your organization must be verified to use the model `m`.", "model_not_found",
         "model_not_found"),
        (404, "The model `m` does not exist or you do not have access to it.", "model_not_found",
         "model_not_found"),
        (400, "This model is not supported with the Responses API.", None, "model_not_found"),
        (429, "You exceeded your current quota.", "insufficient_quota", "quota_exhausted"),
        (429, "Rate limit reached for m on tokens per min (TPM).", "rate_limit_exceeded", "rate_limited"),
        (503, "Our servers are currently overloaded.", "server_is_overloaded", "unavailable"),
        (401, "Incorrect API key provided: sk-***.", "invalid_api_key", "auth"),
    ],
)  # fmt: skip
def test_errors_are_told_apart(status: int, message_: str, code: str | None, outcome: str) -> None:  # F21 F22
    body = {"error": {"message": message_, "type": "invalid_request_error", "param": None, "code": code}}
    assert read(answer(body, status), provider(KIND)).outcome == outcome


def test_a_rate_limit_waits_as_the_headers_of_both_formats_say() -> None:  # F31
    headers = {"x_ratelimit_remaining_tokens": "0", "x_ratelimit_reset_tokens": "6m0s"}
    body = {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}
    raw = answer(body, 429, **headers)
    fault = read(raw, provider(KIND))
    assert isinstance(fault, Fault)
    assert fault.wait_s == 360.0
    assert fault == read(raw, provider("openai"))


@pytest.mark.parametrize("status", [400, 404])
def test_a_model_that_answers_only_here_says_so_when_it_is_asked_for_a_chat(status: int) -> None:
    words = "This model is only supported in v1/responses and not in v1/chat/completions."
    raw = answer({"error": {"message": words, "type": "invalid_request_error", "param": "model"}}, status)
    fault = read(raw, provider("openai"))
    assert isinstance(fault, Fault)
    assert fault.outcome == Outcome.MODEL_NOT_FOUND
    assert "openai-responses/MODEL" in fault.message
    other = read(replace(raw, body=b'{"error": {"message": "no such model"}}'), provider("openai"))
    assert isinstance(other, Fault) and "openai-responses" not in other.message
