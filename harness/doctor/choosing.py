"""Which models are examined, and what that will cost at most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.config import Config
from harness.costs import output_limit, part_usd, total_usd
from harness.doctor.examination import Terms
from harness.doctor.questions import json_request, params_for, schema_request, text_request
from harness.errors import ConfigError
from harness.estimates import TOKENS_PER_IMAGE, input_tokens
from harness.messages import Request
from harness.settings import Model, Provider

_WORD_TOKENS = 4
"""Output tokens of an answer without reasoning, for the low estimate."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The models that are examined, and what the user should know about how they were chosen."""

    models: tuple[Model, ...]
    notes: tuple[str, ...] = ()


def choose(config: Config, names: Sequence[str], environment: Mapping[str, str]) -> Choice:
    """Return the named models; without names those of harness.toml, else the cheapest for each key.

    Raises ConfigError for a name that does not exist, and where nothing can be chosen.
    """
    if names:
        return Choice(tuple(config.model(name) for name in dict.fromkeys(names)))
    if config.written_params:
        models = tuple(config.model(name) for name in config.written_params)
        return Choice(models, (f"the models of {config.path}: {', '.join(config.written_params)}",))
    found = {
        variable: _cheapest(config.models(), variable)
        for variable in sorted({one.api_key_env or "" for one in config.providers()})
        if environment.get(variable, "").strip()
    }
    models = tuple(model for model in found.values() if model is not None)
    bare = [name for one in config.providers() for name in _unlisted(one, found)]
    hints = [f"no model of {name!r} is listed here; name one: --models {name}/MODEL" for name in bare]
    if not models:
        raise ConfigError(
            "; ".join(
                [
                    "no API key of a provider with listed models is set, and no harness.toml names a model",
                    "set a key ('harness models' tells which variable), or name models: --models A,B "
                    "(sim/steady needs no key)",
                    *hints,
                ]
            )
        )
    chosen = ", ".join(model.name for model in models)
    return Choice(models, (f"the cheapest model for each API key that is set: {chosen}", *hints))


def _unlisted(provider: Provider, found: Mapping[str, Model | None]) -> list[str]:
    """Return the provider's name where its key is set, and no model that the key opens is listed."""
    variable = provider.api_key_env or ""
    return [provider.name] if variable in found and found[variable] is None else []


def _cheapest(models: Iterable[Model], variable: str) -> Model | None:
    """Return the model behind a key that costs least, one that takes images if there is any."""
    alive = [model for model in models if model.provider.api_key_env == variable and not model.retired]
    return min(alive, key=_rank, default=None)


def _rank(model: Model) -> tuple[bool, bool, float, str]:
    usd = total_usd((model.price.input, model.price.output))
    return ("image" not in model.inputs, usd is None, usd or 0.0, model.name)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What one examination takes: questions asked, USD (None: no price, or no limit of the answer)."""

    model: Model
    questions: int
    low_usd: float | None
    high_usd: float | None


def estimate(model: Model, terms: Terms) -> Estimate:
    """Return what examining a model costs, at least and at most; look-ups are free."""
    every = model.model_copy(update={"structured": ("json", "schema")})
    asked: list[Request] = [text_request(model)]
    low, high = input_tokens(asked[0])
    for mode, request in (("schema", schema_request(every)), ("json", json_request(every))):
        if terms.every_mode or mode in model.structured:
            asked.append(request)
            low, high = low + input_tokens(request).low, high + input_tokens(request).high
    questions = len(asked)
    if "image" in model.inputs:
        questions += 1
        low, high = low + TOKENS_PER_IMAGE // 5, high + 2 * TOKENS_PER_IMAGE
    limit = output_limit(model, params_for(model))
    price = model.price
    most = None if limit is None else questions * limit
    return Estimate(
        model,
        questions,
        total_usd((part_usd(low, price.input), part_usd(questions * _WORD_TOKENS, price.output))),
        total_usd((part_usd(high, price.input), part_usd(most, price.output))),
    )
