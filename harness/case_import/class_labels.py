"""Columns of `datasets` that hold the number of a class, whose name stands beside the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

Features: TypeAlias = Mapping[str, Any]
"""Column -> its feature, as `dataset_info.json` and the files' own metadata have it."""


def names_of(features: Features) -> dict[str, Any]:
    """Return the columns that hold classes somewhere, each with its feature."""
    return {name: feature for name, feature in features.items() if _has_names(feature)}


def named(feature: Any, value: object) -> object:
    """Return a value with the names of its classes in place of their numbers; -1 stands for none."""
    if feature is None or value is None:
        return value
    if isinstance(feature, list):
        return [named(feature[0], item) for item in value] if isinstance(value, list) else value
    if not isinstance(feature, dict):
        return value
    names = _names(feature)
    if names is not None:
        return _name(names, value)
    if isinstance(value, list) and "feature" in feature:
        return [named(feature["feature"], item) for item in value]
    if isinstance(value, dict):
        inner = feature["feature"] if isinstance(feature.get("feature"), dict) else feature
        return {name: named(inner.get(name), item) for name, item in value.items()}
    return value


def _name(names: list[str], value: object) -> object:
    if isinstance(value, list):  # a sequence of objects is kept as an object of lists
        return [_name(names, item) for item in value]
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    if value == -1:
        return None
    return names[value] if 0 <= value < len(names) else value


def _names(feature: Mapping[str, Any]) -> list[str] | None:
    names = feature.get("names")
    return names if feature.get("_type") == "ClassLabel" and isinstance(names, list) else None


def _has_names(feature: Any) -> bool:
    if isinstance(feature, list):
        return any(map(_has_names, feature))
    if not isinstance(feature, dict):
        return False
    return _names(feature) is not None or any(_has_names(part) for part in feature.values())
