"""Which schemas OpenAI's strict mode takes, and how they are named."""

from __future__ import annotations

from typing import Any

import pytest

from harness.messages import Schema
from harness.providers.openai_schema import fits_strict_mode, named_schema

TEXT: dict[str, Any] = {"type": "string"}


def closed(properties: dict[str, Any], **fields: Any) -> dict[str, Any]:
    given = {"type": "object", "properties": properties, "required": list(properties)}
    return {**given, "additionalProperties": False, **fields}


@pytest.mark.parametrize(
    "schema",
    [
        closed({"a": TEXT}),
        closed({"a": TEXT, "b": TEXT}, required=["b", "a"]),
        closed({"a": {"type": "array", "items": closed({"b": TEXT})}}),
        closed({"a": {"anyOf": [TEXT, {"type": "null"}]}}),
        closed({"a": {"$ref": "#/$defs/b"}}, **{"$defs": {"b": closed({"c": TEXT})}}),
        closed({"a": {**TEXT, "pattern": "^x", "format": "date", "description": "d"}}, title="t"),
        closed({"a": {"type": ["integer", "null"], "minimum": 0, "multipleOf": 2}}),
        closed({"a": {"type": "array", "items": TEXT, "minItems": 2, "maxItems": 3}}),
    ],
)
def test_closed_objects_with_every_property_required_fit(schema: dict[str, Any]) -> None:
    assert fits_strict_mode(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": TEXT},
        {"type": "object"},
        closed({"a": TEXT}, additionalProperties=True),
        closed({"a": TEXT}, additionalProperties=TEXT),
        {"type": "object", "properties": {"a": TEXT}, "required": ["a"]},
        closed({"a": TEXT, "b": TEXT}, required=["a"]),
        closed({"a": {"type": "array", "items": TEXT, "uniqueItems": True}}),
        closed({"a": {"type": "array", "items": closed({"b": TEXT}, required=[])}}),
        closed({"a": {"anyOf": [TEXT, {"type": "object", "properties": {}}]}}),
        closed({"a": {"$ref": "#/$defs/b"}}, **{"$defs": {"b": {"type": "object"}}}),
        closed({"a": {**TEXT, "maxLength": 9}}),
        closed({"a": {**TEXT, "default": "x"}}),
        closed({"a": {**TEXT, "format": "uri"}}),
        closed({"a": {"type": "array", "items": TEXT, "prefixItems": [TEXT]}}),
        closed({"a": {"type": ["object", "null"]}}),
        closed({"a": {"enum": [1, 2]}}),
        closed({"a": True}),
        closed({"a": TEXT}, anyOf=[closed({"a": TEXT})]),
        closed({"a": TEXT}, unheardOf=1),
    ],
)
def test_anything_else_is_sent_unstrict(schema: dict[str, Any]) -> None:
    assert not fits_strict_mode(schema)


@pytest.mark.parametrize(
    ("given", "sent"),
    [("triage v1", "triage_v1"), ("a-b_C9", "a-b_C9"), ("", "answer"), ("x" * 80, "x" * 64)],
)
def test_names_hold_what_openai_allows(given: str, sent: str) -> None:
    assert named_schema(Schema(given, "0" * 64, closed({"a": TEXT})))["name"] == sent
