"""Ids under which a model may have been asked before: under another id, the same request is a new one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from harness.cache.key import endpoint_identity
from harness.config import Config
from harness.manifest import Manifest, ModelWanted
from harness.served_models import Likeness, likeness
from harness.settings import Model

MOST = 5
"""Former ids that are looked for, the newest runs' first."""


@dataclass(frozen=True, slots=True)
class FormerId:
    """What a run called a model (`name`), and the id by which it asked for it."""

    name: str
    id: str


def former_ids(model: Model, config: Config, manifests: Iterable[Manifest]) -> list[FormerId]:
    """Return the ids under which a model may be stored, at most `MOST`; `manifests`: of the newest run first.

    They are those that a run asked under the model's own name; and, at its endpoint, those of no model that
    is known today, where such a model's name is gone from the configuration or its id is much like the asked
    one (a dated snapshot, another spelling). Whether requests fit is for the store to say.
    """
    found: dict[str, FormerId] = {}
    for manifest in manifests:
        for name, wanted in manifest.models.items():
            if wanted.adapter != model.provider.adapter or wanted.model == model.model:
                continue
            if name == model.name or _may_be_renamed(name, wanted, model, config):
                found.setdefault(wanted.model, FormerId(name, wanted.model))
    return list(found.values())[:MOST]


def way_back(former: FormerId, model: Model, config: Config, endpoint: str | None) -> str:
    """Return how to ask a model by its former id; `endpoint`: another one that its answers stand under."""
    provider = model.provider
    at = "" if endpoint is None else f" and endpoint = {endpoint!r} for its provider"
    if model.name in config.known_models:
        table = json.dumps(model.name) if not model.name.replace("-", "").isalnum() else model.name
        return f"set model = {former.id!r} under [models.{table}]{at}"
    return f"ask for '{provider.name}/{former.id.removeprefix(provider.model_prefix)}'{at}"


def _may_be_renamed(name: str, wanted: ModelWanted, model: Model, config: Config) -> bool:
    """Tell whether what a run called otherwise may be this model: at its endpoint, and nobody else today."""
    endpoint = endpoint_identity(model.provider)
    if wanted.endpoint != endpoint or name in config.known_models:
        return False
    if wanted.model in _known_at(endpoint, config):
        return False
    named_by_id = wanted.model.endswith(name.partition("/")[2] or "\n")  # `provider/model-id`, in no file
    return not named_by_id or _alike(wanted.model, model.model)


def _known_at(endpoint: str, config: Config) -> Iterator[str]:
    return (one.model for one in config.models() if endpoint_identity(one.provider) == endpoint)


def _alike(one: str, other: str) -> bool:
    """Tell whether two ids are one model's: spelt otherwise, or either with a date."""
    return any(found is not Likeness.ANOTHER for found in (likeness(one, other), likeness(other, one)))
