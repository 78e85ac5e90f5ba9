"""What two requests differ in: every component of the key has its name (the fields of F1)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from request_examples import (
    DIFFERENCES,
    DIFFERENT,
    EVERY_KIND,
    OTHER,
    REQUEST,
    SAME,
    Kind,
    added_headers,
    model,
    provider,
)

from harness.cache.key import read_document, stored_document, twin_of
from harness.cache.neighbours import StoredRequest
from harness.canonical import canonical_json
from harness.explaining.components import Identity, differences, stored_identity, wanted_identity
from harness.identity import build
from harness.messages import Request
from harness.outcomes import ExchangeOutcome
from harness.providers.base import get_adapter
from harness.recipes import RECIPE_VERSIONS

NAMED: Mapping[str, set[str]] = {
    "address": {"endpoint"},
    "name of the endpoint": {"endpoint"},
    "model": {"model"},
    "attempt": {"attempt"},
    "repeat": {"repeat"},
    "header of the provider": {"header x-org"},
    "temperature": {"parameter temperature"},
    "reasoning effort": {"parameter reasoning_effort"},
    "max tokens": {"parameter max_tokens"},
    "another parameter": {"parameter top_p"},
    "a parameter that is null": {"parameter top_p"},
    "true for 1": {"parameter temperature"},
    "schema": {"schema"},
    "structured output": {"schema"},
    "no structured output": {"schema"},
    "system text": {"system text"},
    "user text": {"message text"},
    "image bytes": {"medium"},
    "image recipe": {"recipe"},
    "number of images": {"medium"},
    "no image": {"medium"},
    "second image": {"medium"},
    "order of images": {"medium"},
    "lone surrogate": {"message text"},
}
"""Change of a request -> the components that are named for it; names of parameters by their last part."""

SPELT = {
    "maxOutputTokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "effort": "reasoning_effort",
    "topP": "top_p",
}


def asked(kind: Kind, *, at: Mapping[str, Any] | None = None, of: str = "weights", **changes: Any) -> Any:
    return replace(REQUEST, **changes), model(kind, provider=provider(kind, **(at or {})), model=of)


def wanted(request: Request, of: Any) -> Identity:
    return wanted_identity(build(request, of), request, of)


def stored(request: Request, of: Any, *, headers: bool = True) -> Identity:
    """Return the identity of a request after it went through the store."""
    built = build(request, of)
    document = (stored_document(built.document, built.headers) if headers else built.document)
    adapter = get_adapter(of.provider.adapter)
    return stored_identity(
        StoredRequest(
            1, built.key, 1, request.purpose, request.attempt, request.repeat, "p", built.endpoint,
            of.model, adapter.kind, adapter.wire_revision, document, ExchangeOutcome.ANSWERED, 1,
        )
    )  # fmt: skip


def names(was: Identity, now: Identity) -> set[str]:
    found = set()
    for one in differences(was, now):
        last = one.path.replace("[", ".").rpartition(".")[2]
        named = one.component in {"parameter", "header"}
        found.add(f"{one.component} {SPELT.get(last, last)}" if named else one.component)
    return found


@pytest.mark.parametrize(("kind", "name"), DIFFERENCES)
def test_whatever_changes_the_key_is_named(kind: Kind, name: str) -> None:  # F1 F50
    assert names(stored(*asked(kind)), wanted(*asked(kind, **DIFFERENT[name]))) == NAMED[name]


@pytest.mark.parametrize(("kind", "name"), DIFFERENCES)
def test_and_the_other_way_round(kind: Kind, name: str) -> None:  # F50
    assert names(stored(*asked(kind, **DIFFERENT[name])), wanted(*asked(kind))) == NAMED[name]


def test_every_change_that_is_tried_for_keys_is_tried_here() -> None:
    assert set(NAMED) == set(DIFFERENT)


@EVERY_KIND
@pytest.mark.parametrize("name", SAME)
def test_what_does_not_change_the_key_is_no_difference(kind: Kind, name: str) -> None:  # F2
    assert differences(stored(*asked(kind)), wanted(*asked(kind, **SAME[name]))) == ()


@EVERY_KIND
def test_a_wire_revision_is_named(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:  # F1 F50
    before = stored(*asked(kind))
    monkeypatch.setattr(get_adapter(kind), "wire_revision", 99)
    (only,) = differences(before, wanted(*asked(kind)))
    assert (only.component, only.stored, only.wanted, only.is_place) == ("wire revision", "1", "99", True)


@EVERY_KIND
def test_a_recipe_version_is_named(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:  # F1 F50
    before = stored(*asked(kind))
    monkeypatch.setitem(RECIPE_VERSIONS, "original", 99)
    (only,) = differences(before, wanted(*asked(kind)))
    assert (only.component, only.stored, only.wanted) == ("recipe version", "1", "99")


@EVERY_KIND
def test_another_adapter_is_named(kind: Kind) -> None:  # F1 F50
    assert "adapter" in names(stored(*asked(OTHER[kind])), wanted(*asked(kind)))


@EVERY_KIND
def test_headers_of_old_rows_are_unknown_and_said_to_be(kind: Kind) -> None:
    old = stored(*asked(kind), headers=False)
    assert names(old, wanted(*asked(kind))) == {"headers unknown"}
    assert names(old, wanted(*asked(kind, attempt=2))) == {"attempt"}
    bare = asked(kind, at={"headers": {}})
    unknown = {"headers unknown"} if added_headers(kind) else set()
    assert names(stored(*bare, headers=False), wanted(*bare)) == unknown


@EVERY_KIND
def test_the_key_can_be_made_again_from_what_is_stored(kind: Kind) -> None:
    request, of = asked(kind)
    built = build(request, of)
    body, headers = read_document(stored_document(built.document, built.headers))
    assert headers == {"x-org": "lab", **added_headers(kind)}
    document = canonical_json(body)
    made = twin_of(adapter=kind, model="weights", headers=headers, body=document, attempt=1, repeat=1)
    assert made == built.twin


@EVERY_KIND
def test_values_of_headers_are_not_shown(kind: Kind) -> None:  # F46
    secret = asked(kind, at={"headers": {"x-org": "hush-hush-12345"}})
    shown = json.dumps([one.to_json() for one in differences(stored(*asked(kind)), wanted(*secret))])
    assert "x-org" in shown
    assert "hush" not in shown


def test_a_long_text_is_shown_only_where_it_differs() -> None:
    text = "word " * 2_000
    before, after = (
        replace(REQUEST, messages=(replace(REQUEST.messages[1], parts=(replace(part, text=given),)),))
        for part in REQUEST.messages[1].parts[:1]
        for given in (f"{text}one{text}", f"{text}two{text}")
    )
    (only,) = differences(stored(before, model("openai")), wanted(after, model("openai")))
    assert "from character 10001 of 20003" in only.stored
    assert "one" in only.stored and "two" in only.wanted
    assert len(only.stored) + len(only.wanted) < 250


def test_true_is_not_one_and_null_is_not_absent() -> None:  # F1
    one, true, null = (
        replace(REQUEST, params={"temperature": value}) for value in (1, True, None)
    )
    absent = replace(REQUEST, params={})
    for was, now in ((one, true), (null, absent), (absent, null)):
        assert names(stored(was, model("openai")), wanted(now, model("openai"))) == {"parameter temperature"}


def test_text_and_image_in_another_order_is_a_difference_too() -> None:
    request, of = asked("openai")
    system, user = request.messages
    turned = replace(request, messages=(system, replace(user, parts=user.parts[::-1])))
    assert names(stored(request, of), wanted(turned, of)) == {"arrangement"}


def test_an_effort_is_no_schema_though_one_field_may_hold_both() -> None:
    plain = asked("anthropic", structured="off", params={"max_tokens": 9})
    thinking = asked("anthropic", structured="off", params={"max_tokens": 9, "reasoning_effort": "low"})
    assert names(stored(*plain), wanted(*thinking)) == {"parameter reasoning_effort", "parameter thinking"}
    assert names(stored(*thinking), wanted(*plain)) == {"parameter reasoning_effort", "parameter thinking"}
