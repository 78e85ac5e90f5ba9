"""Stored answers that fit but for endpoint, wire revision or model id: told before they are paid again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import islice
from typing import TypeAlias

from harness.cache.store import Store
from harness.config import Config
from harness.former_ids import FormerId, former_ids, way_back
from harness.identity import Built, build
from harness.manifest import Manifest, read_manifest
from harness.media_threads import in_media_thread
from harness.messages import Request
from harness.planning import Plan
from harness.plans import first_request
from harness.runner import Work
from harness.settings import Model

LOOKED_AT = 100
"""Open units that are looked at for each model."""

Asked: TypeAlias = Sequence[tuple[Request, Built]]


async def twin_notes(plan: Plan, work: Work, config: Config, store: Store) -> list[str]:
    """Return a sentence for each model whose next requests were answered before, as what they are not now."""
    manifests: list[Manifest] | None = None
    notes = []
    for name, model_plan in work.models.items():
        asked = await in_media_thread(_first_requests, plan, work, name)
        served = await store.served([built.key for _, built in asked])
        missing = [(request, built) for request, built in asked if built.key not in served]
        if not missing:
            continue
        note = await _moved_note(name, missing, len(asked), store)
        if note is None:
            if manifests is None:
                manifests = [read_manifest(run.manifest) for run in await store.newest_runs()]
            former = former_ids(model_plan.model, config, manifests)
            note = await _renamed_note(model_plan.model, former, missing, len(asked), config, store)
        if note is not None:
            notes.append(note)
    return notes


def _first_requests(plan: Plan, work: Work, name: str) -> list[tuple[Request, Built]]:
    asked = []
    for unit in islice(work.open_units(name), LOOKED_AT):
        try:
            if unit.case.problem is None:
                request = first_request(plan.benchmark, unit, plan.manifest.structured)
                asked.append((request, build(request, unit.model.model)))
        except Exception:  # noqa: BLE001 - a hint only; when the unit is asked, it will say what is wrong
            continue
    return asked


async def _moved_note(name: str, missing: Asked, n_asked: int, store: Store) -> str | None:
    """Return a sentence where the same requests were answered at another endpoint or wire revision."""
    wanted = [built for _, built in missing]
    here = wanted[0].endpoint, wanted[0].wire_revision  # answered there just now, by another process
    places = await _places(wanted, store)
    del places[here]
    if not places:
        return None
    (endpoint, revision), count = places.most_common(1)[0]
    share = _share(count, n_asked)
    if endpoint != here[0]:
        mend = f"set endpoint = {endpoint!r} for its provider to use those answers"
        return f"{name}: {share}, at endpoint {endpoint!r}; {mend}"
    return (
        f"{name}: {share}, as an older version of the program built them "
        f"(wire revision {revision}, now {here[1]}); they are asked again"
    )


async def _renamed_note(
    model: Model, former: Sequence[FormerId], missing: Asked, n_asked: int, config: Config, store: Store
) -> str | None:
    """Return a sentence where the same requests were answered under a former id, as they would be today."""
    endpoint, revision = missing[0][1].endpoint, missing[0][1].wire_revision
    for one in former:
        renamed = await in_media_thread(_renamed, missing, model, one)
        places = await _places(renamed, store)
        there = max((place for place in places if place[1] == revision), key=places.__getitem__, default=None)
        if there is None:
            continue
        called = "" if one.name == model.name else f" (model {one.name!r} of an earlier run)"
        back = way_back(one, model, config, None if there[0] == endpoint else there[0])
        return (
            f"{model.name}: {_share(places[there], n_asked)}, under the model id {one.id!r}{called}; under "
            f"{model.model!r} they are other requests, asked and paid for again; if it is the same model, "
            f"{back} to use those answers"
        )
    return None


def _renamed(missing: Asked, model: Model, former: FormerId) -> list[Built]:
    """Return the same requests as they are built under a former id."""
    then = model.model_copy(update={"model": former.id})
    return [build(request, then) for request, _ in missing]


async def _places(wanted: Collection[Built], store: Store) -> Counter[tuple[str, int]]:
    """Return at which endpoints and wire revisions such requests were answered, and how many of them."""
    found = await store.twins([built.twin for built in wanted])
    return Counter(place for built in wanted for place in found.get(built.twin, ()))


def _share(count: int, n_asked: int) -> str:
    return f"{count} of its next {n_asked} requests were answered before"
