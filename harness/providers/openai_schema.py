"""Schemas as OpenAI's two formats name them, and which of them its strict mode takes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from harness.canonical import JSON
from harness.messages import Schema, WireValue
from harness.providers.body_fields import wire_json

_STRICT: Final = frozenset(
    {"$schema", "title", "description", "type", "enum", "const", "properties", "required", "$ref", "$defs",
     "definitions", "additionalProperties", "items", "anyOf", "pattern", "format", "multipleOf", "minimum",
     "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems"}
)  # fmt: skip
"""The part of JSON Schema that strict mode takes (OpenAI's page "Structured Outputs", "Supported schemas").

To a schema with another keyword it answers 400 ("is not permitted"), so that one is sent unstrict: whole, and
answers are checked against all of it here."""
_FORMATS: Final = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
)
_SAYS_WHAT: Final = frozenset({"type", "anyOf", "$ref"})
"""Strict mode demands one of these of every part."""


def named_schema(schema: Schema) -> dict[str, WireValue]:
    """Return the name (letters that OpenAI allows, at most 64), the schema, and whether it is strict."""
    return {
        "name": re.sub(r"[^A-Za-z0-9_-]", "_", schema.id)[:64] or "answer",
        "schema": wire_json(schema.body),
        "strict": fits_strict_mode(schema.body),
    }


def fits_strict_mode(schema: Mapping[str, JSON]) -> bool:
    """Tell whether OpenAI's strict mode takes a schema: every object closed, every property required.

    It takes no `anyOf` at the top, and no schema that is only true or false.
    """
    whole = schema.get("type") == "object" and "anyOf" not in schema
    return whole and all(_is_strict(part) for part in _subschemas(schema))


def _is_strict(schema: object) -> bool:
    if not isinstance(schema, Mapping) or schema.keys() - _STRICT or not schema.keys() & _SAYS_WHAT:
        return False
    if schema.get("format", "date") not in _FORMATS:
        return False
    kind = schema.get("type")
    is_object = kind == "object" or (isinstance(kind, list | tuple) and "object" in kind)
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return not is_object
    required = schema.get("required")
    names = set(required) if isinstance(required, list | tuple) else set()
    return schema.get("additionalProperties") is False and names == set(properties)


def _subschemas(schema: object) -> Iterator[object]:
    yield schema
    if not isinstance(schema, Mapping):
        return
    for key in ("properties", "$defs", "definitions"):
        group = schema.get(key)
        if isinstance(group, Mapping):
            for part in group.values():
                yield from _subschemas(part)
    if "items" in schema:
        yield from _subschemas(schema["items"])
    alternatives = schema.get("anyOf")
    for part in alternatives if isinstance(alternatives, list | tuple) else ():
        yield from _subschemas(part)
