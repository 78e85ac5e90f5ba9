"""Whether a value fits a JSON Schema, and what is wrong in one sentence."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError, best_match
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012, EMPTY_REGISTRY

from harness.answers.quick_fit import quick_fit
from harness.canonical import JSON
from harness.errors import ConfigError

_LONGEST_PATH = 120


class Validator:
    """A schema (Draft 2020-12), compiled once.

    7.0 is an integer; true and false are no numbers; nothing is coerced. A schema elsewhere on the
    network is never fetched. Raises ConfigError for a schema that is none.
    """

    def __init__(self, schema: Mapping[str, JSON]) -> None:
        body = dict(schema)
        _check(json.dumps(body))
        self._schema = Draft202012Validator(body, registry=EMPTY_REGISTRY)
        self._quick = quick_fit(body)
        self.property_names = frozenset(_property_names(schema))
        """Names of the keys that an answer may have at its top."""
        self.takes_arrays = _takes_arrays(schema)
        """True if an answer may be a list."""

    def fits(self, value: JSON) -> bool:
        """True if the value fits the schema."""
        return self._quick(value) or bool(self._schema.is_valid(value))

    def problem(self, value: JSON) -> str | None:
        """Return what keeps a value from fitting, with its JSON path; None if it fits.

        Of what the value holds only key names appear, never its texts.
        """
        if self.fits(value):
            return None
        error = best_match(self._schema.iter_errors(value))
        return None if error is None else _sentence(error)


@lru_cache(maxsize=64)
def _check(text: str) -> None:
    """Raise ConfigError unless a text is a JSON Schema that stands by itself; each is checked once."""
    body = json.loads(text)
    try:
        Draft202012Validator.check_schema(body)
    except SchemaError as error:
        raise ConfigError(f"not a JSON Schema: {error.message}; mend the schema file") from error
    _refuse_dangling(body)


def _refuse_dangling(schema: dict[str, JSON]) -> None:
    base = str(schema.get("$id", ""))
    resource = DRAFT202012.create_resource(schema)
    resolver = EMPTY_REGISTRY.with_resource(base, resource).resolver(base_uri=base)
    for reference in _references(schema):
        try:
            resolver.lookup(reference)
        except Unresolvable as error:
            raise ConfigError(
                f"the schema refers to {reference!r}, which it does not hold; write it out in the schema file"
            ) from error


def _references(schema: JSON) -> Iterable[str]:
    if isinstance(schema, Mapping):
        reference = schema.get("$ref")
        if isinstance(reference, str):
            yield reference
        for item in schema.values():
            yield from _references(item)
    elif isinstance(schema, list):
        for item in schema:
            yield from _references(item)


def _sentence(error: ValidationError) -> str:
    path = _path(error.absolute_path)
    wanted: object = error.validator_value
    match error.validator:
        case "required" if isinstance(wanted, list) and isinstance(error.instance, dict):
            missing = [str(name) for name in wanted if name not in error.instance]
            return f"{path} lacks {_names(path, missing)}"
        case "additionalProperties" if isinstance(error.instance, dict):
            return f"{path} has keys that are not allowed: {_names(path, _extra_keys(error))}"
        case "type":
            return f"{path} must be {_or(wanted)}, not {_kind(error.instance)}"
        case "enum" | "const":
            return f"{path} is not one of the allowed values"
        case _:
            return f"{path} breaks the rule {str(error.validator)!r} of the schema"


def _extra_keys(error: ValidationError) -> list[str]:
    schema: object = error.schema
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    known = properties if isinstance(properties, Mapping) else {}
    instance: object = error.instance
    return [key for key in instance if key not in known] if isinstance(instance, dict) else []


def _names(path: str, keys: Sequence[str]) -> str:
    shown = ", ".join(_short(path + _step(key)) for key in keys[:3])
    return shown if len(keys) <= 3 else f"{shown} and {len(keys) - 3} more"


def _path(steps: Iterable[str | int]) -> str:
    return _short("$" + "".join(map(_step, steps)))


def _step(key: str | int) -> str:
    if isinstance(key, int):
        return f"[{key}]"
    return f".{key}" if key.isidentifier() else f"[{json.dumps(key)}]"


def _short(path: str) -> str:
    return path if len(path) <= _LONGEST_PATH else path[: _LONGEST_PATH - 3] + "..."


def _or(types: object) -> str:
    return " or ".join(map(str, types)) if isinstance(types, list) else str(types)


def _kind(value: object) -> str:
    match value:
        case bool():
            return "boolean"
        case None:
            return "null"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _property_names(schema: Mapping[str, JSON]) -> Iterable[str]:
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        yield from properties
    for word in ("allOf", "anyOf", "oneOf"):
        branches = schema.get(word)
        for branch in branches if isinstance(branches, list) else ():
            if isinstance(branch, Mapping):
                yield from _property_names(branch)


def _takes_arrays(schema: Mapping[str, JSON]) -> bool:
    types = schema.get("type")
    if types is None:
        return "properties" not in schema
    return "array" in types if isinstance(types, list) else types == "array"
