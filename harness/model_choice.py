"""The models of a run, with their parameters and reformatters, resolved and checked."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from harness.benchmarks.base import Benchmark
from harness.canonical import JSON
from harness.config import FILE_NAME, Config
from harness.credentials import check_names
from harness.errors import ConfigError, MediaError, UnsupportedInputError
from harness.messages import Message, Request, TextPart
from harness.plans import ModelPlan
from harness.providers.base import get_adapter
from harness.recipes import ORIGINAL, read_wish
from harness.run_options import RunOptions
from harness.settings import Model

SIMULATED_REFORMATTER = "sim/reformatter"
NO_REFORMATTER = "none"
COMMON_PARAMS = frozenset(
    {
        "temperature",
        "top_p",
        "top_k",
        "min_p",
        "max_tokens",
        "max_completion_tokens",
        "seed",
        "stop",
        "presence_penalty",
        "frequency_penalty",
        "repetition_penalty",
        "reasoning_effort",
        "reasoning_mode",
        "reasoning_summary",
        "thinking_budget",
        "thinking_level",
        "logprobs",
        "top_logprobs",
        "verbosity",
    }
)
"""Parameters with names that are often meant; a name that nearly is one of them is pointed out."""


def chosen_models(options: RunOptions, config: Config, benchmark: Benchmark) -> dict[str, ModelPlan]:
    """Return the models that are to be asked, by name. Raises ConfigError."""
    plans = {}
    for name in sorted(set(options.models)):
        model = config.model(name)
        _check_address(model)
        _check_structured(model, options)
        params, dropped = _params(model, options, config, benchmark)
        _check_params(model, params)
        reformatter = _reformatter(model, options, config, benchmark)
        recipe = image_recipe_of(model, options.image_recipe, config, benchmark)
        plans[name] = ModelPlan(model, params, dropped, reformatter, recipe)
    return plans


def retired_notes(models: Mapping[str, ModelPlan], config: Config) -> list[str]:
    """Return a sentence for each model that its provider withdrew (nothing is sent there), or soon will."""
    told = [
        f"model {name!r} is retired by its provider ({config.asked_elsewhere[name]}), and asked at the "
        f"base_url that you gave for {plan.model.provider.name!r}"
        for name, plan in models.items()
        if name in config.asked_elsewhere
    ]
    asked = {plan.reformatter.name: plan.reformatter for plan in models.values() if plan.reformatter}
    asked |= {name: plan.model for name, plan in models.items()}
    told += [note for name in sorted(asked) if (note := config.end_note(asked[name])) is not None]
    return told + [
        f"model {name!r} is retired: {plan.model.retired}. Stored answers are used, nothing is sent to it; "
        f"if it is served all the same, write retired = '' under [models.{json.dumps(name)}] in harness.toml"
        for name, plan in models.items()
        if plan.model.retired
    ]


def told_dropped(plan: ModelPlan) -> list[str]:
    """Return what is left out, each with the one that it cannot stand beside, if that is why."""
    told = []
    for name in plan.dropped_params:
        groups = () if name in plan.model.not_taken else plan.model.one_of
        kept = [one for group in groups if name in group for one in group if one in plan.params]
        told.append(f"{name} beside {kept[0]}" if kept else name)
    return told


def _check_address(model: Model) -> None:
    """Raise ConfigError where the provider's address is one that only the user knows."""
    provider = model.provider
    if not provider.base_url and provider.base_url_like:
        raise ConfigError(
            f"provider {provider.name!r} of model {model.name!r} has no address of its own; write yours in "
            f"harness.toml: [providers.{provider.name}] base_url = {json.dumps(provider.base_url_like)}"
        )


def image_recipe_of(model: Model, wish: str | None, config: Config, benchmark: Benchmark) -> str:
    """Return how images are made ready for a model, in one spelling: as the command says (`wish`), else the
    settings of the model, those of the benchmark, or the benchmark itself. Raises ConfigError.
    """
    configured = model.image_recipe or config.benchmark(benchmark.name).image_recipe
    try:
        return str(read_wish(wish or configured or benchmark.image_recipe or ORIGINAL))
    except MediaError as error:
        raise ConfigError(f"--image-recipe: {error}") from error


def _check_structured(model: Model, options: RunOptions) -> None:
    if options.structured != "off" and options.structured not in model.structured:
        known = ", ".join(("off", *model.structured))
        raise ConfigError(
            f"model {model.name!r} is not known to take --structured {options.structured}; known: {known}; "
            f"choose one of them, or add it to `structured` of [models.{model.name!r}] in harness.toml"
        )


def _check_params(model: Model, params: Mapping[str, JSON]) -> None:
    """Raise ConfigError for a parameter that the wire format keeps for itself, before anything is asked."""
    question = (Message("user", (TextPart("?"),)),)
    try:
        get_adapter(model.provider.adapter).build(Request(question, params=params), model)
    except UnsupportedInputError as error:
        raise ConfigError(str(error)) from error


def _params(
    model: Model, options: RunOptions, config: Config, benchmark: Benchmark
) -> tuple[dict[str, JSON], tuple[str, ...]]:
    """Return the parameters to send and the names of those left out, by the order of precedence."""
    written: dict[str, JSON] = {**config.user_params(model.name), **options.params}
    params: dict[str, JSON] = {**model.params, **benchmark.default_params, **written}
    check_names(model.name, params)
    dropped = {name for name in params if name in model.not_taken}
    _refuse_written(model, dropped & written.keys(), "does not take", options)
    for group in model.one_of:
        # What the user wrote goes before a default, else the order of the group decides.
        given = [name for name in group if name in params and name not in dropped]
        spare = sorted(given, key=lambda name: name not in written)[1:]
        told = f"takes only one of {', '.join(map(repr, group))} in a request, and so not"
        _refuse_written(model, written.keys() & spare, told, options)
        dropped.update(spare)
    kept = {name: value for name, value in sorted(params.items()) if name not in dropped}
    return kept, tuple(sorted(dropped))


def _refuse_written(model: Model, names: Collection[str], told: str, options: RunOptions) -> None:
    """Raise ConfigError for parameters that the user wrote, unless they may be left out."""
    if names and not options.drop_unsupported:
        raise ConfigError(
            f"model {model.name!r} {told} {', '.join(map(repr, sorted(names)))}; leave it out, or give "
            "--drop-unsupported to leave it out for this model and record that"
        )


def _reformatter(model: Model, options: RunOptions, config: Config, benchmark: Benchmark) -> Model | None:
    name = options.reformatter or config.benchmark(benchmark.name).reformatter
    if name is None:
        name = SIMULATED_REFORMATTER if model.simulated and benchmark.reformatter else benchmark.reformatter
    if name is None or name == NO_REFORMATTER:
        return None
    if all(benchmark.reformat_schema(condition) is None for condition in benchmark.conditions):
        raise ConfigError(
            f"{benchmark.name} has no reformatter: its answers are text, which nobody restates; leave out "
            f"--reformatter (in {FILE_NAME}, `reformatter` of [benchmarks.{benchmark.name}])"
        )
    reformatter = config.model(name)
    _check_address(reformatter)
    if reformatter.retired:
        raise ConfigError(
            f"the reformatter {name!r} is retired: {reformatter.retired}; give --reformatter MODEL, or "
            "--reformatter none to count answers that cannot be read as unusable"
        )
    check_names(name, reformatter.params)
    return reformatter
