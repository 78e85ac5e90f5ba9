"""Values that fit a JSON Schema, made from a simulated opinion."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from harness.simulator.chance import draw, whole
from harness.simulator.opinions import Opinion

Schema: TypeAlias = Mapping[str, Any]
Path: TypeAlias = tuple[str, ...]

MAX_DEPTH = 12
"""Below this depth only what is required is made, so that schemas which contain themselves come to an end."""

_FORMATS = {
    "date": "2024-05-17", "date-time": "2024-05-17T09:30:00Z", "time": "09:30:00Z", "email": "a@example.org",
    "uri": "https://example.org/", "uuid": "00000000-0000-4000-8000-000000000000",
}  # fmt: skip
_SAMPLES = ("A", "a", "1", "11", "0.5", "11-12", "A1", "yes", "2024-05-17", "n/a", "abc", "ABC-123")


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes values of one schema document."""

    root: Schema
    opinion: Opinion

    def make(self, schema: object, path: Path = ()) -> Any:
        """Return a value that fits a part of the schema, as far as its keywords are known here."""
        part = resolve(schema, self.root)
        if "const" in part:
            return part["const"]
        if "enum" in part:
            return self._option(part["enum"], path)
        match kind_of(part):
            case "object":
                return self._object(part, path)
            case "array":
                return self._array(part, path)
            case "boolean":
                return self.opinion.affirms(_name(path))
            case "integer" | "number" as kind:
                return self._number(part, path, kind)
            case "null":
                return None
            case _:
                return self._text(part, path)

    def _option(self, options: list[Any], path: Path) -> Any:
        real = [option for option in options if option is not None]
        if not real:
            return None
        if is_flag(real):
            return real[real.index(int(self.opinion.affirms(_name(path))))]
        return real[self.opinion.chooses([str(option) for option in real], "/".join(path))]

    def _object(self, part: Schema, path: Path) -> dict[str, Any]:
        required = part.get("required", ())
        wanted = {
            name: schema
            for name, schema in part.get("properties", {}).items()
            if len(path) < MAX_DEPTH or name in required
        }
        made = {name: self.make(schema, (*path, name)) for name, schema in wanted.items()}
        rest = part.get("additionalProperties")
        for name in required:
            if name not in made:
                made[name] = self.make(rest if isinstance(rest, dict) else {}, (*path, name))
        return made

    def _array(self, part: Schema, path: Path) -> list[Any]:
        least = part.get("minItems", 0)
        most = max(least, min(part.get("maxItems", least + 3), least + 3))
        count = least if len(path) >= MAX_DEPTH else whole(least, most, "length", *self.opinion.case, *path)
        prefix = part.get("prefixItems", [])
        items = part.get("items", {})
        made: list[Any] = []
        for index in range(max(count, min(len(prefix), least))):
            schema = prefix[index] if index < len(prefix) else items
            value = self.make(schema, (*path, str(index)))
            if not (part.get("uniqueItems") and value in made and len(made) >= least):
                made.append(value)
        return made

    def _number(self, part: Schema, path: Path, kind: str) -> int | float:
        step = part.get("multipleOf", 1 if kind == "integer" else 0.01)
        low = part.get("minimum", part["exclusiveMinimum"] + step if "exclusiveMinimum" in part else 0)
        above = part["exclusiveMaximum"] - step if "exclusiveMaximum" in part else low + 10
        high = part.get("maximum", above)
        if kind == "integer" and (low, high) == (0, 1):
            return int(self.opinion.affirms(_name(path)))
        first, last = -(-low // step), high // step
        value = whole(int(first), int(max(first, last)), "number", *self.opinion.case, *path) * step
        return int(value) if kind == "integer" else round(value, 10)

    def _text(self, part: Schema, path: Path) -> str:
        if part.get("format") in _FORMATS:
            return _FORMATS[part["format"]]
        text = self.opinion.sentence("/".join(path))
        if "pattern" in part:
            fitting = [sample for sample in (text, *_SAMPLES) if re.search(part["pattern"], sample)]
            text = fitting[int(draw("text", *self.opinion.case, *path) * len(fitting))] if fitting else text
        while len(text) < part.get("minLength", 0):
            text = f"{text} {text}"
        return text[: part.get("maxLength", len(text))]


def resolve(schema: object, root: Schema) -> Schema:
    """Return a schema with references followed, `allOf` joined, and the first real alternative taken."""
    part: Schema = schema if isinstance(schema, Mapping) else {}
    for _ in range(32):
        if isinstance(part.get("$ref"), str):
            part = _referred(part["$ref"], root)
        elif part.get("allOf"):
            part = _joined(part, root)
        elif options := part.get("anyOf") or part.get("oneOf"):
            rest = {key: value for key, value in part.items() if key not in {"anyOf", "oneOf"}}
            part = {**rest, **_first_real(options, root)}
        else:
            break
    return part


def kind_of(part: Schema) -> str:
    """Return the type that a schema asks for; of several, the first that is not null."""
    kind = part.get("type")
    if isinstance(kind, list):
        kind = next((name for name in kind if name != "null"), "null")
    if kind is None:
        kind = "object" if "properties" in part else "array" if "items" in part else "string"
    return str(kind)


def is_flag(options: list[Any]) -> bool:
    """Tell whether options are just yes and no: 0 and 1, or false and true."""
    return len(options) == 2 and 0 in options and 1 in options


def _referred(reference: str, root: Schema) -> Schema:
    part: Any = root
    for name in reference.removeprefix("#").split("/")[1:]:
        part = part.get(name.replace("~1", "/").replace("~0", "~"), {}) if isinstance(part, Mapping) else {}
    return part if isinstance(part, Mapping) else {}


def _joined(part: Schema, root: Schema) -> Schema:
    joined = {key: value for key, value in part.items() if key != "allOf"}
    for option in part["allOf"]:
        for key, value in resolve(option, root).items():
            if key == "properties":
                joined[key] = {**joined.get(key, {}), **value}
            elif key == "required":
                joined[key] = [*joined.get(key, ()), *value]
            else:
                joined.setdefault(key, value)
    return joined


def _first_real(options: list[Any], root: Schema) -> Schema:
    known = [resolve(option, root) for option in options]
    return next((option for option in known if option.get("type") != "null"), known[0])


def _name(path: Path) -> str:
    named = [step for step in path if not step.isdigit()]
    return named[-1] if named else ""
