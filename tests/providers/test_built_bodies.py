"""What the adapters send: pinned bodies, and options that are passed on or refused, never dropped."""

from __future__ import annotations

import pytest
from wire_doubles import SCAN, SCHEMA, SCHEMA_BODY, ask, model, plain, request

from harness.canonical import digest
from harness.errors import UnsupportedInputError
from harness.messages import ImagePart, Message, Request, Schema, TextPart
from harness.providers.base import ADAPTERS, Adapter, get_adapter

OPENAI, GEMINI, SIMULATOR = get_adapter("openai"), get_adapter("gemini"), get_adapter("simulator")
RESPONSES, ANTHROPIC = get_adapter("openai-responses"), get_adapter("anthropic")
REAL = [OPENAI, RESPONSES, GEMINI, ANTHROPIC]
EVERY = pytest.mark.parametrize("adapter", REAL, ids=lambda adapter: adapter.kind)

PARAMS = {"temperature": 0, "top_p": 0.9, "max_tokens": 100, "seed": 7, "stop": ["END"], "min_p": 0.1}
RESPONSES_PARAMS = {
    "temperature": 0, "top_p": 0.9, "max_tokens": 100, "reasoning_effort": "low", "reasoning_summary": "auto",
    "verbosity": "low", "min_p": 0.1,
}  # fmt: skip
GOLDEN_PARAMS = {"openai-responses": RESPONSES_PARAMS}
PINNED = {
    ("anthropic", 1): "278d71ea5b27b87642ff9d7c2dc8f60a4d75dd3f4fcc3ff4d2bb73345876d7cc",
    ("openai-responses", 1): "b320fa80888b42304f0a0c52600c233000e81d104961e6b7867aa4a81f356970",
    ("openai", 1): "d085ec5178f9f415e9af8ff9879eaaa9f68f505c1339e4a8f99efc056a48d283",
    ("gemini", 1): "32a13d610596232042fddb336e0bf62d0ec3bb653c7aaa6bfba013ab9a752805",
    ("litellm", 1): "557cc6e22e0a03bfd36f345082be822cdee6150cae80ad787e6afe55f37dae93",
    ("simulator", 1): "c62f33e2ffae32b4b81e91a83fb81c517afcc10e4a8338957af29fa990487b47",
}


@pytest.mark.parametrize("adapter", [get_adapter(kind) for kind in ADAPTERS], ids=list(ADAPTERS))
def test_a_changed_body_needs_a_new_wire_revision(adapter: Adapter) -> None:  # F1
    params = GOLDEN_PARAMS.get(adapter.kind, PARAMS)
    wire = adapter.build(request(params=params, schema=SCHEMA, structured="schema"), model(adapter.kind))
    assert PINNED[adapter.kind, adapter.wire_revision] == digest([wire.path, plain(wire.body)])


def test_openai_body_holds_text_and_images_in_order() -> None:
    wire = OPENAI.build(request(params=PARAMS, schema=SCHEMA, structured="schema"), model("openai"))
    assert wire.path == "/chat/completions"
    assert plain(wire.body) == {
        "model": "vendor-model-1",
        "messages": [
            {"role": "system", "content": "be brief"},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "before"},
                    {
                        "type": "image_url",
                        "image_url": {"url": f"data:image/webp;base64,<original:{'a' * 64}>"},
                    },
                    {"type": "text", "text": "between"},
                    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,<png:{'b' * 64}>"}},
                ],
            },
        ],
        "temperature": 0,
        "top_p": 0.9,
        "max_tokens": 100,
        "seed": 7,
        "stop": ["END"],
        "min_p": 0.1,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "triage_v1", "schema": SCHEMA_BODY, "strict": True},
        },
    }


def test_gemini_body_holds_text_and_images_in_order() -> None:
    wire = GEMINI.build(request(params=PARAMS, schema=SCHEMA, structured="schema"), model("gemini"))
    assert wire.path == "/models/vendor-model-1:generateContent"
    assert plain(wire.body) == {
        "systemInstruction": {"parts": [{"text": "be brief"}]},
        "contents": [
            {
                "role": "user",
                "parts": [
                    {"text": "before"},
                    {"inlineData": {"mimeType": "image/webp", "data": f"<original:{'a' * 64}>"}},
                    {"text": "between"},
                    {"inlineData": {"mimeType": "image/png", "data": f"<png:{'b' * 64}>"}},
                ],
            }
        ],
        "generationConfig": {
            "temperature": 0,
            "topP": 0.9,
            "maxOutputTokens": 100,
            "seed": 7,
            "stopSequences": ["END"],
            "min_p": 0.1,
            "responseMimeType": "application/json",
            "responseJsonSchema": SCHEMA_BODY,
        },
    }


def test_simulator_body_is_openais_with_what_a_simulated_model_must_know() -> None:
    asked = request(params=PARAMS, schema=SCHEMA, structured="schema", attempt=2, repeat=3)
    wire = SIMULATOR.build(asked, model("simulator"))
    assert wire.path == "/chat/completions"
    assert plain(wire.body) == {
        **plain(OPENAI.build(asked, model("openai")).body),
        "simulator": {"seed": 7, "schema": SCHEMA_BODY},
    }
    assert wire.transport_headers == {
        "X-Harness-Attempt": "2",
        "X-Harness-Repeat": "3",
        "X-Harness-Purpose": "answer",
    }


def test_max_tokens_takes_the_name_that_the_provider_knows() -> None:
    other = model("openai", provider_fields={"max_tokens_field": "max_completion_tokens"})
    body = OPENAI.build(ask(params={"max_tokens": 9}), other).body
    assert (body.get("max_completion_tokens"), "max_tokens" in body) == (9, False)


def test_two_names_for_one_field_are_refused() -> None:
    other = model("openai", provider_fields={"max_tokens_field": "max_completion_tokens"})
    with pytest.raises(UnsupportedInputError, match="given twice"):
        OPENAI.build(ask(params={"max_completion_tokens": 5, "max_tokens": 9}), other)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("thinking_level", "low", {"thinkingConfig": {"thinkingLevel": "low"}}),
        ("thinking_budget", 0, {"thinkingConfig": {"thinkingBudget": 0}}),
        ("stop", "END", {"stopSequences": ["END"]}),
        ("mediaResolution", "HIGH", {"mediaResolution": "HIGH"}),
    ],
)
def test_gemini_settings_go_into_the_generation_config(name: str, value: object, expected: object) -> None:
    body = GEMINI.build(ask(params={name: value}), model("gemini")).body
    assert body["generationConfig"] == expected


def test_gemini_safety_settings_stand_beside_the_generation_config() -> None:
    settings = [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "OFF"}]
    body = GEMINI.build(ask(params={"safety_settings": settings}), model("gemini")).body
    assert body["safetySettings"] == settings


@EVERY
def test_no_option_is_sent_that_nobody_asked_for(adapter: Adapter) -> None:
    body = adapter.build(ask(), model(adapter.kind, max_output_tokens=9)).body
    usual = ({"model", "messages"}, {"model", "input"}, {"contents"}, {"model", "messages", "max_tokens"})
    assert set(body) in usual


@EVERY
@pytest.mark.parametrize("structured", ["json", "schema"])
def test_structured_output_that_a_model_is_not_known_to_take_is_refused(
    adapter: Adapter, structured: str
) -> None:
    with pytest.raises(UnsupportedInputError, match="--structured off"):
        adapter.build(ask(structured=structured, schema=SCHEMA), model(adapter.kind, structured=()))


@EVERY
def test_a_parameter_that_a_model_does_not_take_is_refused_and_not_dropped(adapter: Adapter) -> None:  # F15
    with pytest.raises(UnsupportedInputError, match="temperature"):
        adapter.build(
            ask(params={"temperature": 0}), model(adapter.kind, unsupported_params=("temperature",))
        )


@EVERY
@pytest.mark.parametrize("name", ["n", "stream"])
def test_parameters_that_would_change_how_answers_are_read_are_refused(adapter: Adapter, name: str) -> None:
    with pytest.raises(UnsupportedInputError, match=name):
        adapter.build(ask(params={name: 3}), model(adapter.kind))


@EVERY
def test_more_images_than_a_model_takes_are_refused_and_not_cut(adapter: Adapter) -> None:  # F16
    with pytest.raises(UnsupportedInputError, match="1 images"):
        adapter.build(request(), model(adapter.kind, max_images=1))


@EVERY
def test_an_image_for_a_text_model_is_refused(adapter: Adapter) -> None:  # F16
    with pytest.raises(UnsupportedInputError, match="takes no images"):
        adapter.build(request(), model(adapter.kind, inputs=("text",)))


def test_an_image_in_a_system_message_is_refused() -> None:
    with pytest.raises(UnsupportedInputError, match="user message"):
        OPENAI.build(Request((Message("system", (ImagePart(SCAN), TextPart("x"))),)), model("openai"))


def test_system_text_after_a_turn_is_refused_where_the_format_has_no_place_for_it() -> None:
    turns = (Message("user", (TextPart("a"),)), Message("system", (TextPart("b"),)))
    with pytest.raises(UnsupportedInputError, match="before all turns"):
        GEMINI.build(Request(turns), model("gemini"))


def test_earlier_answers_are_the_models_own_turns() -> None:
    turns = (Message("user", (TextPart("a"),)), Message("assistant", (TextPart("b"),)), Message("user", ()))
    contents = plain(GEMINI.build(Request(turns), model("gemini")).body["contents"])
    assert [turn["role"] for turn in contents] == ["user", "model", "user"]


def test_a_schema_with_an_optional_field_is_not_sent_as_strict() -> None:
    loose = Schema("s", "0" * 64, {**SCHEMA_BODY, "required": []})
    body = plain(OPENAI.build(ask(schema=loose, structured="schema"), model("openai")).body)
    assert body["response_format"]["json_schema"]["strict"] is False


def test_streaming_and_tier_are_transport_and_leave_the_body_alone() -> None:  # F2
    streamed = OPENAI.build(ask(params={"service_tier": "flex"}), model("openai", stream=True))
    still = OPENAI.build(ask(), model("openai"))
    assert streamed.body == still.body
    assert streamed.transport == {
        "service_tier": "flex",
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_a_provider_that_refuses_stream_options_gets_none() -> None:
    to = model("openai", stream=True, provider_fields={"stream_options": False})
    assert OPENAI.build(ask(), to).transport == {"stream": True}


def test_lone_surrogates_and_nul_in_a_case_reach_the_body() -> None:
    text = "a\ud800b\x00c"
    assert OPENAI.build(ask(text), model("openai")).body["messages"] == [{"role": "user", "content": text}]
    assert plain(GEMINI.build(ask(text), model("gemini")).body)["contents"][0]["parts"] == [{"text": text}]


def test_the_key_goes_in_a_header_and_nowhere_else() -> None:  # F46
    assert OPENAI.auth_headers(model("openai").provider, "sk-1") == {"authorization": "Bearer sk-1"}
    assert GEMINI.auth_headers(model("gemini").provider, "AIza1") == {"x-goog-api-key": "AIza1"}
    assert OPENAI.auth_headers(model("openai").provider, None) == {}
