"""The part of JSON Schema that the structured outputs of the Messages API take.

The API answers a schema with any other keyword by a 400 (its page "Structured outputs", "JSON Schema
limitations", read in a stored copy on 2026-11-30). What only narrows is left out of the schema that is sent,
as Anthropic's own SDKs do: the model is held to less, and answers are checked against the whole schema here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from harness.errors import UnsupportedInputError
from harness.messages import WireValue
from harness.providers.body_fields import wire_json

SCHEMA_NAMES: Final = r"[a-zA-Z0-9_.-]{1,64}"
"""What names of properties are made of. The API says so of the schemas of tools, by a 400 to others
("Property keys should match pattern"). Of the schemas of answers its pages say nothing, so these get such
names too."""

_AS_THEY_ARE: Final = frozenset(
    {"type", "enum", "const", "required", "$ref", "pattern", "default", "title", "description"}
)
_FORMATS: Final = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
)
_NAMED: Final = frozenset({"properties", "$defs", "definitions"})
_LISTED: Final = {"anyOf": "anyOf", "allOf": "allOf", "oneOf": "anyOf"}


def accepted_schema(schema: object) -> WireValue:
    """Return a schema without what the API refuses; whatever fits the whole one fits it, if closed.

    Objects that name their properties are closed, because the API takes no others. Raises
    UnsupportedInputError for objects whose properties have no names: closed, they would be empty.
    """
    if not isinstance(schema, Mapping):
        return wire_json(schema)
    sent: dict[str, WireValue] = {}
    for key, value in schema.items():
        if key in _AS_THEY_ARE or (key, value) in (("minItems", 0), ("minItems", 1)):
            sent[key] = wire_json(value)
        elif key == "format" and isinstance(value, str) and value in _FORMATS:
            sent[key] = value
        elif key == "items":
            sent[key] = accepted_schema(value)
        elif key in _NAMED and isinstance(value, Mapping):
            sent[key] = {name: accepted_schema(part) for name, part in value.items()}
        elif key in _LISTED and isinstance(value, list | tuple):
            sent.setdefault(_LISTED[key], [accepted_schema(part) for part in value])
    if _is_object(schema):
        _refuse_open(schema)
        sent["additionalProperties"] = False
    return sent


def _is_object(schema: Mapping[str, object]) -> bool:
    kind = schema.get("type")
    return kind == "object" or "properties" in schema or (isinstance(kind, list | tuple) and "object" in kind)


def _refuse_open(schema: Mapping[str, object]) -> None:
    others = schema.get("additionalProperties", True)
    unnamed = isinstance(others, Mapping) or (others is not False and not schema.get("properties"))
    if unnamed or "patternProperties" in schema:
        raise UnsupportedInputError(
            "the format 'anthropic' takes no schema whose objects have properties without a name; use "
            "--structured off"
        )
