"""What a request to the Messages API asks for beside its turns: limits, sampling, thinking, a schema.

Neutral names that the API calls otherwise are `stop` (`stop_sequences`), `thinking_budget` and
`reasoning_effort`; every other name is sent as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from harness.canonical import JSON
from harness.errors import UnsupportedInputError
from harness.messages import Request, WireValue
from harness.providers.bodies import wire_json
from harness.settings import Model

TRANSPORT_PARAMS: Final = frozenset({"metadata", "service_tier", "cache_control", "inference_geo"})
"""Parameters that change who is billed, how fast, where or what is kept, and never the answer."""

Fields = dict[str, WireValue]


def body_options(request: Request, model: Model) -> tuple[Fields, Fields]:
    """Return the fields beside model and turns: those that change the answer, and those of the transport.

    Raises UnsupportedInputError for what this format has no way to say, and for a field set twice.
    """
    fields: Fields = {"max_tokens": wire_json(_max_tokens(request, model))}
    transport: Fields = {}
    for name, value in request.params.items():
        match name:
            case "max_tokens":
                continue
            case "stop":
                _set(fields, "stop_sequences", name, [value] if isinstance(value, str) else value)
            case "thinking_budget":
                _set(fields, "thinking", name, _thinking(value))
            case "reasoning_effort":
                _merge(fields, "output_config", name, {"effort": value})
            case "output_config":
                _merge(fields, name, name, value)
            case _ if name in TRANSPORT_PARAMS:
                transport[name] = wire_json(value)
            case _:
                _set(fields, name, name, value)
    if request.structured == "json":
        raise UnsupportedInputError(
            "the format 'anthropic' has no JSON mode; use --structured schema or --structured off"
        )
    if request.structured == "schema" and request.schema is not None:
        answer = {"type": "json_schema", "schema": request.schema.body}
        _merge(fields, "output_config", "--structured", {"format": answer})
    return fields, transport


def _max_tokens(request: Request, model: Model) -> JSON:
    given = request.params.get("max_tokens")
    if given is not None:
        return given
    if model.max_output_tokens is None:
        raise UnsupportedInputError(
            f"model {model.name!r} must be told how long its answer may be; give --param max_tokens=N, or "
            "max_output_tokens of the model"
        )
    return model.max_output_tokens


def _thinking(budget: object) -> dict[str, object]:
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 0:
        raise UnsupportedInputError(
            f"thinking_budget must be a whole number of tokens (0: no thinking), not {budget!r}; for another "
            'way of thinking give thinking = { type = "adaptive" }'
        )
    return {"type": "enabled", "budget_tokens": budget} if budget else {"type": "disabled"}


def _set(fields: Fields, field: str, name: str, value: object) -> None:
    if field in fields:
        raise UnsupportedInputError(f"{field!r} is given twice, by {name!r} too; leave one out")
    fields[field] = wire_json(value)


def _merge(fields: Fields, field: str, name: str, value: object) -> None:
    present = fields.setdefault(field, {})
    if not isinstance(value, Mapping) or not isinstance(present, dict):
        raise UnsupportedInputError(f"{name!r} must be a table of settings, not {value!r}")
    for key, inner in value.items():
        if key in present:
            raise UnsupportedInputError(f"'{field}.{key}' is given twice, by {name!r} too; leave one out")
        present[str(key)] = wire_json(inner)
