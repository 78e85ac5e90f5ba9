"""`harness doctor`: whether models can be asked, by a few tiny calls to each."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness import exit_codes
from harness.cli.main import SECRET_VARIABLES
from harness.cli.options import config_option, json_option, print_json, say
from harness.cli.session_options import comma_list
from harness.config import load_config
from harness.errors import ConfigError
from harness.providers.base import TRANSLATED
from harness.providers.litellm_presence import check_installed

if TYPE_CHECKING:
    from harness.config import Config
    from harness.doctor.findings import Examined
    from harness.settings import Model


@click.command("doctor", epilog="Example: harness doctor --models gemini-3-flash,o3")
@click.option("--models", metavar="A,B", help="Default: those of harness.toml, else one for each key.")
@click.option("--all", "every_mode", is_flag=True, help="Try JSON and schema modes that no setting names.")
@click.option(
    "--timeout",
    "total_s",
    type=click.FloatRange(min=0, min_open=True),
    default=120.0,
    show_default=True,
    metavar="S",
    help="Longest time for one model, all its checks together.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be asked and cost; no network.")
@click.option("--raw", is_flag=True, help="Show how each answer began, keys masked.")
@json_option
@config_option
def command(
    models: str | None,
    every_mode: bool,
    total_s: float,
    dry_run: bool,
    raw: bool,
    as_json: bool,
    config_path: Path | None,
) -> int:
    """Check models before many cases are asked: key, address, model, text, image, structured output, limits.

    A look-up and two to four tiny questions a model, always asked anew and never stored: the store is not
    opened. Each check says ok, warn, fail, or - where there is nothing to check. Exit 3: some model failed.
    """
    from harness.cli.doctor_text import estimate_facts, facts, forecast, summary, told, usd
    from harness.doctor.choosing import choose, estimate
    from harness.doctor.examination import Terms
    from harness.doctor.findings import Level
    from harness.doctor.round import examine_all

    config = load_config(config_path)
    names = comma_list(models)
    if models is not None and not names:
        raise ConfigError("--models names no model; 'harness models' lists them")
    choice = choose(config, names, os.environ)
    for note in choice.notes:
        say(note)
    for note in _end_notes(choice.models, config):
        say(f"note: {note}")
    chosen = _sendable(choice.models, named=bool(names), dry_run=dry_run)
    terms = Terms(total_s, every_mode)
    estimates = [estimate(model, terms) for model in chosen]
    if dry_run:
        if as_json:
            print_json([estimate_facts(one) for one in estimates])
            return exit_codes.OK
        for one in estimates:
            cost = f"{usd(one.low_usd)} to {usd(one.high_usd)}"
            click.echo(f"{one.model.name}: {one.questions} questions, {cost}")
        click.echo(forecast(estimates))
        return exit_codes.OK
    say(f"asking {forecast(estimates)}, {total_s:g} s each at most")
    found: list[Examined] = []

    def on_examined(examined: Examined) -> None:
        found.append(examined)
        if not as_json:
            click.echo("\n".join((*told(examined, raw=raw), "")))

    keys = {name: value.strip() for name, value in config.api_keys(os.environ).items()}
    SECRET_VARIABLES.update(keys)
    try:
        asyncio.run(examine_all(chosen, keys, terms, on_examined))
    finally:
        if as_json:
            print_json([facts(one) for one in found])
        say(summary(found, len(chosen)))
    failed = any(one.level is Level.FAIL for one in found)
    return exit_codes.INCOMPLETE if failed else exit_codes.OK


def _end_notes(models: tuple[Model, ...], config: Config) -> Iterator[str]:
    for model in models:
        if model.retired:
            yield f"model {model.name!r} is retired by its provider: {model.retired}"
        elif (note := config.end_note(model)) is not None:
            yield note


def _sendable(models: tuple[Model, ...], *, named: bool, dry_run: bool) -> tuple[Model, ...]:
    """Return the models that can be asked, those without a translator left out where nobody named them.

    Raises ConfigError where that leaves nothing, or a named model lacks it; a dry run says so instead.
    """
    others = tuple(model for model in models if model.provider.adapter not in TRANSLATED)
    try:
        if len(others) < len(models):
            check_installed()
    except ConfigError as error:
        if others and not named:
            say(f"note: not asked: {error}")
            return others
        if not dry_run:
            raise
        say(f"note: without --dry-run this would stop: {error}")
    return models
