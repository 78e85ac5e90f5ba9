"""What the catalogue's facts come to under the user's file: whose price it is, and who is retired."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import date
from pathlib import Path
from typing import Final

from harness.settings import Model
from harness.toml_file import Table

SOON_DAYS: Final = 30
"""How long before its end a model's user is told of that."""

ENDS: Final = ("retires_on", "replaced_on")
"""The fields that hold the day on which a model ends."""


def own_facts(tables: Mapping[str, Table], source: str) -> dict[str, Table]:
    """Return the user's models as they are written; prices and ends in them are from the user's file."""
    told = {
        name: {"ends_source": Path(source).name, **table} if table.keys() & set(ENDS) else table
        for name, table in tables.items()
    }
    for name, table in told.items():
        price = table.get("price")
        if isinstance(price, dict) and price and "source" not in price:
            # The catalogue's price of long requests is no part of what the user wrote.
            own: Table = {"tiers": []} if price.keys() & {"input", "output"} else {}
            told[name] = {**table, "price": {**own, **price, "source": Path(source).name}}
    return told


def sourced(model: Model) -> Model:
    """Return a model whose price and end name their source, which may be its provider's."""
    if model.ends_source is None and model.provider.ends_source is not None:
        model = model.model_copy(update={"ends_source": model.provider.ends_source})
    price, source = model.price, model.provider.price_source
    known = price.model_dump(exclude={"source"}, exclude_defaults=True)
    if price.source is not None or source is None or not known:
        return model
    return model.model_copy(update={"price": price.model_copy(update={"source": source})})


def replaced(model: Model, today: date) -> Model:
    """Return a model retired if by now another one answers under its name; the user may say otherwise."""
    told = replacement(model, today)
    return model if told is None else model.model_copy(update={"retired": told})


def replacement(model: Model, today: date) -> str | None:
    """Return since when another model answers under a model's name (`today`: UTC); None where none does."""
    if model.retired is not None or model.replaced_on is None or today < model.replaced_on:
        return None
    return f"since {model.replaced_on} its provider answers with another model{_why(model)}"


def ending_soon(
    models: Mapping[str, Model], written: Mapping[str, Table], moved: Collection[str], today: date
) -> dict[str, str]:
    """Return the models that their providers withdraw within `SOON_DAYS`, or meant to by now -> what to say.

    At an address of the user's (`moved`) only what the user wrote (`written`) counts.
    """
    told = {}
    for name, model in models.items():
        days: dict[str, date | None] = {field: getattr(model, field) for field in ENDS}
        if model.provider.name in moved:
            days = {field: day for field, day in days.items() if field in written.get(name, {})}
        day = min((one for one in days.values() if one is not None), default=None)
        if day is None or model.retired or (day - today).days > SOON_DAYS:
            continue
        told[name] = f"ends soon: its provider withdraws it on {day}{_why(model)}"
        if day <= today:
            told[name] = f"may be gone: its provider was to withdraw it on {day}{_why(model)}"
    return told


def _why(model: Model) -> str:
    source = f"by {model.ends_source}" if model.ends_source else None
    why = "; ".join(one for one in (model.note, source) if one)
    return f" ({why})" if why else ""


def end_note(model: Model, known: Mapping[str, Model], ending: Mapping[str, str]) -> str | None:
    """Return a sentence about a model that ends within `SOON_DAYS` or has ended, None where nothing is known.

    `ending`: what `ending_soon` found. Of a model that has no day of its own, the day of a known one with the
    same id at the same provider counts. A model that is retired by itself is not told of here.
    """
    if model.name in ending:
        return f"model {model.name!r} {ending[model.name]}"
    if model.retired is not None or model.retires_on or model.replaced_on:
        return None
    for name, one in known.items():
        if name == model.name or (one.provider.name, one.model) != (model.provider.name, model.model):
            continue
        if name in ending:
            return f"model {model.name!r}, known as {name!r}, {ending[name]}"
        if one.retired:
            return f"model {model.name!r} may be gone: as {name!r} it is retired, {one.retired}"
    return None


def retired_elsewhere(
    models: Mapping[str, Model], written: Mapping[str, Table], moved: Collection[str]
) -> dict[str, str]:
    """Return the models that are retired only where the catalogue knows them -> why.

    `written` are the user's own tables of models, `moved` the providers to which the user gave an address:
    who answers there, the catalogue cannot know.
    """
    return {
        name: model.retired
        for name, model in models.items()
        if model.retired and model.provider.name in moved and "retired" not in written.get(name, {})
    }
