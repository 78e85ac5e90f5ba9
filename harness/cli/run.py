"""`harness run`: ask models a benchmark's questions, or go on where it was stopped."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.canonical import canonical_json
from harness.cli.options import config_option, json_option, store_option
from harness.cli.session_options import comma_list, session_options
from harness.errors import ConfigError

if TYPE_CHECKING:
    from harness.run_options import SessionOptions


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


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_constant(text)


def _no_constant(text: str) -> Any:
    raise ConfigError(f"--param: {text} is no JSON number")


ASKING_OPTIONS = (
    click.option(
        "--repeats", type=click.IntRange(min=1), default=1, show_default=True, help="Independent resamples."
    ),
    click.option(
        "--attempts",
        type=click.IntRange(1, 3),
        default=3,
        show_default=True,
        help="Asks until an answer is usable.",
    ),
    click.option(
        "--reask",
        type=click.Choice(["same", "feedback"]),
        default="same",
        show_default=True,
        help="Ask again as before, or with what was wrong.",
    ),
    click.option(
        "--structured",
        type=click.Choice(["off", "json", "schema"]),
        default="off",
        show_default=True,
        help="Let the provider constrain the output.",
    ),
    click.option(
        "--param", "params", multiple=True, metavar="K=V", help="A decoding parameter, as temperature=0."
    ),
    click.option("--prompt", type=click.Path(path_type=Path), metavar="FILE", help="Your own prompt."),
    click.option(
        "--drop-unsupported", is_flag=True, help="Leave out parameters that a model does not take."
    ),
)
"""How models are asked, the same for `run` and for steps."""


def _asking_options(function: Callable[..., int]) -> Callable[..., int]:
    for option in reversed(ASKING_OPTIONS):
        function = option(function)
    return function


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
@_asking_options
@click.option("--reformatter", metavar="MODEL|none", help="Who restates unusable answers.")
@click.option(
    "--image-recipe",
    metavar="RECIPE",
    help="How images are made ready, as convert or fit:max_side=2048. Default: sent as they are.",
)
@session_options
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
    session: SessionOptions,
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
    from harness.cli.going_on import Invocation
    from harness.cli.run_command import run
    from harness.run_options import RunOptions

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
    return run(Invocation(options, session, config_path, store, name, dry_run=dry_run, as_json=as_json))
