"""`harness models`: what can be asked, and whether its key is at hand."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

import click

from harness.cli.model_card import card, elsewhere_told, facts, key_told
from harness.cli.options import config_option, json_option, print_json, say
from harness.cli.tables import Column, render_table, terminal_width
from harness.config import Config, load_config
from harness.settings import Model, Provider

COLUMNS = (
    Column("model", shrink=True),
    Column("takes"),
    Column("context", right=True),
    Column("USD in/out", right=True),
)


@click.command(
    "models",
    epilog="Example: harness models gemini",
)
@click.argument("text", required=False, default="")
@click.option("--provider", metavar="NAME", help="Only the models of this provider.")
@json_option
@config_option
def command(text: str, provider: str | None, as_json: bool, config_path: Path | None) -> None:
    """List the models that can be asked: the catalogue's and those of harness.toml.

    TEXT keeps those that hold it in their name, provider, model id or notes; where it is the name of a model,
    all that is known of that one is shown. Any other model of a known
    provider can be asked as provider/model-id. Whether a provider's API key is in the environment stands
    beside its name; prices are USD per million tokens; a question mark: nobody said.
    """
    config = load_config(config_path)
    wanted = None if provider is None else config.provider(provider)
    withdrawn = config.asked_elsewhere
    models = [
        model
        for model in config.models()
        if text.casefold() in _searched(model, withdrawn) and wanted in (None, model.provider)
    ]
    if as_json:
        print_json([facts(model, os.environ) for model in models])
        return
    alone = next((model for model in models if model.name == text), None)
    if alone is not None:
        click.echo("\n".join(card(alone, os.environ, withdrawn.get(text))))
        like = [model.name for model in models if model is not alone]
        if like:
            say(f"also with {text!r} in them: {', '.join(like)}")
        return
    others = [one for one in _without_models(config) if wanted in (None, one) and text in ("", one.name)]
    if not models and not others:
        say(_none_found(text, config))
        return
    for line in (*_listed(models, os.environ, withdrawn), *_others(others, os.environ)):
        click.echo(line)
    if any(model.retired for model in models):
        say("retired: the provider no longer serves it; stored answers stay usable")


def _listed(
    models: Sequence[Model], environ: Mapping[str, str], withdrawn: Mapping[str, str]
) -> Iterator[str]:
    """Give the lines of the table, each provider's models below its name, with their notes."""
    ordered = sorted(models, key=lambda model: (model.provider.name, model.name))
    title, rule, *rows = render_table(COLUMNS, [_row(model) for model in ordered]).split("\n")
    if ordered:
        yield from (title, rule)
    left = iter(rows)
    for place, (name, group) in enumerate(groupby(ordered, key=lambda model: model.provider.name)):
        members = list(group)
        if place:
            yield ""
        yield from _wrapped(f"[{name}] {key_told(members[0].provider, environ)}")
        for _ in members:
            yield next(left)
        for model in members:
            if notes := _notes(model, withdrawn):
                yield from _wrapped(f"{model.name}: {notes}")


def _others(providers: Sequence[Provider], environ: Mapping[str, str]) -> Iterator[str]:
    if providers:
        yield from ("", "without a list here; name their models as provider/model-id:")
    for provider in providers:
        like = provider.base_url_like and f"needs your base_url, like {provider.base_url_like}"
        parts = (key_told(provider, environ), provider.base_url or like)
        yield from _wrapped(f"[{provider.name}] {', '.join(part for part in parts if part)}")


def _without_models(config: Config) -> list[Provider]:
    named = {model.provider.name for model in config.models()}
    return [one for one in config.providers() if one.name not in named]


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, terminal_width(), subsequent_indent="  ", break_on_hyphens=False)


def _none_found(text: str, config: Config) -> str:
    """Return what to say where no entry holds a text: another model of a known provider can be asked."""
    name, slash, model_id = text.partition("/")
    provider = config.known_providers.get(name)
    if slash and model_id and provider is not None and provider.adapter != "simulator":
        return (
            f"note: no entry matches {text!r}, and it can be asked all the same: --models {text} asks "
            f"{name!r} for {model_id!r}; its price and limits are not known here"
        )
    return f"no model matches {text!r}; 'harness models' lists all"


def _searched(model: Model, withdrawn: Mapping[str, str]) -> str:
    told = (model.name, model.provider.name, model.model, _notes(model, withdrawn))
    return " ".join(told).casefold()


def _notes(model: Model, withdrawn: Mapping[str, str]) -> str:
    notes = [f"retired: {model.retired}"] if model.retired else []
    if model.name in withdrawn:
        notes.append(f"retired: {elsewhere_told(withdrawn[model.name])}")
    return "; ".join([*notes, *([model.note] if model.note else [])])


def _row(model: Model) -> list[object]:
    takes = "+".join(kind for kind in model.inputs if kind != "text") or "text"
    return [model.name, takes, _short(model.context_tokens), _price(model)]


def _short(tokens: int | None) -> str:
    """Return a number of tokens in four characters or so."""
    if tokens is None:
        return "?"
    return f"{tokens / 1e6:.3g}M" if tokens >= 999_500 else f"{tokens / 1e3:.0f}k"


def _price(model: Model) -> str:
    if model.retired:
        return "retired"
    parts = ["?" if usd is None else f"{usd:.2f}" for usd in (model.price.input, model.price.output)]
    return "?" if parts == ["?", "?"] else "/".join(parts)
