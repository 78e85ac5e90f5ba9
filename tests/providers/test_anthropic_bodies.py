"""What is sent to the Messages API: turns, parameters, thinking, schemas."""

from __future__ import annotations

from typing import Any

import pytest
from wire_doubles import SCAN, SCHEMA, SCHEMA_BODY, ask, model, plain, request

from harness.errors import UnsupportedInputError
from harness.messages import ImagePart, Message, Request, Schema, TextPart, WireRequest
from harness.providers.base import get_adapter

ANTHROPIC = get_adapter("anthropic")
LIMIT = {"max_tokens": 5000}


def build(*, provider: dict[str, Any] | None = None, stream: bool = False, **params: Any) -> WireRequest:
    asked = model("anthropic", provider_fields=provider, stream=stream)
    return ANTHROPIC.build(ask(params=LIMIT | params), asked)


def options(**params: Any) -> dict[str, Any]:
    body = dict(plain(build(**params).body))
    return {name: value for name, value in body.items() if name not in ("model", "messages", "max_tokens")}


def with_schema(body: dict[str, Any]) -> Any:
    asked = ask(params=LIMIT, schema=Schema("s", "0" * 64, body), structured="schema")
    return plain(ANTHROPIC.build(asked, model("anthropic")).body)["output_config"]["format"]["schema"]


def test_the_body_holds_text_and_images_in_order() -> None:
    params = {"temperature": 0, "top_p": 0.9, "top_k": 5, "max_tokens": 100, "stop": ["END"]}
    wire = ANTHROPIC.build(request(params=params, schema=SCHEMA, structured="schema"), model("anthropic"))
    assert wire.path == "/messages"
    assert wire.headers == {"anthropic-version": "2023-06-01"}
    assert plain(wire.body) == {
        "model": "vendor-model-1",
        "max_tokens": 100,
        "system": "be brief",
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "before"},
                    {
                        "type": "image",
                        "source": {
                            "type": "base64",
                            "media_type": "image/webp",
                            "data": f"<original:{'a' * 64}>",
                        },
                    },
                    {"type": "text", "text": "between"},
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": f"<png:{'b' * 64}>"},
                    },
                ],
            }
        ],
        "temperature": 0,
        "top_p": 0.9,
        "top_k": 5,
        "stop_sequences": ["END"],
        "output_config": {"format": {"type": "json_schema", "schema": SCHEMA_BODY}},
    }


def test_system_text_in_parts_stays_in_parts_and_earlier_answers_are_the_models() -> None:
    turns = (
        Message("system", (TextPart("a"), TextPart("b"))),
        Message("user", (TextPart("c"),)),
        Message("assistant", (TextPart("d"),)),
        Message("user", (TextPart("e"),)),
    )
    body = plain(ANTHROPIC.build(Request(turns, params=LIMIT), model("anthropic")).body)
    assert body["system"] == [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert [(turn["role"], turn["content"]) for turn in body["messages"]] == [
        ("user", "c"),
        ("assistant", "d"),
        ("user", "e"),
    ]


def test_system_text_after_a_turn_is_refused() -> None:
    turns = (Message("user", (TextPart("a"),)), Message("system", (TextPart("b"),)))
    with pytest.raises(UnsupportedInputError, match="before all turns"):
        ANTHROPIC.build(Request(turns, params=LIMIT), model("anthropic"))


@pytest.mark.parametrize("role", ["system", "assistant"])
def test_an_image_outside_a_users_turn_is_refused(role: Any) -> None:
    turns = (Message(role, (ImagePart(SCAN), TextPart("x"))), Message("user", (TextPart("a"),)))
    with pytest.raises(UnsupportedInputError, match="user message"):
        ANTHROPIC.build(Request(turns, params=LIMIT), model("anthropic"))


def test_where_the_request_has_no_limit_the_models_own_is_sent() -> None:
    body = ANTHROPIC.build(ask(), model("anthropic", max_output_tokens=64_000)).body
    assert body["max_tokens"] == 64_000
    limited = ANTHROPIC.build(ask(params={"max_tokens": 9}), model("anthropic", max_output_tokens=64_000))
    assert limited.body["max_tokens"] == 9


def test_a_request_without_any_limit_is_refused_before_it_is_sent() -> None:
    with pytest.raises(UnsupportedInputError, match="max_output_tokens"):
        ANTHROPIC.build(ask(), model("anthropic"))


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"stop": "END"}, {"stop_sequences": ["END"]}),
        ({"thinking_budget": 2048}, {"thinking": {"type": "enabled", "budget_tokens": 2048}}),
        ({"thinking_budget": 0}, {"thinking": {"type": "disabled"}}),
        ({"thinking": {"type": "adaptive"}}, {"thinking": {"type": "adaptive"}}),
        (
            {"reasoning_effort": "high"},
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}},
        ),
        ({"reasoning_effort": "none"}, {"thinking": {"type": "disabled"}}),
        (
            {"reasoning_effort": "low", "thinking_budget": 1024},
            {"thinking": {"type": "enabled", "budget_tokens": 1024}, "output_config": {"effort": "low"}},
        ),
        ({"output_config": {"effort": "ultra"}}, {"output_config": {"effort": "ultra"}}),
        ({"min_p": 0.1}, {"min_p": 0.1}),
    ],
)
def test_parameters_take_the_names_that_the_api_knows(
    params: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert options(**params) == expected


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"reasoning_effort": "minimal"}, "known: none, low, medium, high, xhigh, max"),
        ({"reasoning_effort": 3}, "known: none, low"),
        ({"thinking_budget": 1000}, "at least 1024"),
        ({"thinking_budget": True}, "at least 1024"),
        ({"thinking_budget": -1}, "at least 1024"),
        ({"thinking_budget": 5000}, "leaves nothing of max_tokens 5000"),
        ({"thinking_budget": 2048, "thinking": {"type": "adaptive"}}, "'thinking' is given twice"),
        ({"reasoning_effort": "none", "thinking_budget": 2048}, "'thinking' is given twice"),
        ({"reasoning_effort": "low", "output_config": {"effort": "low"}}, "'output_config.effort' is given"),
        ({"stop": ["a"], "stop_sequences": ["b"]}, "'stop_sequences' is given twice"),
        ({"output_config": "high"}, "must be a table"),
    ],
)
def test_what_the_format_cannot_say_is_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(UnsupportedInputError, match=message):
        build(**params)


def test_a_format_of_the_users_own_is_not_replaced() -> None:
    asked = ask(params=LIMIT | {"output_config": {"format": {}}}, schema=SCHEMA, structured="schema")
    with pytest.raises(UnsupportedInputError, match=r"'output_config\.format' is given twice"):
        ANTHROPIC.build(asked, model("anthropic"))


def test_json_mode_is_refused_whatever_the_settings_say() -> None:
    asked = ask(params=LIMIT, structured="json")
    with pytest.raises(UnsupportedInputError, match="no JSON mode; use --structured schema"):
        ANTHROPIC.build(asked, model("anthropic", structured=("json", "schema")))


def test_streaming_and_what_is_about_the_account_leave_the_body_alone() -> None:  # F2 F34
    account = {"metadata": {"user_id": "u"}, "service_tier": "auto", "cache_control": {"type": "ephemeral"}}
    streamed = build(stream=True, **account)
    assert streamed.body == build().body
    assert streamed.transport == {**account, "stream": True}


def test_a_stream_may_be_silent_while_the_model_thinks() -> None:  # F34
    assert build(stream=True).thinks_silently
    assert build(stream=True, reasoning_effort="high").thinks_silently
    assert not build(stream=True, thinking_budget=0).thinks_silently
    assert not build(stream=True, thinking={"type": "disabled"}).thinks_silently


def test_how_thinking_is_shown_leaves_the_body_alone() -> None:  # F2
    shown = build(thinking={"type": "adaptive", "display": "summarized"})
    assert shown.body == build(thinking={"type": "adaptive"}).body
    assert shown.transport == {"thinking": {"display": "summarized"}}
    assert build(reasoning_effort="high").transport == {"thinking": {"display": "summarized"}}
    assert build().transport == {}


def test_another_version_of_the_api_replaces_ours() -> None:
    wire = build(provider={"headers": {"Anthropic-Version": "2030-01-01", "anthropic-beta": "x"}})
    assert wire.headers == {"Anthropic-Version": "2030-01-01", "anthropic-beta": "x"}
    with_beta = build(provider={"headers": {"anthropic-beta": "x"}})
    assert with_beta.headers == {"anthropic-version": "2023-06-01", "anthropic-beta": "x"}


def test_the_key_goes_in_a_header_and_nowhere_else() -> None:  # F46
    owner = model("anthropic").provider
    assert ANTHROPIC.auth_headers(owner, "sk-ant-1") == {"x-api-key": "sk-ant-1"}
    assert ANTHROPIC.auth_headers(owner, None) == {}


def test_what_only_narrows_is_left_out_of_a_schema_and_objects_are_closed() -> None:
    nothing = {"type": "object", "properties": {}, "additionalProperties": False, "maxProperties": 0}
    narrow = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "n": {"type": "integer", "minimum": 0, "maximum": 9, "multipleOf": 3, "description": "count"},
            "s": {"type": ["string", "null"], "maxLength": 9, "pattern": "^a", "format": "regex"},
            "day": {"type": "string", "format": "date"},
            "a": {"type": "array", "items": {"$ref": "#/$defs/x"}, "minItems": 1, "maxItems": 4},
            "b": {"type": "array", "items": {"enum": [1, "b"]}, "minItems": 2, "uniqueItems": True},
            "c": {"oneOf": [{"const": 1}, {"type": "number", "exclusiveMinimum": 2}]},
            "minimum": {"type": "boolean", "default": True},
        },
        "required": ["n"],
        "$defs": {"x": nothing},
    }
    assert with_schema(narrow) == {
        "type": "object",
        "properties": {
            "n": {"type": "integer", "description": "count"},
            "s": {"type": ["string", "null"], "pattern": "^a"},
            "day": {"type": "string", "format": "date"},
            "a": {"type": "array", "items": {"$ref": "#/$defs/x"}, "minItems": 1},
            "b": {"type": "array", "items": {"enum": [1, "b"]}},
            "c": {"anyOf": [{"const": 1}, {"type": "number"}]},
            "minimum": {"type": "boolean", "default": True},
        },
        "required": ["n"],
        "additionalProperties": False,
        "$defs": {"x": {"type": "object", "properties": {}, "additionalProperties": False}},
    }


@pytest.mark.parametrize(
    "open_body",
    [
        {"type": "object"},
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"type": ["object", "null"], "patternProperties": {"^a": {}}, "additionalProperties": False},
        {"type": "array", "items": {"properties": {"a": {}}, "additionalProperties": {}}},
    ],
)
def test_a_schema_with_properties_that_have_no_names_is_refused(open_body: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedInputError, match="without a name; use --structured off"):
        with_schema(open_body)
