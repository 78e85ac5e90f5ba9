"""The fields of a request body: values as JSON, and no field set twice."""

from __future__ import annotations

from collections.abc import Mapping

from harness.errors import UnsupportedInputError
from harness.messages import WireValue


def wire_json(value: object) -> WireValue:
    """Return a copy of a JSON value in the containers that bodies are made of.

    Raises UnsupportedInputError on anything that is not JSON.
    """
    match value:
        case Mapping():
            return {str(key): wire_json(item) for key, item in value.items()}
        case list() | tuple():
            return [wire_json(item) for item in value]
        case str() | int() | float() | None:
            return value
        case _:
            raise UnsupportedInputError(f"cannot send a value of {type(value).__name__}: it is no JSON")


def set_field(fields: dict[str, WireValue], place: str | tuple[str, ...], name: str, value: object) -> None:
    """Put a value into a body, at a field or at the end of a path of objects, which are made as needed.

    `name` is what the user calls it. Raises UnsupportedInputError where the field is set already, where what
    should hold it is no object, and for a value that is no JSON.
    """
    *outer, field = (place,) if isinstance(place, str) else place
    for step in outer:
        inner = fields.setdefault(step, {})
        if not isinstance(inner, dict):
            raise UnsupportedInputError(f"{step!r} must be an object to hold {name!r}; leave one out")
        fields = inner
    if field in fields:
        path = ".".join((*outer, field))
        raise UnsupportedInputError(f"{path!r} is given twice, by {name!r} too; leave one out")
    fields[field] = wire_json(value)
