"""Bodies as they are sent, checked against the request types of the providers' own SDKs.

The SDKs are read, never used: they open no connection. What a type lacks and a provider takes all the same is
listed with the reason; everything else that a type does not know is a failure.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, cast

import pytest
from pydantic import BaseModel, ConfigDict, ValidationError
from sdk_types import problems
from wire_doubles import SCHEMA, ask, model, request

from harness.attempts import Feedback
from harness.benchmarks.base import Benchmark
from harness.benchmarks.radm.task import RadM
from harness.benchmarks.registry import get_benchmark
from harness.config import load_config
from harness.media import Media
from harness.messages import ImagePart, Message, Request, Schema, TextPart, VideoPart
from harness.model_choice import chosen_models
from harness.providers.base import ADAPTERS, get_adapter
from harness.providers.encoding import encode_body
from harness.reformatter import feedback_messages, reformat_messages
from harness.run_options import RunOptions
from harness.settings import Model

Body: TypeAlias = dict[str, Any]
Check: TypeAlias = Callable[[Body], list[str]]


# --- what each SDK says of a body ---


def imported(module: str) -> Any:
    return pytest.importorskip(module, reason=f"{module} is not there; install the extra dev")


def openai_problems(body: Body) -> list[str]:
    types = imported("openai.types.chat.completion_create_params")
    kind = f"CompletionCreateParams{'Streaming' if body.get('stream') else 'NonStreaming'}"
    return problems(body, getattr(types, kind))


def responses_problems(body: Body) -> list[str]:
    types = imported("openai.types.responses.response_create_params")
    kind = f"ResponseCreateParams{'Streaming' if body.get('stream') else 'NonStreaming'}"
    return problems(body, getattr(types, kind))


def anthropic_problems(body: Body) -> list[str]:
    types = imported("anthropic.types.message_create_params")
    kind = f"MessageCreateParams{'Streaming' if body.get('stream') else 'NonStreaming'}"
    return problems(body, getattr(types, kind))


def gemini_problems(body: Body) -> list[str]:
    """Check by the SDK's models; it has none of the whole body, whose fields are those that it fills."""
    types = imported("google.genai.types")
    fields: dict[str, Any] = {
        "contents": list[types.Content],
        "systemInstruction": types.Content,
        "generationConfig": types.GenerationConfig,
        "safetySettings": list[types.SafetySetting],
        "serviceTier": types.ServiceTier,
        "labels": dict[str, str],
    }
    defaults = {} if "contents" not in body else dict.fromkeys(fields.keys() - {"contents"})
    namespace = {"__annotations__": fields, "model_config": ConfigDict(extra="forbid"), **defaults}
    return model_problems(type("GeminiBody", (BaseModel,), namespace), body)


def mistral_problems(body: Body) -> list[str]:
    models = imported("mistralai.client.models")
    kind = models.ChatCompletionStreamRequest if body.get("stream") else models.ChatCompletionRequest
    return model_problems(kind, body)


def model_problems(kind: type[BaseModel], body: Body) -> list[str]:
    """Return what a model says of a body, and what of the body it passes over."""
    try:
        read = kind.model_validate_json(json.dumps(body), strict=True, by_alias=True, by_name=False)
    except ValidationError as error:
        return [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()]
    kept = read.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return [f"{path}: passed over" for path in lost(body, kept, "$")]


def lost(body: Any, kept: Any, path: str) -> list[str]:
    """Return the paths of what the first value has and the second lacks."""
    match body, kept:
        case dict(), dict():
            missing = [f"{path}.{name}" for name in body if name not in kept]
            both = [(name, item) for name, item in body.items() if name in kept]
            return missing + [one for name, item in both for one in lost(item, kept[name], f"{path}.{name}")]
        case list(), list() if len(body) == len(kept):
            pairs = enumerate(zip(body, kept, strict=True))
            return [deeper for place, pair in pairs for deeper in lost(*pair, f"{path}[{place}]")]
        case _:
            return [] if body == kept else [path]


CHECKS: Mapping[str, Check] = {
    "openai": openai_problems,
    "openai-responses": responses_problems,
    "anthropic": anthropic_problems,
    "gemini": gemini_problems,
    "mistral": mistral_problems,
}
"""Adapter, or vendor that speaks OpenAI's format and has types of its own -> check."""

UNLISTED: Mapping[tuple[str, str], str] = {
    ("anthropic", "temperature"): "models up to 4.6 take it; the types follow newer ones",
    ("anthropic", "top_p"): "as temperature",
    ("anthropic", "top_k"): "as temperature",
}
"""(check, field) that a provider takes and its SDK's types lack -> why we think so."""

SPOKEN = sorted(CHECKS)
EVERY = pytest.mark.parametrize("dialect", SPOKEN)


# --- what is asked ---

TURNS = request().messages
TRIAGE = get_benchmark("triage")
TRIAGE_SCHEMA = TRIAGE.schema("both")
REFORMAT_PROMPT = TRIAGE.reformat_prompt("both")
assert REFORMAT_PROMPT is not None
NESTED = Schema(
    "nested v1",
    "4" * 64,
    {
        "type": "object",
        "properties": {
            "what (of it)": {"type": ["string", "null"], "maxLength": 9},
            "list": {"type": "array", "items": {"$ref": "#/$defs/one"}, "uniqueItems": True},
            "either": {"anyOf": [{"type": "number", "minimum": 0}, {"type": "null"}]},
        },
        "required": ["what (of it)"],
        "additionalProperties": False,
        "$defs": {"one": {"type": "object", "properties": {}, "additionalProperties": False}},
    },
)

REQUESTS: Mapping[str, Request] = {
    "text": ask(),
    "system text": Request((Message("system", (TextPart("be brief"),)), Message("user", (TextPart("why"),)))),
    "images in order": request(),
    "system text in parts": replace(
        request(), messages=(Message("system", (TextPart("a"), TextPart("b"))), *TURNS[1:])
    ),
    "images alone": Request((Message("user", tuple(p for p in TURNS[1].parts if isinstance(p, ImagePart))),)),
    "json": ask(structured="json", schema=SCHEMA),
    "schema": ask(structured="schema", schema=SCHEMA),
    "schema of triage": ask(structured="schema", schema=TRIAGE_SCHEMA),
    "schema with every keyword": ask(structured="schema", schema=NESTED),
    "feedback": replace(request(), messages=feedback_messages(TURNS, Feedback("no", "broken")), attempt=2),
    "reformatter": Request(reformat_messages(REFORMAT_PROMPT, "I think so"), purpose="reformat"),
    "odd text": ask("\x00\U0001f9b7"),
}
NO_JSON_MODE = {"anthropic"}
CATALOGUE = load_config(cwd=Path(__file__).parent)

PARAMS: Mapping[str, list[dict[str, Any]]] = {
    "openai": [
        {"temperature": 0}, {"top_p": 0.5}, {"max_tokens": 9}, {"max_completion_tokens": 9}, {"seed": 7},
        {"stop": "END"}, {"stop": ["A", "B"]}, {"presence_penalty": 0.1}, {"frequency_penalty": -1},
        {"reasoning_effort": "low"}, {"reasoning_effort": "none"}, {"verbosity": "low"}, {"logprobs": True},
        {"logprobs": True, "top_logprobs": 2}, {"logit_bias": {"7": -1}}, {"user": "u"}, {"store": False},
        {"service_tier": "flex"}, {"safety_identifier": "s"}, {"prompt_cache_key": "k"},
        {"metadata": {"a": "b"}},
    ],
    "openai-responses": [
        {"temperature": 0}, {"top_p": 0.5}, {"max_tokens": 99}, {"top_logprobs": 2},
        {"max_output_tokens": 99},
        {"reasoning_effort": "minimal"}, {"reasoning_effort": "high", "reasoning_summary": "auto"},
        {"verbosity": "high"}, {"truncation": "disabled"}, {"service_tier": "flex"}, {"user": "u"},
        {"safety_identifier": "s"}, {"prompt_cache_key": "k"}, {"metadata": {"a": "b"}},
    ],
    "anthropic": [
        {"max_tokens": 2000}, {"stop": "END"}, {"stop": ["A", "B"]}, {"thinking_budget": 0},
        {"thinking_budget": 1024, "max_tokens": 2000}, {"reasoning_effort": "low"},
        {"reasoning_effort": "none"},
        {"thinking": {"type": "adaptive", "display": "summarized"}}, {"output_config": {"effort": "max"}},
        {"service_tier": "auto"}, {"metadata": {"user_id": "u"}}, {"temperature": 0}, {"top_p": 0.5},
        {"top_k": 4},
    ],
    "gemini": [
        {"temperature": 0}, {"top_p": 0.5}, {"top_k": 4}, {"max_tokens": 9}, {"seed": 7}, {"stop": "END"},
        {"stop": ["A", "B"]}, {"presence_penalty": 0.1}, {"frequency_penalty": -1}, {"thinking_budget": 0},
        {"thinking_level": "LOW", "include_thoughts": True}, {"media_resolution": "MEDIA_RESOLUTION_HIGH"},
        {"safety_settings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "OFF"}]}, {"logprobs": 2},
        {"service_tier": "flex"}, {"labels": {"a": "b"}},
    ],
    "mistral": [
        {"temperature": 0}, {"top_p": 0.5}, {"max_tokens": 9}, {"random_seed": 7}, {"stop": ["A", "B"]},
        {"presence_penalty": 0.1}, {"frequency_penalty": -1}, {"reasoning_effort": "high"},
        {"safe_prompt": True}, {"prompt_cache_key": "k"}, {"metadata": {"a": "b"}},
    ],
}  # fmt: skip


def model_of(dialect: str, **fields: Any) -> Model:
    """Return a model of a format, or of a vendor with the catalogue's settings."""
    if dialect in ADAPTERS:
        return model(dialect, max_output_tokens=4000, **fields)
    vendor = CATALOGUE.provider(dialect)
    return model(vendor.adapter, **fields).model_copy(update={"provider": vendor})


def sent(asked: Request, dialect: str, to: Model | None = None, **fields: Any) -> Body:
    """Return the body as the server gets it."""
    to = to or model_of(dialect, **fields)
    wire = get_adapter(to.provider.adapter).build(asked, to)
    parts = [part for message in asked.messages for part in message.parts]
    media = {(part.media.sha256, part.recipe): b"pixels" for part in parts if not isinstance(part, TextPart)}
    body: Body = json.loads(encode_body(wire, media))
    return body


def found(body: Body, dialect: str) -> list[str]:
    """Return what the SDK's types say of a body, less what is listed as known."""
    listed = {field for check, field in UNLISTED if check == dialect}
    return CHECKS[dialect]({name: value for name, value in body.items() if name not in listed})


# --- the tests ---


@EVERY
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("name", list(REQUESTS))
def test_every_request_is_one_that_the_sdk_could_send(dialect: str, name: str, stream: bool) -> None:
    asked = REQUESTS[name]
    if asked.structured == "json" and dialect in NO_JSON_MODE:
        asked = replace(asked, structured="off")
    assert found(sent(asked, dialect, stream=stream), dialect) == []


@pytest.mark.parametrize(
    ("dialect", "params"),
    [(dialect, params) for dialect, each in PARAMS.items() for params in each],
    ids=lambda value: value if isinstance(value, str) else json.dumps(value),
)
def test_every_parameter_stands_where_the_sdk_has_it(dialect: str, params: dict[str, Any]) -> None:
    plain, body = sent(ask(), dialect), sent(ask(params=params), dialect)
    assert body != plain
    assert found(body, dialect) == []


@pytest.mark.parametrize("name", [one.name for one in CATALOGUE.models()])
def test_every_model_of_the_catalogue_is_asked_with_its_own_settings(name: str) -> None:
    to = CATALOGUE.model(name)
    vendor = to.provider.name
    dialect = vendor if vendor in CHECKS else to.provider.adapter
    if dialect not in CHECKS or (dialect == "openai" and vendor != "openai"):
        assert to.provider.adapter in ("openai", "simulator", "litellm")  # vendors without types of their own
        return
    for structured in ("off", *to.structured):
        asked = ask(structured=structured, schema=TRIAGE_SCHEMA, params=to.params)
        assert found(sent(asked, dialect, to), dialect) == []


@pytest.mark.parametrize("name", [one.name for one in CATALOGUE.models() if not one.retired])
def test_what_a_benchmark_sets_by_itself_is_nothing_that_a_model_refuses(name: str) -> None:
    """RadM-Bench sets temperature, top_k and top_p: whoever lacks one is asked without it."""
    radm = cast("Benchmark", RadM())
    made = chosen_models(RunOptions(benchmark="radm", models=(name,)), CATALOGUE, radm)[name]
    vendor = made.model.provider.name
    assert {*made.params} | {*made.dropped_params} >= {*radm.default_params}
    dialect = vendor if vendor in CHECKS else made.model.provider.adapter
    if dialect in CHECKS and (dialect != "openai" or vendor == "openai"):
        assert found(sent(ask(params=made.params), dialect, made.model), dialect) == []
    else:
        assert made.model.provider.adapter in ("openai", "simulator", "litellm")  # nobody has types of theirs


@pytest.mark.parametrize("fps", [None, 2, 0.5])
def test_a_video_is_one_that_googles_sdk_could_send(fps: float | None) -> None:
    clip = Media("c" * 64, "video/quicktime", 100, 64, 48, duration_s=10.0)
    asked = Request((Message("user", (TextPart("a"), VideoPart(clip, fps=fps), TextPart("b"))),))
    body = sent(asked, "gemini", inputs=("text", "video"))
    assert found(body, "gemini") == []
    parts_of(turns_of(body)[0])[1]["videoMetadata"] = {"rate": 2}
    assert found(body, "gemini") != []


@pytest.mark.parametrize("field", sorted(UNLISTED))
def test_what_is_listed_as_unknown_to_a_type_is_unknown_to_it(field: tuple[str, str]) -> None:
    dialect, name = field
    assert CHECKS[dialect](sent(ask(params={name: 1}), dialect)) != []


WRONG: Mapping[str, Callable[[Body], object]] = {
    "a field that nobody knows": lambda body: body.update(foo=1),
    "a list that is text": lambda body: body.update(dict.fromkeys(TURN_FIELDS & body.keys(), "text")),
    "no turns": lambda body: [body.pop(name) for name in TURN_FIELDS & body.keys()],
    "a role that nobody has": lambda body: turns_of(body)[0].update(role=7),
    "an unknown field of a turn": lambda body: turns_of(body)[0].update(foo=1),
    "an unknown field of a part": lambda body: parts_of(turns_of(body)[-1])[1].update(foo=1),
    "a part of no kind": lambda body: parts_of(turns_of(body)[-1]).append({"kind": "text"}),
}
TURN_FIELDS = {"messages", "input", "contents"}


def turns_of(body: Body) -> list[Body]:
    turns: list[Body] = body[next(iter(TURN_FIELDS & body.keys()))]
    return turns


def parts_of(turn: Body) -> list[Body]:
    parts: list[Body] = turn.get("parts") or turn["content"]
    return parts


ALLOWED = {
    ("openai-responses", "a list that is text"): "the one turn may be text alone",
    ("openai-responses", "no turns"): "a stored prompt may stand for them",
}


@pytest.mark.parametrize(
    ("dialect", "how"), [(one, how) for one in SPOKEN for how in WRONG if (one, how) not in ALLOWED]
)
def test_a_wrong_body_is_found_out(dialect: str, how: str) -> None:
    body = sent(request(), dialect)
    assert found(body, dialect) == []
    WRONG[how](body)
    assert found(body, dialect) != []


WRONG_FIELDS: list[tuple[str, Body]] = [
    ("openai", {"max_output_tokens": 9}),
    ("openai", {"temperature": "0"}),
    ("openai", {"reasoning_effort": "huge"}),
    ("openai", {"response_format": {"type": "json_schema", "json_schema": {"schema": {}}}}),
    ("openai", {"stop": [1]}),
    ("openai-responses", {"max_tokens": 9}),
    ("openai-responses", {"reasoning": {"effort": "huge"}}),
    ("openai-responses", {"text": {"format": {"type": "json_schema", "json_schema": {}}}}),
    ("openai-responses", {"top_logprobs": True}),
    ("anthropic", {"stop": ["A"]}),
    ("anthropic", {"thinking": {"type": "enabled"}}),
    ("anthropic", {"thinking": {"type": "enabled", "budget_tokens": 2000.5}}),
    ("anthropic", {"output_config": {"format": {"type": "json_object"}}}),
    ("anthropic", {"system": [{"text": "no type"}]}),
    ("gemini", {"generation_config": {}}),
    ("gemini", {"generationConfig": {"top_p": 0.5}}),
    ("gemini", {"generationConfig": {"stopSequences": "END"}}),
    ("gemini", {"generationConfig": {"thinkingConfig": {"thinkingLevels": "LOW"}}}),
    ("gemini", {"safetySettings": [{"level": "OFF"}]}),
    ("gemini", {"labels": {"a": 1}}),
    ("mistral", {"seed": 7}),
    ("mistral", {"max_completion_tokens": 9}),
    ("mistral", {"response_format": {"type": "json_schema", "json_schema": {"schema": {}}}}),
]


@pytest.mark.parametrize(("dialect", "field"), WRONG_FIELDS, ids=str)
def test_a_wrong_field_is_found_out(dialect: str, field: Body) -> None:
    assert found(sent(ask(), dialect) | field, dialect) != []
