"""`harness run`: ask models a benchmark's questions, or go on where it was stopped."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from harness.canonical import canonical_json
from harness.cli.options import config_option, json_option, store_option
from harness.errors import ConfigError
from harness.outcomes import UnitOutcome


def comma_list(text: str | None) -> tuple[str, ...]:
    """Return the names of a comma-separated list, in order, each once."""
    return tuple(dict.fromkeys(name.strip() for name in (text or "").split(",") if name.strip()))


def read_params(pairs: tuple[str, ...]) -> dict[str, Any]:
    """Return `--param NAME=VALUE` pairs; values are JSON where they are JSON, else text."""
    params: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"--param {pair!r} is not NAME=VALUE, as in --param temperature=0")
        try:
            value = json.loads(text, parse_constant=_no_constant, parse_float=_finite)
            canonical_json(value)  # what cannot be hashed can be neither sent nor kept
            params[name.strip()] = value
        except ValueError:
            params[name.strip()] = text
        except RecursionError as error:
            raise ConfigError(f"--param {name.strip()!r} is nested too deeply") from error
    return params


def read_outcomes(text: str | None) -> tuple[UnitOutcome, ...]:
    """Return the unit outcomes of `--again`. Raises ConfigError for one that does not exist."""
    known = {outcome.value: outcome for outcome in UnitOutcome}
    for name in comma_list(text):
        if name not in known:
            raise ConfigError(f"unknown outcome {name!r} for --again; known: {', '.join(known)}")
    return tuple(known[name] for name in comma_list(text))


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_constant(text)


def read_wait(ctx: click.Context, param: click.Parameter, value: float) -> float:
    """Check `--max-wait`. Raises ConfigError for what is no number of seconds."""
    if not math.isfinite(value):
        raise ConfigError(f"--max-wait {value} is no number of seconds, as in --max-wait 3600")
    return value


def _no_constant(text: str) -> Any:
    raise ConfigError(f"--param: {text} is no JSON number")


def read_max_cost(texts: tuple[str, ...]) -> Mapping[str | None, float]:
    """Return USD by model (None: in all) of `--max-cost USD` and `--max-cost MODEL=USD`."""
    limits: dict[str | None, float] = {}
    for text in texts:
        name, equals, number = text.rpartition("=")
        try:
            limit = float(number)
        except ValueError:
            limit = -1.0
        if not 0 <= limit < float("inf"):
            raise ConfigError(f"--max-cost {text!r} is no amount in USD, as in --max-cost 20 or o3=5")
        if equals and not name.strip():
            raise ConfigError(f"--max-cost {text!r} names no model, as in --max-cost o3=5")
        limits[name if equals else None] = limit
    return limits


@click.command("run", epilog="Example: harness run --benchmark triage --models gemini-3-flash,o3 --limit 5")
@click.option("--benchmark", required=True, metavar="NAME", help="See `harness benchmarks`.")
@click.option(
    "--models", required=True, metavar="A,B", help="Names of `harness models`, or provider/model-id."
)
@click.option(
    "--data", type=click.Path(path_type=Path), metavar="DIR", help="Case files. Default: the sample."
)
@click.option("--conditions", metavar="A,B", help="Default: the main one; `all`: every one.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the first N cases.")
@click.option("--cases", metavar="ID,ID", help="Only these cases.")
@click.option(
    "--repeats", type=click.IntRange(min=1), default=1, show_default=True, help="Independent resamples."
)
@click.option(
    "--attempts",
    type=click.IntRange(1, 3),
    default=3,
    show_default=True,
    help="Asks until an answer is usable.",
)
@click.option("--reformatter", metavar="MODEL|none", help="Who restates unusable answers.")
@click.option(
    "--reask",
    type=click.Choice(["same", "feedback"]),
    default="same",
    show_default=True,
    help="Ask again as before, or with what was wrong.",
)
@click.option(
    "--structured",
    type=click.Choice(["off", "json", "schema"]),
    default="off",
    show_default=True,
    help="Let the provider constrain the output.",
)
@click.option(
    "--param", "params", multiple=True, metavar="K=V", help="A decoding parameter, as temperature=0."
)
@click.option("--prompt", type=click.Path(path_type=Path), metavar="FILE", help="Your own prompt.")
@click.option("--drop-unsupported", is_flag=True, help="Leave out parameters that a model does not take.")
@click.option("--again", metavar="OUTCOME,..", help="Ask units that ended so once more.")
@click.option("--max-cost", multiple=True, metavar="USD|MODEL=USD", help="Spend no more in this session.")
@click.option(
    "--max-wait",
    type=click.FloatRange(min=0),
    callback=read_wait,
    default=600.0,
    show_default=True,
    metavar="S",
    help="Longest wait for a rate limit, in seconds.",
)
@click.option("--max-in-flight", type=click.IntRange(min=1), metavar="N", help="Requests at once, per model.")
@click.option(
    "--order",
    type=click.Choice(["interleave", "model"]),
    default="interleave",
    show_default=True,
    help="All models at once, or one after the other.",
)
@click.option("--keep-media", is_flag=True, help="Keep the bytes of images in the store.")
@click.option("--dry-run", is_flag=True, help="Show what would be sent and what it may cost; send nothing.")
@click.option("--name", metavar="NAME", help="A name for the run.")
@config_option
@store_option
@json_option
def command(
    benchmark: str,
    models: str,
    data: Path | None,
    conditions: str | None,
    limit: int | None,
    cases: str | None,
    params: tuple[str, ...],
    prompt: Path | None,
    again: str | None,
    max_cost: tuple[str, ...],
    max_wait: float,
    max_in_flight: int | None,
    order: Any,
    keep_media: bool,
    dry_run: bool,
    name: str | None,
    config_path: Path | None,
    store: str | None,
    as_json: bool,
    **wanted: Any,
) -> int:
    """Ask models a benchmark's questions.

    The same command again goes on where it was stopped: what is answered is kept, what failed for a
    provider's reasons is asked again. Ctrl-C once finishes what is in flight, twice stops now.
    """
    from harness.cli.run_command import Invocation, run
    from harness.run_options import RunOptions, SessionOptions

    options = RunOptions(
        benchmark=benchmark,
        models=comma_list(models),
        data=None if data is None else str(data.resolve()),
        conditions=comma_list(conditions),
        limit=limit,
        cases=comma_list(cases),
        params=read_params(params),
        prompt=None if prompt is None else str(prompt.resolve()),
        **wanted,
    )
    if not options.models:
        raise ConfigError("--models names no model; `harness models` lists them")
    session = SessionOptions(
        again=read_outcomes(again),
        max_cost=read_max_cost(max_cost),
        max_wait_s=max_wait,
        max_in_flight=max_in_flight,
        order=order,
        keep_media=keep_media,
    )
    return run(Invocation(options, session, config_path, store, name, dry_run=dry_run, as_json=as_json))
