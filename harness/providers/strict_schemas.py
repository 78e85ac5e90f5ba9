"""Schemas as OpenAI's two formats name them, and which of them its strict mode takes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from harness.canonical import JSON
from harness.messages import Schema, WireValue
from harness.providers.bodies import wire_json

# Strict mode takes a subset of JSON Schema; a schema with any of these is sent unstrict.
_NOT_STRICT: Final = frozenset(
    {"uniqueItems", "oneOf", "allOf", "not", "if", "then", "else", "patternProperties", "propertyNames",
     "dependentRequired", "dependentSchemas", "contains", "minProperties", "maxProperties"}
)  # fmt: skip


def named_schema(schema: Schema) -> dict[str, WireValue]:
    """Return the name (letters that OpenAI allows, at most 64), the schema, and whether it is strict."""
    return {
        "name": re.sub(r"[^A-Za-z0-9_-]", "_", schema.id)[:64] or "answer",
        "schema": wire_json(schema.body),
        "strict": fits_strict_mode(schema.body),
    }


def fits_strict_mode(schema: Mapping[str, JSON]) -> bool:
    """Tell whether OpenAI's strict mode takes a schema: every object closed, every property required."""
    return schema.get("type") == "object" and all(_is_strict(part) for part in _subschemas(schema))


def _is_strict(schema: Mapping[str, object]) -> bool:
    if _NOT_STRICT & schema.keys():
        return False
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return schema.get("type") != "object"
    required = schema.get("required")
    names = set(required) if isinstance(required, list | tuple) else set()
    return schema.get("additionalProperties") is False and names == set(properties)


def _subschemas(schema: object) -> Iterator[Mapping[str, object]]:
    if not isinstance(schema, Mapping):
        return
    yield schema
    for key in ("properties", "$defs", "definitions"):
        group = schema.get(key)
        if isinstance(group, Mapping):
            for part in group.values():
                yield from _subschemas(part)
    yield from _subschemas(schema.get("items"))
    alternatives = schema.get("anyOf")
    for part in alternatives if isinstance(alternatives, list | tuple) else ():
        yield from _subschemas(part)
