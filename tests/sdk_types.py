"""Whether a JSON body is what an official SDK's own request types describe, unknown fields included.

The SDKs of OpenAI and Anthropic describe requests by typed dictionaries, which no library checks as strictly
as is needed here: every field known, every required one there, every value of its exact JSON type.
"""

from __future__ import annotations

import collections.abc
import types
import typing
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import typing_extensions

_LISTS = (list, collections.abc.Iterable, collections.abc.Sequence)
_MAPPINGS = (dict, collections.abc.Mapping)
_MARKS = (
    typing.Required, typing.NotRequired, typing_extensions.Required, typing_extensions.NotRequired,
    typing.Annotated, typing_extensions.ReadOnly,
)  # fmt: skip


def problems(value: Any, kind: Any, path: str = "$") -> list[str]:
    """Return what keeps a JSON value from being of a type, one sentence each; empty when it is."""
    return list(_problems(value, kind, path))


def _problems(value: Any, kind: Any, path: str) -> Iterator[str]:
    origin, args = typing_extensions.get_origin(kind), typing_extensions.get_args(kind)
    if hasattr(kind, "__value__"):
        yield from _problems(value, kind.__value__, path)
    elif kind is Any or kind is object:
        return
    elif origin in _MARKS:
        yield from _problems(value, args[0], path)
    elif origin in (typing.Union, types.UnionType):
        yield from min((problems(value, one, path) for one in args), key=len)
    elif origin in (typing.Literal, typing_extensions.Literal):
        if not any(type(value) is type(one) and value == one for one in args):
            yield f"{path}: {value!r} is none of {args}"
    elif typing_extensions.is_typeddict(kind):
        yield from _object_problems(value, kind, path)
    elif origin in _LISTS or getattr(origin, "__name__", "") == "SequenceNotStr":
        if not isinstance(value, list):
            yield f"{path}: no list"
            return
        for place, item in enumerate(value):
            yield from _problems(item, args[0], f"{path}[{place}]")
    elif origin in _MAPPINGS:
        if not isinstance(value, dict):
            yield f"{path}: no object"
            return
        for name, item in value.items():
            yield from _problems(item, args[1], f"{path}.{name}")
    elif not _is_scalar(value, kind):
        yield f"{path}: {type(value).__name__} is no {getattr(kind, '__name__', kind)}"


def _object_problems(value: Any, kind: Any, path: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{path}: no object"
        return
    fields = _fields(kind)
    yield from (f"{path}.{name}: {kind.__name__} has no such field" for name in value if name not in fields)
    for name, (field, required) in fields.items():
        if name in value:
            yield from _problems(value[name], field, f"{path}.{name}")
        elif required:
            yield f"{path}.{name}: {kind.__name__} demands it"


@lru_cache
def _fields(kind: Any) -> Mapping[str, tuple[Any, bool]]:
    """Return field -> its type, and whether it must be there."""
    hints = typing_extensions.get_type_hints(kind, include_extras=True)
    return {name: (field, _required(kind, name, field)) for name, field in hints.items()}


def _required(kind: Any, name: str, field: Any) -> bool:
    # Where annotations are text, the class itself cannot tell which fields are marked.
    match typing_extensions.get_origin(field):
        case typing.Required | typing_extensions.Required:
            return True
        case typing.NotRequired | typing_extensions.NotRequired:
            return False
        case _:
            return name in kind.__required_keys__


def _is_scalar(value: Any, kind: Any) -> bool:
    if kind is None or kind is type(None):
        return value is None
    if kind is float:
        return type(value) in (int, float)
    return kind in (str, int, bool) and type(value) is kind
