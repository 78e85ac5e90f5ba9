"""A quick yes to values that plainly fit a JSON Schema; everything else is left to jsonschema.

jsonschema stays the authority: what is accepted here it accepts too (a property test says so), and what is
not accepted here may still fit. So a keyword that this module does not know costs time and never a verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from harness.canonical import JSON

Accepts: TypeAlias = Callable[[JSON], bool]
"""True: the value fits. False: ask jsonschema."""

_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
_NOTES: Final = frozenset({"title", "description", "$comment", "default", "examples", "deprecated"})
_RULES: Final = frozenset({"type", "enum", "properties", "required", "additionalProperties", "items"})
_SCALARS: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "null": (type(None),)
}  # fmt: skip
"""Exact Python types of what `parse_strict` gives; 7.0, which is an integer too, is left to jsonschema."""


def quick_fit(schema: JSON) -> Accepts:
    """Return a quick check of values as `parse_strict` gives them: False wherever it is not sure."""
    if schema is True:
        return _always
    if not isinstance(schema, Mapping) or schema.get("$schema", _DRAFT) != _DRAFT:
        return _unsure
    if schema.keys() - _NOTES - _RULES - {"$schema"}:
        return _unsure
    types = _types(schema)
    if "enum" in schema:
        return _one_of(schema["enum"], types)
    checks: dict[type, Accepts] = {
        kind: _always for name, kinds in _SCALARS.items() if name in types for kind in kinds
    }
    if "object" in types:
        checks[dict] = _object(schema)
    if "array" in types:
        checks[list] = _array(schema)
    if len(checks) == 1:
        # The usual case, without a look-up for each value.
        [(only, check)] = checks.items()
        return _all_of_type(only) if check is _always else check
    return lambda value: (check := checks.get(type(value))) is not None and check(value)


def _always(value: JSON) -> bool:
    return True


def _unsure(value: JSON) -> bool:
    return False


def _types(schema: Mapping[str, JSON]) -> frozenset[str]:
    types = schema.get("type", [*_SCALARS, "object", "array"])
    if isinstance(types, str):
        return frozenset({types})
    return frozenset(map(str, types)) if isinstance(types, list) else frozenset()


def _all_of_type(kind: type) -> Accepts:
    return lambda value: type(value) is kind


def _one_of(values: JSON, types: frozenset[str]) -> Accepts:
    """Accept what equals a scalar of the list and has its very type: 1, True and 1.0 are told apart."""
    kinds = {kind for name in types & _SCALARS.keys() for kind in _SCALARS[name]}
    allowed = {
        (type(value), value)
        for value in (values if isinstance(values, list) else ())
        if type(value) in kinds and isinstance(value, str | int | float | None)
    }
    if {kind for kind, _ in allowed} == {int}:
        numbers = frozenset(value for _, value in allowed)
        return lambda value: type(value) is int and value in numbers
    return lambda value: isinstance(value, str | int | float | None) and (type(value), value) in allowed


def _object(schema: Mapping[str, JSON]) -> Accepts:
    """Accept an object with all required keys whose known ones fit; `properties` alone demands none."""
    properties, required = schema.get("properties", {}), schema.get("required", [])
    others = schema.get("additionalProperties", True)
    if not isinstance(properties, Mapping) or not isinstance(required, list) or not isinstance(others, bool):
        return _unsure
    checks = {name: quick_fit(part) for name, part in properties.items()}
    wanted = frozenset(map(str, required))
    unknown = _always if others else _unsure

    def accepts(value: JSON) -> bool:
        if type(value) is not dict or not wanted <= value.keys():
            return False
        for name, item in value.items():  # noqa: SIM110 - a generator would cost as much as the checks
            if not checks.get(name, unknown)(item):
                return False
        return True

    return accepts


def _array(schema: Mapping[str, JSON]) -> Accepts:
    check = quick_fit(schema.get("items", True))
    return lambda value: type(value) is list and all(map(check, value))
