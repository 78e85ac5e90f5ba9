"""Two requests that ask for different things never become one: neither one body, nor one key."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wire_doubles import PHOTO, SCAN, model

from harness.canonical import canonical_json
from harness.errors import UnsupportedInputError
from harness.identity import build
from harness.messages import ImagePart, Message, Request, Schema, TextPart
from harness.providers.base import ADAPTERS

# Small ranges, so that requests which differ in one thing only are met often.
TEXTS = st.sampled_from(["", "a", "ab", "a b", "\ud800", '"a"', "\\u0061"])
PARTS = TEXTS.map(TextPart) | st.builds(
    ImagePart, st.sampled_from([SCAN, PHOTO]), st.sampled_from(["original", "png"])
)
VALUES = st.sampled_from(
    [None, 0, 1, True, False, 2, 0.5, "low", "high", ["A"], ["A", "B"], [], {"a": 1}, {}]
)
NAMES = (
    "temperature", "top_p", "top_k", "min_p", "seed", "stop", "presence_penalty", "logit_bias", "made_up",
    "reasoning_effort", "verbosity", "thinking_level", "reasoning_summary",
)  # fmt: skip
PARAMS = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=2) | st.fixed_dictionaries(
    {"max_tokens": st.sampled_from([2000, 2001]), "thinking_budget": st.sampled_from([0, 1024, 1025])}
)
KEYS = st.lists(st.sampled_from(["a b", "a/b", "a_b", "a", "b", "é"]), min_size=1, max_size=2, unique=True)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    keys = draw(KEYS)
    body = {
        "type": "object",
        "properties": {key: {"type": draw(st.sampled_from(["string", "integer"]))} for key in keys},
        "required": keys[: draw(st.integers(0, 2))],
        "additionalProperties": False,
    }
    return Schema("s-v1", "0" * 64, body)


@st.composite
def requests(draw: st.DrawFn) -> Request:
    turns = [Message("user", tuple(draw(st.lists(PARTS, min_size=1, max_size=3))))]
    if draw(st.booleans()):
        turns.insert(0, Message("system", (TextPart(draw(TEXTS)),)))
    if draw(st.booleans()):
        said = Message("assistant", (TextPart(draw(TEXTS)),))
        turns += [said, Message("user", (TextPart(draw(TEXTS)),))]
    return Request(
        tuple(turns),
        params=draw(PARAMS),
        schema=draw(schemas()),
        structured=draw(st.sampled_from(["off", "json", "schema"])),
        attempt=draw(st.integers(1, 2)),
        repeat=draw(st.integers(1, 2)),
    )


@st.composite
def near_requests(draw: st.DrawFn) -> list[Request]:
    """Give a request, and others that differ from it in one thing."""
    first = draw(requests())
    others = draw(st.lists(st.tuples(st.sampled_from(FIELDS), requests()), min_size=2, max_size=12))
    return [first, *(replace(first, **{name: getattr(other, name)}) for name, other in others)]


FIELDS = ("messages", "params", "schema", "structured", "attempt", "repeat")


def wish(request: Request, limit: object) -> Hashable:
    """Return all of a request that may change its answer.

    Without a schema mode no schema is sent; a stop text is a list of one; true is not 1, but 1.0 is.
    """
    params = {"max_tokens": limit} | request.params
    schema = request.schema.body if request.schema and request.structured == "schema" else None
    rest = [params, schema, request.structured, request.attempt, request.repeat]
    return request.messages, canonical_json(rest)


@pytest.mark.slow
@pytest.mark.parametrize("rule", [None, "[A-Za-z0-9_]{1,8}"], ids=["as it is", "aliases"])
@pytest.mark.parametrize("kind", list(ADAPTERS))
@settings(max_examples=40, deadline=None)
@given(near_requests())
def test_requests_that_differ_have_keys_that_differ(
    kind: str, rule: str | None, asked: list[Request]
) -> None:  # F1
    # Formats that demand a limit are given one, which is the same as asking for it.
    limit = 4000 if kind == "anthropic" else None
    to = model(kind, max_output_tokens=4000, provider_fields={"schema_names": rule, "base_url": "http://h/v1"})
    seen: dict[str, Hashable] = {}
    for one in asked:
        try:
            key = build(one, to).key
        except UnsupportedInputError:
            continue
        wished = wish(one, limit)
        assert seen.setdefault(key, wished) == wished


@pytest.mark.parametrize("kind", list(ADAPTERS))
@pytest.mark.parametrize("value", ["low", 1])
def test_no_two_parameters_have_one_name_in_the_body(kind: str, value: Any) -> None:  # F1
    to = model(kind, max_output_tokens=4000, provider_fields={"base_url": "http://h/v1"})
    asked = Request((Message("user", (TextPart("a"),)),))
    keys: dict[str, str] = {build(asked, to).key: "nothing"}
    for name in NAMES:
        try:
            key = build(replace(asked, params={name: value}), to).key
        except UnsupportedInputError:
            continue
        assert keys.setdefault(key, name) == name
    assert len(keys) > len(NAMES) / 2


def test_what_is_wished_tells_apart_what_the_test_must_tell_apart() -> None:
    def of(**changes: Any) -> Hashable:
        given: Mapping[str, Any] = {"messages": (Message("user", (TextPart("a"),)),), "params": {"seed": 1}}
        return wish(Request(**{**given, **changes}), None)

    assert of() == of(params={"seed": 1.0}) != of(params={"seed": True})
    assert of() != of(attempt=2)
    assert of() != of(messages=(Message("user", (TextPart("a"), TextPart(""))),))
