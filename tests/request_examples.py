"""A request with every part of a key, and changes that make another key or leave it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import pytest

from harness.identity import build
from harness.media import Media
from harness.messages import ImagePart, Message, Request, Schema, TextPart
from harness.settings import Model, Provider

Kind: TypeAlias = Literal["openai", "openai-responses", "gemini", "anthropic", "litellm", "simulator"]
KINDS: tuple[Kind, ...] = get_args(Kind)
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)
OTHER: Mapping[Kind, Kind] = {
    "openai": "gemini",
    "openai-responses": "openai",
    "gemini": "openai",
    "anthropic": "openai",
    "litellm": "openai",
    "simulator": "openai",
}

SHA = "1" * 64
MEDIA = Media(SHA, "image/png", 100, 10, 10, Path("one.png"))
PHOTO = replace(MEDIA, sha256="2" * 64)
SCHEMA = Schema("answer-v1", "3" * 64, {"type": "object", "properties": {"a": {"type": "string"}}})
PARAMS = {"temperature": 0, "max_tokens": 100, "reasoning_effort": "low"}


def provider(kind: Kind, **changes: Any) -> Provider:
    given = {"base_url": "http://host/v1", "headers": {"x-org": "lab"}}
    return Provider(name="p", adapter=kind, **(given | changes))


def model(kind: Kind, **changes: Any) -> Model:
    given = {"provider": provider(kind), "model": "weights", "structured": ("json", "schema")}
    return Model(name="m", **(given | changes))


def added_headers(kind: Kind) -> dict[str, str]:
    """Return what a format puts among the headers by itself."""
    return {"anthropic-version": "2023-06-01"} if kind == "anthropic" else {}


def turns(
    *images: ImagePart, system: str = "be brief", text: str = "why"
) -> tuple[Message, ...]:
    return Message("system", (TextPart(system),)), Message("user", (TextPart(text), *images))


REQUEST = Request(turns(ImagePart(MEDIA)), params=PARAMS, schema=SCHEMA, structured="schema")


def key(kind: Kind, *, at: Mapping[str, Any] | None = None, of: str = "weights", **changes: Any) -> str:
    """Return the key of a request with changes; `at`: changes of the provider, `of`: the model's id."""
    asked = model(kind, provider=provider(kind, **(at or {})), model=of)
    return build(replace(REQUEST, **changes), asked).key


def params(**changes: Any) -> dict[str, Any]:
    return {"params": PARAMS | changes}


def shown(*images: ImagePart) -> dict[str, Any]:
    return {"messages": turns(*images)}


DIFFERENT: Mapping[str, dict[str, Any]] = {
    "address": {"at": {"base_url": "http://other.test/v1"}},
    "name of the endpoint": {"at": {"endpoint": "lab"}},
    "model": {"of": "weights-2"},
    "attempt": {"attempt": 2},
    "repeat": {"repeat": 2},
    "header of the provider": {"at": {"headers": {"x-org": "other"}}},
    "temperature": params(temperature=1),
    "reasoning effort": params(reasoning_effort="high"),
    "max tokens": params(max_tokens=101),
    "another parameter": params(top_p=0.5),
    "a parameter that is null": params(top_p=None),
    "true for 1": params(temperature=True),
    "schema": {"schema": replace(SCHEMA, body={"type": "array"})},
    "structured output": {"structured": "json"},
    "no structured output": {"structured": "off"},
    "system text": {"messages": turns(ImagePart(MEDIA), system="be long")},
    "user text": {"messages": turns(ImagePart(MEDIA), text="how")},
    "image bytes": shown(ImagePart(PHOTO)),
    "image recipe": shown(ImagePart(MEDIA, "png")),
    "number of images": shown(ImagePart(MEDIA), ImagePart(MEDIA)),
    "no image": shown(),
    "second image": shown(ImagePart(MEDIA), ImagePart(PHOTO)),
    "order of images": shown(ImagePart(PHOTO), ImagePart(MEDIA)),
    "lone surrogate": {"messages": turns(ImagePart(MEDIA), text="\ud800")},
}

NOT_TAKEN = {("anthropic", "structured output")}
"""What a format refuses: the Messages API has no JSON mode."""

DIFFERENCES = [(kind, name) for kind in KINDS for name in DIFFERENT if (kind, name) not in NOT_TAKEN]

SAME: Mapping[str, dict[str, Any]] = {
    "another path of the same image": shown(ImagePart(replace(MEDIA, path=Path("b")))),
    "service tier": params(service_tier="flex"),
    "order of the parameters": {"params": dict(reversed(PARAMS.items()))},
    "0.0 for 0": params(temperature=0.0),
    "case of header names": {"at": {"headers": {"X-Org": "lab"}}},
    "spelling of the address": {"at": {"base_url": "HTTP://HOST:80/v1/"}},
    "what the answer is for": {"purpose": "reformat"},
}
