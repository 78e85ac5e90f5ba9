"""Whether a run's models are those that the built-in catalogue has by their names.

Published numbers are named by the catalogue, and a user may call any weights at any address `o3`: a
difference to a paper's number would then be one of two models.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, cast
from urllib.parse import urlsplit

from harness.cache.key import endpoint_identity
from harness.cache.store import Store
from harness.catalogue import read_catalogue
from harness.manifest import Manifest
from harness.offline.step_runs import source_run
from harness.settings import IMPORTED, Model
from harness.settings_check import build_model, build_provider

_NOT_KNOWN: Final = (
    "which models were asked is not known here, as the store lacks the run that the step follows"
)
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


async def models_asked(store: Store, run_manifest: Mapping[str, Any], manifest: Manifest) -> Any:
    """Return name -> how the models that rows are named after were asked; of a step, those of its source.

    None where a step's source is not in the store.
    """
    if manifest.step is None:
        return run_manifest["models"]
    source = await source_run(store, manifest.step.source)
    return None if source is None else cast("Mapping[str, Any]", source.manifest["models"])


def not_the_catalogues(models: Mapping[str, Any] | None, name: str) -> str | None:
    """Return why a run's model is not the catalogue's of that name; None where it is.

    `models` as `models_asked` gives them. Endpoint and model id must be the catalogue's; where that expects
    a server of one's own, the id alone. Of imported answers the name is all that is known: it is believed.
    """
    if models is None:
        return _NOT_KNOWN
    asked, known = models.get(name), _catalogue_model(name)
    if asked is None or known is None:
        return f"{name!r} is no model of the catalogue as this run asked it"
    if asked["adapter"] == IMPORTED:
        return None
    expected = endpoint_identity(known.provider)
    own_server = urlsplit(expected).hostname in _LOOPBACK and not asked.get("simulated")
    if asked["model"] == known.model and (own_server or asked["endpoint"] == expected):
        return None
    return (
        f"{name!r} was {asked['model']} at {asked['endpoint']} here, and is {known.model} at {expected} "
        "in the catalogue: not known to be the same model"
    )


@cache
def _catalogue_model(name: str) -> Model | None:
    """Return a model as the catalogue alone has it, whatever a `harness.toml` says."""
    catalogue = read_catalogue()
    entry = catalogue.models.get(name)
    if entry is None:
        return None
    by = str(entry.table["provider"])
    provider = catalogue.providers[by]
    return build_model(name, entry.table, build_provider(by, provider.table, provider.source), entry.source)
