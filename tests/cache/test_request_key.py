"""Keys as they are made for sending: by `identity.build`, from a request and the settings of its model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from PIL import Image
from request_examples import (
    DIFFERENCES,
    DIFFERENT,
    EVERY_KIND,
    KINDS,
    MEDIA,
    OTHER,
    REQUEST,
    SAME,
    SHA,
    Kind,
    key,
    model,
    provider,
    turns,
)

from harness.cache.key import endpoint_identity, normalised_url, wire_document
from harness.identity import build
from harness.media import Media, probe
from harness.messages import ImagePart, MediaSlot, Message, Request, Schema, VideoPart, WireRequest
from harness.plans import ModelPlan, with_recipes
from harness.providers.base import ADAPTERS, get_adapter
from harness.recipes import RECIPE_VERSIONS
from harness.settings import (
    ANSWER_FIELDS_MODEL,
    ANSWER_FIELDS_PROVIDER,
    ErrorRule,
    ImageLimits,
    Model,
    Price,
    Provider,
    VideoLimits,
)


@pytest.mark.parametrize(("kind", "name"), DIFFERENCES)
def test_whatever_changes_the_answer_changes_the_key(kind: Kind, name: str) -> None:  # F1 F4 F10 F11
    assert key(kind, **DIFFERENT[name]) != key(kind)


def test_no_two_different_requests_share_a_key() -> None:  # F1
    keys = [key(kind) for kind in KINDS] + [key(kind, **DIFFERENT[name]) for kind, name in DIFFERENCES]
    assert len(set(keys)) == len(keys)


@EVERY_KIND
@pytest.mark.parametrize("name", SAME)
def test_what_does_not_change_the_answer_leaves_the_key(kind: Kind, name: str) -> None:  # F2 F4
    assert key(kind, **SAME[name]) == key(kind)


@EVERY_KIND
def test_a_new_wire_revision_is_a_new_request(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:  # F1
    before = key(kind)
    monkeypatch.setattr(get_adapter(kind), "wire_revision", 99)
    assert key(kind) != before


@EVERY_KIND
def test_a_changed_conversion_is_a_new_request_where_it_is_used(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:  # F1 F2
    before = key(kind)
    monkeypatch.setitem(RECIPE_VERSIONS, "png", 99)
    assert key(kind) == before
    monkeypatch.setitem(RECIPE_VERSIONS, "original", 99)
    assert key(kind) != before


PINNED: Mapping[Kind, str] = {
    "anthropic": "1b261d3bfeeefe1ff21d71adb420639715360d04d7aa5a2a760583a8b6060031",
    "openai-responses": "f4e9f2a4bc94a65542716de76fe9e57c8680c1c0657a7f182af4b464cdadacb0",
    "openai": "8a02c8b7119d72646fbff01bd720fca638ef2491e45b470d41dde0406f338b6c",
    "gemini": "41e758b339d8a02e3748fb9c62e6a72936e0ea2fc13616d6bd7de8a75e6ba5a0",
    "litellm": "e1c42a486b39ac5faf71c3b56b78f4e4817e6ce22a72506151f5734bb11c70c2",
    "simulator": "a05f9a70c311a6aab1c60d5c916bbd863c6ab1a0cb6e647de346abdf0fc2494a",
}


@EVERY_KIND
def test_the_key_of_a_known_request_stays_what_it_is(kind: Kind) -> None:
    # Whoever sees this fail makes every stored answer be paid for again: raise KEY_VERSION and say so.
    assert key(kind) == PINNED[kind]


def test_every_adapter_is_tried() -> None:
    assert set(KINDS) == set(ADAPTERS) == set(PINNED)


def test_a_recipe_that_nobody_knows_is_refused() -> None:
    wire = WireRequest("/x", {"image": MediaSlot(MEDIA, "webp")})
    known = "fit, frame, jpeg, original, png, roi"
    with pytest.raises(ValueError, match=f"unknown recipe 'webp'; known: {known}"):
        wire_document(wire)


def test_the_stored_body_holds_media_by_digest() -> None:
    stored = json.loads(wire_document(build(REQUEST, model("openai")).wire))
    image = stored["messages"][1]["content"][1]["image_url"]["url"]
    assert image == {"$media": [SHA, "original", 1], "prefix": "data:image/png;base64,"}
    assert stored["temperature"] == 0


@EVERY_KIND
def test_lone_surrogates_in_a_prompt_have_a_document(kind: Kind) -> None:
    odd = replace(REQUEST, messages=turns(text="\ud800"))
    assert b"\\ud800" in wire_document(build(odd, model(kind)).wire)


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


LIMITS: Mapping[str, object] = {
    "max_images": 9,
    "max_videos": 9,
    "max_request_bytes": 9,
    "image": ImageLimits(max_bytes=9),
    "video": VideoLimits(max_bytes=9),
}

PROVIDER_CHANGES: Mapping[str, object] = {
    "name": "other",
    "base_url": "http://other.test/v1",
    "endpoint": "lab",
    "base_url_like": "http://RESOURCE.test/v1",
    "api_key_env": "OTHER_KEY",
    "api_key_header": "api-key",
    "price_source": "a page, 2020-01-01",
    "ends_source": "a page, 2020-01-01",
    "headers": {"x-org": "other"},
    "limit_headers": "anthropic",
    "max_tokens_field": "max_completion_tokens",
    "reasoning_fields": ("thoughts",),
    "verify_tls": False,
    "stream_options": False,
    "unsupported_params": ("top_k",),
    "exclusive_params": (("temperature", "top_p"),),
    "schema_names": "[a-z]{1,9}",
    "errors": {"auth": (ErrorRule(status=418),)},
    "video_format": "dashscope",
    **LIMITS,
    "model_prefix": "vendor/",
}

MODEL_CHANGES: Mapping[str, object] = {
    "name": "other",
    "model": "other-weights",
    "inputs": ("text",),
    "structured": ("json",),
    "context_tokens": 9,
    "max_output_tokens": 9,
    "image_recipe": "png",
    **LIMITS,
    "unsupported_params": ("top_k",),
    "exclusive_params": (("temperature", "top_p"),),
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
    "replaced_on": date(2020, 1, 1),
    "retires_on": date(2020, 1, 1),
    "ends_source": "a page, 2020-01-01",
    "note": "slow",
}

VIDEO_FORMATS = ("openai", "simulator")
"""Adapters for which it is a provider's affair how a video is sent, or whether."""

CLIP = VideoPart(Media("4" * 64, "video/mp4", 100, 8, 8), fps=2)


def setting_key(asked: Model, field: str, image: Media) -> str:
    """Return the key of a question in text, so that a model which takes no image can be asked too.

    Fields about images and videos are tried with one.
    """
    messages = turns()
    if field == "video_format" and asked.provider.adapter in VIDEO_FORMATS:
        messages = (Message("user", (CLIP,)),)
    if field == "image_recipe":
        plan = ModelPlan(asked, {}, image_recipe=asked.image_recipe or "original")
        messages = with_recipes(turns(ImagePart(image)), plan)
    return build(Request(messages, params=asked.params), asked).key


def usual(kind: Kind) -> Model:
    served = provider(kind, video_format="vllm")
    given = {"temperature": 0, "max_tokens": 100}
    return model(kind, provider=served, params=given, structured=(), inputs=("text", "image", "video"))


@pytest.fixture
def image(tmp_path: Path) -> Media:
    Image.new("L", (8, 8)).save(tmp_path / "a.png")
    return probe(tmp_path / "a.png")


def test_every_setting_is_classified_and_tried() -> None:  # F1 F2
    # A new field: decide whether it changes the answer (ANSWER_FIELDS_*), then give it a changed value here.
    assert {*PROVIDER_CHANGES, "adapter"} == set(Provider.model_fields)
    assert {*MODEL_CHANGES, "provider"} == set(Model.model_fields)
    assert set(Provider.model_fields) >= ANSWER_FIELDS_PROVIDER
    assert set(Model.model_fields) >= ANSWER_FIELDS_MODEL


@EVERY_KIND
@pytest.mark.parametrize("field", sorted(Provider.model_fields))
def test_a_providers_setting_is_in_the_key_only_if_it_changes_the_answer(
    kind: Kind, field: str, image: Media
) -> None:  # F1 F2
    asked = usual(kind)
    value = OTHER[kind] if field == "adapter" else PROVIDER_CHANGES[field]
    assert value != getattr(asked.provider, field)
    changed = asked.model_copy(update={"provider": asked.provider.model_copy(update={field: value})})
    # These formats have one name for the limit of the output, whatever the provider's settings say.
    silent = field == "max_tokens_field" and kind in ("gemini", "anthropic", "openai-responses")
    silent |= field == "video_format" and kind not in VIDEO_FORMATS
    # It says how a schema is sent, and none is here: see the test of property names below.
    silent |= field == "schema_names"
    differs = setting_key(changed, field, image) != setting_key(asked, field, image)
    assert differs is (field in ANSWER_FIELDS_PROVIDER and not silent)


@EVERY_KIND
def test_a_rule_for_property_names_is_in_the_key_only_where_a_name_breaks_it(kind: Kind) -> None:  # F1 F2
    def key_with(rule: str | None, name: str) -> str:
        body = {"type": "object", "properties": {name: {"type": "string"}}, "additionalProperties": False}
        return key(kind, at={"schema_names": rule}, schema=Schema("s", "3" * 64, body))

    assert key_with("[a-z]+", "ab") == key_with("[a-z_]+", "ab") == key_with(None, "ab")
    if kind != "simulator":  # it is told the schema itself
        assert key_with("[a-z_]+", "a b") != key_with("[a-z_]+", "a/b")
    assert len({key_with(rule, "A b") for rule in (".*", "[a-zA-Z_]+", "[a-z]+")}) == 3


@EVERY_KIND
@pytest.mark.parametrize("field", sorted(Model.model_fields))
def test_a_models_setting_is_in_the_key_only_if_it_changes_the_answer(
    kind: Kind, field: str, image: Media
) -> None:  # F1 F2
    asked = usual(kind)
    value = provider(kind, base_url="http://other.test/v1") if field == "provider" else MODEL_CHANGES[field]
    assert value != getattr(asked, field)
    changed = asked.model_copy(update={field: value})
    differs = setting_key(changed, field, image) != setting_key(asked, field, image)
    assert differs is (field in ANSWER_FIELDS_MODEL)


@EVERY_KIND
def test_an_address_does_not_count_where_the_endpoint_is_named(kind: Kind) -> None:  # F2
    def named(url: str) -> str:
        return key(kind, at={"endpoint": "lab", "base_url": url})

    assert named("http://node1/v1") == named("http://node2/v1")
