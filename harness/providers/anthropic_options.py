"""What a request to the Messages API asks for beside its turns: limits, sampling, thinking, a schema.

Neutral names that the API calls otherwise are `stop`, `thinking_budget` and `reasoning_effort`; every other
name is sent as it is. Sources: the API's reference of "Create a Message", and its pages "Thinking",
"Troubleshooting thinking" and "Effort" (platform.claude.com/docs, read in stored copies on 2026-11-30).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from harness.canonical import JSON
from harness.errors import UnsupportedInputError
from harness.messages import Request, Schema, WireValue
from harness.providers.anthropic_schema import accepted_schema
from harness.providers.body_fields import set_field, wire_json
from harness.settings import Model

TRANSPORT_PARAMS: Final = frozenset({"metadata", "service_tier", "cache_control", "inference_geo"})
"""Parameters that change who is billed, how fast, where or what is kept, and never the answer."""

EFFORTS: Final = ("low", "medium", "high", "xhigh", "max")
"""Levels of `output_config.effort`; which of them a model takes, the API knows."""

SMALLEST_BUDGET: Final = 1024
"""Fewest tokens of extended thinking."""

Fields = dict[str, WireValue]


def body_options(request: Request, model: Model, schema: Schema | None) -> tuple[Fields, Fields]:
    """Return the fields beside model and turns: those that change the answer, and those of the transport.

    `schema` is the one that answers are constrained by, if any.

    `thinking_budget` N is extended thinking with N tokens, 0 none. `reasoning_effort` is the effort; where
    no thinking is set it also turns on adaptive thinking, which some models do without unless asked; "none"
    turns thinking off. How thinking is shown (`display`) is transport. Raises UnsupportedInputError for what
    this format has no way to say, and for a field that is set twice.
    """
    limit = _max_tokens(request, model)
    fields: Fields = {"max_tokens": wire_json(limit)}
    transport: Fields = {}
    for name, value in request.params.items():
        match name:
            case "max_tokens" | "reasoning_effort":
                continue
            case "stop":
                set_field(fields, "stop_sequences", name, [value] if isinstance(value, str) else value)
            case "thinking_budget":
                set_field(fields, "thinking", name, _budget(value, limit))
            case "output_config":
                _merge(fields, name, name, value)
            case _ if name in TRANSPORT_PARAMS:
                transport[name] = wire_json(value)
            case _:
                set_field(fields, name, name, value)
    _move_display(fields, transport)
    if "reasoning_effort" in request.params:
        _add_effort(fields, transport, request.params["reasoning_effort"])
    _add_format(fields, request, schema)
    return fields, transport


def _max_tokens(request: Request, model: Model) -> JSON:
    given = request.params.get("max_tokens")
    if given is not None:
        return given
    if model.max_output_tokens is None:
        raise UnsupportedInputError(
            f"the format 'anthropic' demands a limit of the answer, and model {model.name!r} has none; give "
            "--param max_tokens=N, or max_output_tokens of the model"
        )
    return model.max_output_tokens


def _budget(tokens: JSON, limit: JSON) -> dict[str, JSON]:
    if tokens == 0 and not isinstance(tokens, bool):
        return {"type": "disabled"}
    if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < SMALLEST_BUDGET:
        raise UnsupportedInputError(
            f"thinking_budget must be 0 (no thinking) or at least {SMALLEST_BUDGET} tokens, not {tokens!r}"
        )
    if isinstance(limit, int) and tokens >= limit:
        raise UnsupportedInputError(
            f"thinking_budget {tokens} leaves nothing of max_tokens {limit} for the answer; raise max_tokens"
        )
    return {"type": "enabled", "budget_tokens": tokens}


def _move_display(fields: Fields, transport: Fields) -> None:
    thinking = fields.get("thinking")
    if isinstance(thinking, dict) and "display" in thinking:
        transport["thinking"] = {"display": thinking.pop("display")}


def _add_effort(fields: Fields, transport: Fields, effort: JSON) -> None:
    if effort == "none":
        set_field(fields, "thinking", "reasoning_effort", {"type": "disabled"})
        return
    if effort not in EFFORTS:
        raise UnsupportedInputError(
            f"the format 'anthropic' has no reasoning_effort {effort!r}; known: none, {', '.join(EFFORTS)}; "
            "another level can be sent as output_config = { effort = .. }"
        )
    _merge(fields, "output_config", "reasoning_effort", {"effort": effort})
    if "thinking" not in fields:
        fields["thinking"] = {"type": "adaptive"}
        # Newer models leave the text of their thinking out unless told otherwise.
        transport["thinking"] = {"display": "summarized"}


def _add_format(fields: Fields, request: Request, schema: Schema | None) -> None:
    if request.structured == "json":
        raise UnsupportedInputError(
            "the format 'anthropic' has no JSON mode; use --structured schema or --structured off"
        )
    if schema is not None:
        answer = {"type": "json_schema", "schema": accepted_schema(schema.body)}
        _merge(fields, "output_config", "--structured", {"format": answer})


def _merge(fields: Fields, field: str, name: str, value: object) -> None:
    present = fields.setdefault(field, {})
    if not isinstance(value, Mapping) or not isinstance(present, dict):
        raise UnsupportedInputError(f"{name!r} must be a table of settings, not {value!r}")
    for key, inner in value.items():
        if key in present:
            raise UnsupportedInputError(f"'{field}.{key}' is given twice, by {name!r} too; leave one out")
        present[str(key)] = wire_json(inner)
