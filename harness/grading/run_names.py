"""The names that a run itself knows of its models: by them an answer may tell who wrote it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import chain
from typing import Final
from urllib.parse import urlsplit

from harness.benchmarks.steps import SOURCE, source_of
from harness.cache.store import Store
from harness.catalogue import read_catalogue
from harness.offline.step_runs import source_run
from harness.offline.stored_run import StoredRun, load_run

_OF_ADDRESSES: Final = frozenset({"api", "www", "com", "net", "org", "localhost", "inference", "v1"})


async def all_names(store: Store, stored: StoredRun) -> frozenset[str]:
    """Return every name that may tell who answered in a run, and in the run that it follows.

    Beside `names_of`, what providers said they served. Raises StoreError.
    """
    found = names_of(stored, await _served(store, stored))
    step = stored.manifest.step
    source = None if step is None else await source_run(store, step.source)
    if source is not None:
        followed = await load_run(store, source)
        found |= names_of(followed, await _served(store, followed))
    return found


def names_of(stored: StoredRun, served: Iterable[str] = ()) -> frozenset[str]:
    """Return every name of a run's models and reformatters that may tell who answered.

    The names in the run, those of their weights at the provider and of the same weights in the catalogue,
    endpoints and providers, and, of a step, the models whose answers it was shown; of "maker/model" each part
    too, of an address the host. `served`: what providers said they served.
    """
    manifest = stored.manifest
    reformat = manifest.reformat
    wanted = {**manifest.models, **(reformat.models if reformat is not None else {})}
    found = {*wanted, *served}
    for one in wanted.values():
        found |= {one.model, *named(one.endpoint), *([one.reformatter] if one.reformatter else [])}
    for model in chain(stored.models.values(), *(some.values() for some in stored.session_models.values())):
        provider = model.provider
        found |= {model.name, model.model, provider.name}
        found |= {*named(provider.endpoint or ""), *named(provider.base_url)}
    if manifest.step is not None:
        cases = map(stored.case_index.case, stored.case_index)
        found |= {source_of(case).model for case in cases if SOURCE in case.reference}
    ids = _catalogue_ids()
    found |= {ids[name] for name in found if name in ids}
    found |= {name for name, id in ids.items() if id in found}
    return frozenset(found | {part for name in found if "/" in name for part in name.split("/")}) - {""}


async def _served(store: Store, stored: StoredRun) -> set[str]:
    counted = (await store.count_served(stored.run.id)).values()
    return {name for one in counted for _, name in one if name is not None}


def named(endpoint: str) -> Iterator[str]:
    """Yield what names an endpoint: itself; of an address the host and the words of it."""
    if "://" not in endpoint:
        yield endpoint
        return
    try:
        host = urlsplit(endpoint).hostname or ""
    except ValueError:
        return
    labels = [one for one in host.split(".") if len(one) > 2 and not one.isdigit()]
    if labels:
        yield host
        yield from (one for one in labels if one not in _OF_ADDRESSES)


@cache
def _catalogue_ids() -> Mapping[str, str]:
    """Return the catalogue's name of each model -> the name of its weights at the provider."""
    return {name: str(entry.table.get("model", name)) for name, entry in read_catalogue().models.items()}
