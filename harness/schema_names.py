"""Property names of a schema in a form that a provider's schema mode takes, and the way back.

Some providers answer 400 to a schema whose property names hold blanks, brackets or too many characters. Such
a name is sent under an alias: readable, made from the schema alone, and told to the model as the property's
description. That is transport: the names are put back before anyone reads the answer, and what was sent
under which alias is kept with the exchange.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from itertools import chain, product
from typing import Final

from harness.canonical import JSON
from harness.errors import UnsupportedInputError

_LENGTHS: Final = (64, 48, 32, 16, 8)
"""Longest aliases that are tried, one after the other, until the provider's rule takes one."""
_MOST_ALIKE: Final = 10_000

_MAPS: Final = frozenset({"$defs", "definitions"})
_LISTS: Final = frozenset({"anyOf", "allOf", "oneOf", "prefixItems"})
_SINGLES: Final = frozenset(
    {"items", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "contains", "not", "if",
     "then", "else"}
)  # fmt: skip
_BY_NAME: Final = frozenset({"patternProperties", "propertyNames"})
_SAFE_REFERENCE: Final = re.compile(r"#(/(\$defs|definitions)/[^/]+)?|#[A-Za-z_][\w.-]*")


def aliased(
    schema: Mapping[str, JSON], allowed: str | None
) -> tuple[Mapping[str, JSON], Mapping[str, str]]:
    """Return a schema with property names that match `allowed` in full, and alias -> name.

    The schema itself and nothing where no name needs an alias, or `allowed` is None. Values are never
    touched, those of `enum`, `const` and `default` included. Raises UnsupportedInputError for a schema that
    speaks of its names by rules or by paths, and where no alias matches.
    """
    if allowed is None:
        return schema, {}
    table = _table(frozenset(_names(schema)), allowed)
    if not table:
        return schema, {}
    _refuse_other_mentions(schema)
    renamed = _renamed(schema, table)
    assert isinstance(renamed, Mapping)
    return renamed, {alias: name for name, alias in table.items()}


def restored(text: str, names: Mapping[str, str]) -> str:
    """Return a model's text with the true names in place of aliases; `names` is alias -> name.

    Only keys are touched: a quoted alias before a colon, which no value of valid JSON can hold. Where an
    object has both an alias and its name, it repeats a key then, and is no valid JSON.
    """
    if not names:
        return text
    keys = _keys(tuple(sorted(names)))
    return keys.sub(lambda found: json.dumps(names[found[1]], ensure_ascii=False) + found[2], text)


def some_alias_matches(allowed: str) -> bool:
    """Tell whether a rule takes any name that could stand for another. Raises re.error for no pattern."""
    pattern = re.compile(allowed)
    tried = product(_spellings("a name"), _LENGTHS)
    return any(pattern.fullmatch(_numbered(spelling, length, 1)) for spelling, length in tried)


@lru_cache(maxsize=64)
def _keys(aliases: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf'"({"|".join(map(re.escape, aliases))})"(\s*:)')


@lru_cache(maxsize=64)
def _table(names: frozenset[str], allowed: str) -> Mapping[str, str]:
    """Return name -> alias for the names that need one; the same whatever the order of the names."""
    pattern = re.compile(allowed)
    table: dict[str, str] = {}
    taken = set(names)
    for name in sorted(names):
        if pattern.fullmatch(name) is None:
            table[name] = _alias(name, pattern, taken)
            taken.add(table[name])
    return table


def _alias(name: str, pattern: re.Pattern[str], taken: Collection[str]) -> str:
    for spelling, length in product(_spellings(name), _LENGTHS):
        for number in range(1, _MOST_ALIKE):
            candidate = _numbered(spelling, length, number)
            if not pattern.fullmatch(candidate):
                break
            if candidate not in taken:
                return candidate
    raise UnsupportedInputError(
        f"no alias of the property {name!r} matches schema_names {pattern.pattern!r} of the provider; "
        "correct it, or use --structured off"
    )


def _spellings(name: str) -> tuple[str, ...]:
    """Return what a name can be called, the most readable first."""
    ascii_only = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode("ascii")
    slug = "_".join(re.findall(r"[A-Za-z0-9]+", ascii_only)) or "name"
    return slug, f"n_{slug}", slug.replace("_", ""), slug.lower(), slug.lower().replace("_", "")


def _numbered(spelling: str, length: int, number: int) -> str:
    end = "" if number == 1 else f"_{number}" if "_" in spelling else str(number)
    return spelling[: length - len(end)].rstrip("_") + end


def _subschemas(schema: Mapping[str, JSON]) -> Iterator[Mapping[str, JSON]]:
    """Yield a schema and all schemas in it."""
    yield schema
    for keyword, value in schema.items():
        inner: list[JSON] = []
        if keyword in _SINGLES:
            inner = [value]
        if keyword in _LISTS | {"items"} and isinstance(value, list | tuple):
            inner = list(value)
        if keyword in _MAPS | {"properties", "dependentSchemas", "patternProperties"}:
            inner = list(value.values()) if isinstance(value, Mapping) else []
        yield from chain.from_iterable(_subschemas(part) for part in inner if isinstance(part, Mapping))


def _names(schema: Mapping[str, JSON]) -> Iterator[str]:
    for part in _subschemas(schema):
        for keyword in ("properties", "dependentSchemas", "dependentRequired"):
            named = part.get(keyword)
            yield from named if isinstance(named, Mapping) else ()
        lists: list[JSON] = [part.get("required")]
        dependent = part.get("dependentRequired")
        lists += dependent.values() if isinstance(dependent, Mapping) else ()
        for listed in lists:
            yield from map(str, listed) if isinstance(listed, list | tuple) else ()


def _refuse_other_mentions(schema: Mapping[str, JSON]) -> None:
    for part in _subschemas(schema):
        rule = next(iter(_BY_NAME & part.keys()), None)
        reference = part.get("$ref")
        if rule is None and (not isinstance(reference, str) or _SAFE_REFERENCE.fullmatch(reference)):
            continue
        what = f"{rule!r}" if rule is not None else f"the reference {reference!r}"
        raise UnsupportedInputError(
            f"the provider takes no such property names as the schema has, and aliases for them would change "
            f"what {what} means; use --structured off"
        )


def _renamed(schema: JSON, table: Mapping[str, str]) -> JSON:
    if isinstance(schema, list | tuple):  # the `items` of older drafts
        return [_renamed(part, table) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {keyword: _renamed_keyword(keyword, value, table) for keyword, value in schema.items()}


def _renamed_keyword(keyword: str, value: JSON, table: Mapping[str, str]) -> JSON:
    match keyword, value:
        case "properties", Mapping():
            return dict(_property(name, _renamed(part, table), table) for name, part in value.items())
        case "dependentSchemas", Mapping():
            return {table.get(name, name): _renamed(part, table) for name, part in value.items()}
        case "dependentRequired", Mapping():
            return {table.get(name, name): _listed(names, table) for name, names in value.items()}
        case "required", _:
            return _listed(value, table)
        case _, Mapping() if keyword in _MAPS:
            return {name: _renamed(part, table) for name, part in value.items()}
        case _ if keyword in _SINGLES | _LISTS:
            return _renamed(value, table)
        case _:
            return value


def _property(name: str, part: JSON, table: Mapping[str, str]) -> tuple[str, JSON]:
    return (table[name], _told(part, name)) if name in table else (name, part)


def _listed(names: JSON, table: Mapping[str, str]) -> JSON:
    return [table.get(str(name), name) for name in names] if isinstance(names, list | tuple) else names


def _told(part: JSON, name: str) -> JSON:
    """Return the schema of a property that has an alias, with a description that tells its name."""
    said = f"Stands for the key {json.dumps(name, ensure_ascii=False)}"
    if part is True:
        return {"description": said}
    if not isinstance(part, Mapping):
        return part
    if "$ref" in part:  # beside which OpenAI's strict mode takes no other keyword
        return {"description": said, "anyOf": [part]}
    written = part.get("description")
    return {**part, "description": f"{said}. {written}" if isinstance(written, str) else said}
