from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.cache.key import endpoint_identity, normalised_url, request_key, wire_document
from harness.media import Media
from harness.messages import MediaSlot, WireRequest, WireValue
from harness.settings import (
    ANSWER_FIELDS_MODEL,
    ANSWER_FIELDS_PROVIDER,
    ErrorRule,
    ImageLimits,
    Model,
    Price,
    Provider,
)

SHA = "1" * 64
MEDIA = Media(SHA, "image/png", 100, 10, 10, Path("one.png"))
BODY: dict[str, WireValue] = {
    "model": "gpt",
    "messages": [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": [{"text": "why"}, {"image": MediaSlot(MEDIA, "original", "data:,")}]},
    ],
    "temperature": 0,
    "max_tokens": 100,
    "reasoning_effort": "low",
    "response_format": {"json_schema": {"type": "object"}},
}
WIRE = WireRequest("/chat/completions", BODY, headers={"X-Mode": "a"})
VERSIONS = {"original": 1, "png": 1}


def key(**changes: Any) -> str:
    arguments: dict[str, Any] = {
        "adapter": "openai",
        "wire_revision": 1,
        "endpoint": "https://api.test/v1",
        "model": "gpt",
        "wire": WIRE,
        "attempt": 1,
        "repeat": 1,
        "provider_headers": {"X-Org": "lab"},
        "recipe_versions": VERSIONS,
    }
    return request_key(**(arguments | changes))


def body(**changes: WireValue) -> WireRequest:
    return replace(WIRE, body={**BODY, **changes})


def messages(system: str = "be brief", slots: tuple[MediaSlot, ...] = ()) -> list[WireValue]:
    images: list[WireValue] = [{"image": slot} for slot in slots or (MediaSlot(MEDIA, "original", "data:,"),)]
    return [{"role": "system", "content": system}, {"role": "user", "content": [{"text": "why"}, *images]}]


ORIGINAL = MediaSlot(MEDIA, "original", "data:,")

DIFFERENT: Mapping[str, dict[str, Any]] = {
    "adapter": {"adapter": "gemini"},
    "wire revision": {"wire_revision": 2},
    "endpoint": {"endpoint": "https://other.test/v1"},
    "model": {"model": "gpt-2"},
    "attempt": {"attempt": 2},
    "repeat": {"repeat": 2},
    "header of the wire": {"wire": replace(WIRE, headers={"X-Mode": "b"})},
    "header of the provider": {"provider_headers": {"X-Org": "other"}},
    "temperature": {"wire": body(temperature=1)},
    "reasoning effort": {"wire": body(reasoning_effort="high")},
    "max tokens": {"wire": body(max_tokens=101)},
    "name of max tokens": {
        "wire": replace(
            WIRE,
            body={("max_completion_tokens" if k == "max_tokens" else k): v for k, v in BODY.items()},
        )
    },
    "schema": {"wire": body(response_format={"json_schema": {"type": "array"}})},
    "system text": {"wire": body(messages=messages("be long"))},
    "image bytes": {
        "wire": body(messages=messages(slots=(replace(ORIGINAL, media=replace(MEDIA, sha256="2" * 64)),)))
    },
    "image recipe": {"wire": body(messages=messages(slots=(replace(ORIGINAL, recipe="png"),)))},
    "image prefix": {"wire": body(messages=messages(slots=(replace(ORIGINAL, prefix=""),)))},
    "number of images": {"wire": body(messages=messages(slots=(ORIGINAL, ORIGINAL)))},
    "recipe version": {"recipe_versions": {"original": 2, "png": 1}},
    "true for 1": {"wire": body(temperature=True)},
    "a parameter that is null": {"wire": body(seed=None)},
}

SAME: Mapping[str, dict[str, Any]] = {
    "another path of the same image": {
        "wire": body(messages=messages(slots=(replace(ORIGINAL, media=replace(MEDIA, path=Path("b"))),)))
    },
    "streaming": {"wire": replace(WIRE, transport={"stream": True}, path="/chat/completions:stream")},
    "service tier": {"wire": replace(WIRE, transport={"service_tier": "flex"})},
    "headers of transport": {"wire": replace(WIRE, transport_headers={"X-Trace": "1"})},
    "order of the body": {"wire": replace(WIRE, body=dict(reversed(BODY.items())))},
    "0.0 for 0": {"wire": body(temperature=0.0)},
    "case of header names": {"wire": replace(WIRE, headers={"x-mode": "a"})},
    "header of the provider in the wire": {
        "wire": replace(WIRE, headers={"x-mode": "a", "x-org": "lab"}),
        "provider_headers": None,
    },
    "version of an unused recipe": {"recipe_versions": {"original": 1, "png": 9}},
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_whatever_changes_the_answer_changes_the_key(name: str) -> None:  # F1 F4 F10 F11
    assert key(**DIFFERENT[name]) != key()


def test_no_two_different_requests_share_a_key() -> None:  # F1
    keys = [key(), *(key(**changes) for changes in DIFFERENT.values())]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("name", SAME)
def test_what_does_not_change_the_answer_leaves_the_key(name: str) -> None:  # F2 F4
    assert key(**SAME[name]) == key()


def test_the_key_of_a_known_request_stays_what_it_is() -> None:
    # Whoever sees this fail makes every stored answer be paid for again: raise KEY_VERSION and say so.
    assert key() == "943426e833a6e8bfe14dfa9cf61158150b552223a8f1259651566fbbc53ec9e7"


def test_a_key_is_sixty_four_hexadecimal_digits() -> None:
    assert len(key()) == 64
    assert int(key(), 16) >= 0


def test_a_recipe_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown recipe 'original'; known: webp"):
        key(recipe_versions={"webp": 1})


def test_the_stored_body_holds_media_by_digest() -> None:
    stored = json.loads(wire_document(WIRE, recipe_versions=VERSIONS))
    image = stored["messages"][1]["content"][1]["image"]
    assert image == {"$media": [SHA, "original", 1], "prefix": "data:,"}
    assert stored["temperature"] == 0


def test_lone_surrogates_in_a_prompt_have_a_key_and_a_document() -> None:
    odd = body(messages=messages("\ud800"))
    assert key(wire=odd) != key()
    assert b"\\ud800" in wire_document(odd, recipe_versions=VERSIONS)


@pytest.mark.parametrize(
    ("url", "same"),
    [
        ("HTTPS://API.Test:443/v1/", "https://api.test/v1"),
        ("http://host:80", "http://host"),
        ("http://host:8000/V1", "http://host:8000/V1"),
        ("https://user:secret@host/v1?key=secret#x", "https://host/v1"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
        (" http://host/v1/ ", "http://host/v1"),
        ("", ""),
    ],
)
def test_one_address_has_one_spelling(url: str, same: str) -> None:  # F46
    assert normalised_url(url) == same
    assert endpoint_identity(Provider(name="p", adapter="openai", base_url=url)) == same


def test_a_named_endpoint_stands_for_whatever_address_it_has_today() -> None:
    def identity(url: str) -> str:
        return endpoint_identity(Provider(name="p", adapter="openai", endpoint="lab", base_url=url))

    assert identity("http://node1:8000/v1") == identity("http://node2:9000/v1") == "lab"


PROVIDER_CHANGES: Mapping[str, object] = {
    "name": "other",
    "adapter": "gemini",
    "base_url": "http://other.test/v1",
    "endpoint": "lab",
    "api_key_env": "OTHER_KEY",
    "headers": {"x-org": "other"},
    "limit_headers": "anthropic",
    "max_tokens_field": "max_completion_tokens",
    "reasoning_fields": ("thoughts",),
    "verify_tls": False,
    "errors": {"auth": (ErrorRule(status=418),)},
}

MODEL_CHANGES: Mapping[str, object] = {
    "name": "other",
    "provider": Provider(name="p", adapter="openai", base_url="http://other.test/v1"),
    "model": "other-weights",
    "inputs": ("text",),
    "structured": ("json",),
    "context_tokens": 9,
    "max_output_tokens": 9,
    "max_images": 9,
    "image": ImageLimits(max_bytes=9),
    "unsupported_params": ("top_k",),
    "params": {"temperature": 1, "max_tokens": 100},
    "requests_per_minute": 9,
    "tokens_per_minute": 9,
    "input_tokens_per_minute": 9,
    "output_tokens_per_minute": 9,
    "max_in_flight": 9,
    "connect_timeout_s": 9,
    "idle_timeout_s": 9,
    "total_timeout_s": 9,
    "max_sends": 9,
    "stream": True,
    "price": Price(input=9),
    "retired": "2020",
    "note": "slow",
}

PROVIDER = Provider(name="p", adapter="openai", base_url="http://host/v1", headers={"x-org": "lab"})
MODEL = Model(name="m", provider=PROVIDER, model="weights", params={"temperature": 0, "max_tokens": 100})


def key_of(model: Model) -> str:
    """The key as the client makes it, with the body that an adapter of the OpenAI form builds."""
    params: dict[str, Any] = dict(model.params)
    limit = params.pop("max_tokens")
    wire = WireRequest(
        "/chat/completions",
        {"model": model.model, model.provider.max_tokens_field: limit, **params},
        transport={"stream": True} if model.stream else {},
    )
    return request_key(
        adapter=model.provider.adapter,
        wire_revision=1,
        endpoint=endpoint_identity(model.provider),
        model=model.model,
        wire=wire,
        attempt=1,
        repeat=1,
        provider_headers=model.provider.headers,
    )


def test_every_setting_is_classified_and_tried() -> None:  # F1 F2
    # A new field: decide whether it changes the answer (ANSWER_FIELDS_*), then give it a changed value here.
    assert set(PROVIDER_CHANGES) == set(Provider.model_fields)
    assert set(MODEL_CHANGES) == set(Model.model_fields)
    assert set(Provider.model_fields) >= ANSWER_FIELDS_PROVIDER
    assert set(Model.model_fields) >= ANSWER_FIELDS_MODEL


@pytest.mark.parametrize("field", sorted(Provider.model_fields))
def test_a_providers_setting_is_in_the_key_only_if_it_changes_the_answer(field: str) -> None:  # F1 F2
    assert PROVIDER_CHANGES[field] != getattr(PROVIDER, field)
    changed = PROVIDER.model_copy(update={field: PROVIDER_CHANGES[field]})
    differs = key_of(MODEL.model_copy(update={"provider": changed})) != key_of(MODEL)
    assert differs is (field in ANSWER_FIELDS_PROVIDER)


@pytest.mark.parametrize("field", sorted(Model.model_fields))
def test_a_models_setting_is_in_the_key_only_if_it_changes_the_answer(field: str) -> None:  # F1 F2
    assert MODEL_CHANGES[field] != getattr(MODEL, field)
    changed = MODEL.model_copy(update={field: MODEL_CHANGES[field]})
    assert (key_of(changed) != key_of(MODEL)) is (field in ANSWER_FIELDS_MODEL)


def test_an_address_does_not_count_where_the_endpoint_is_named() -> None:  # F2
    def named(url: str) -> Model:
        provider = PROVIDER.model_copy(update={"endpoint": "lab", "base_url": url})
        return MODEL.model_copy(update={"provider": provider})

    assert key_of(named("http://node1/v1")) == key_of(named("http://node2/v1"))
