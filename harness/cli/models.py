"""`harness models`: what can be asked, and whether its key is at hand."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Mapping
from pathlib import Path

import click

from harness.cli.options import config_option, json_option, print_json, say
from harness.cli.tables import Column, render_table, terminal_width
from harness.config import load_config
from harness.settings import Model

COLUMNS = (
    Column("model"),
    Column("provider"),
    Column("adapter"),
    Column("inputs"),
    Column("key"),
    Column("", shrink=True),
)


@click.command(
    "models",
    epilog="Example: harness models gemini",
)
@click.argument("text", required=False, default="")
@json_option
@config_option
def command(text: str, as_json: bool, config_path: Path | None) -> None:
    """List the models that can be asked: the catalogue's and those of harness.toml.

    TEXT keeps those that hold it in their name, provider, model id or notes. Any other model of a known
    provider can be asked as provider/model-id. The column `key` tells whether the provider's API key is in
    the environment.
    """
    models = [model for model in load_config(config_path).models() if text.casefold() in _searched(model)]
    if as_json:
        print_json([_facts(model, os.environ) for model in models])
        return
    if not models:
        say(f"no model matches {text!r}; 'harness models' lists all")
        return
    click.echo(render_table(COLUMNS, [_row(model, os.environ) for model in models]))
    for model in models:
        if _notes(model):
            told = f"{model.name}: {_notes(model)}"
            click.echo(textwrap.fill(told, terminal_width(), subsequent_indent="  "))
    if any(model.retired for model in models):
        say("retired: the provider no longer serves it; stored answers stay usable")


def key_state(model: Model, environ: Mapping[str, str]) -> str:
    """Return "set", "missing", or "-" where no key is needed."""
    name = model.provider.api_key_env
    if name is None:
        return "-"
    return "set" if environ.get(name) else "missing"


def _searched(model: Model) -> str:
    told = (model.name, model.provider.name, model.model, _notes(model))
    return " ".join(told).casefold()


def _notes(model: Model) -> str:
    notes = [f"retired: {model.retired}"] if model.retired else []
    return "; ".join([*notes, *([model.note] if model.note else [])])


def _row(model: Model, environ: Mapping[str, str]) -> list[object]:
    return [
        model.name,
        model.provider.name,
        model.provider.adapter,
        "+".join(model.inputs),
        key_state(model, environ),
        "retired" if model.retired else "",
    ]


def _facts(model: Model, environ: Mapping[str, str]) -> dict[str, object]:
    """Return what scripts may want; never a key."""
    return {
        "name": model.name,
        "provider": model.provider.name,
        "adapter": model.provider.adapter,
        "model": model.model,
        "inputs": list(model.inputs),
        "structured": list(model.structured),
        "params": dict(model.params),
        "unsupported_params": list(model.unsupported_params),
        "context_tokens": model.context_tokens,
        "max_output_tokens": model.max_output_tokens,
        "price": model.price.model_dump(),
        "api_key_env": model.provider.api_key_env,
        "key": key_state(model, environ),
        "simulated": model.simulated,
        "retired": model.retired,
        "note": model.note,
    }
