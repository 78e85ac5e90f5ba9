"""A run as its store remembers it: the manifest, its snapshots, and the settings of its sessions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, cast

from harness.asked_cases import AskedCases, asked_cases
from harness.benchmarks.base import Benchmark, CaseSet
from harness.benchmarks.registry import get_benchmark
from harness.cache.rows import Run, Session
from harness.cache.store import Store
from harness.canonical import JSON
from harness.errors import StoreError
from harness.manifest import BlobRef, Manifest, read_manifest
from harness.offline.case_index import CaseIndex
from harness.offline.stored_cases import stored_cases
from harness.settings import Model, Price, Provider


@dataclass(frozen=True, slots=True)
class StoredRun:
    """Everything that a run's units are read with; nothing of it comes from today's files.

    `models` and `session_models` include the reformatters: the first as the latest session that knew
    them had them, the second by the session.
    """

    run: Run
    manifest: Manifest
    benchmark: Benchmark
    cases: CaseSet
    blobs: Mapping[str, bytes]
    models: Mapping[str, Model]
    session_models: Mapping[int, Mapping[str, Model]]
    case_index: CaseIndex
    """The same cases by id."""
    asked: AskedCases
    """Of which cases each condition is asked, in the order of `cases`."""
    sessions: tuple[Session, ...] = ()
    """Who worked on it, oldest first."""

    def schema_body(self, ref: BlobRef | None) -> Mapping[str, JSON] | None:
        """Return the body of a schema that the run keeps; None for free text."""
        return None if ref is None else cast("Mapping[str, JSON]", json.loads(self.blobs[ref.sha256]))

    def price(self, model: str, session: int) -> Price:
        """Return a model's prices as the session had them, else those of the latest one that knew it."""
        known = self.session_models.get(session, {}).get(model) or self.models.get(model)
        return Price() if known is None else known.price

    def provider(self, model: str) -> Provider:
        """Return the reading options of a model or reformatter. Raises StoreError if none are kept."""
        known = self.models.get(model)
        if known is None:
            raise StoreError(
                f"no session of run {self.run.name!r} keeps the settings of model {model!r};"
                " restore the store from a copy"
            )
        return known.provider

    def places(self, condition: str) -> Iterator[int]:
        """Yield the places in `case_index` of the cases that a condition is asked of, in their order."""
        flags = self.asked.get(condition)
        yield from self.case_index if flags is None else compress(self.case_index, flags)

    @property
    def conditions(self) -> Sequence[str]:
        """The run's conditions in the benchmark's order."""
        order = {name: place for place, name in enumerate(self.benchmark.conditions)}
        return sorted(self.manifest.conditions, key=lambda name: (order.get(name, len(order)), name))


async def load_run(store: Store, run: Run) -> StoredRun:
    """Read a run's manifest and snapshots. Raises StoreError when a snapshot is missing or damaged."""
    manifest = read_manifest(run.manifest)
    sessions = await store.sessions(run.id)
    session_models = {session.id: models_of(session) for session in sessions}
    models: dict[str, Model] = {}
    for session in sorted(sessions, key=lambda one: one.id):
        models |= session_models[session.id]
    blobs = await store.get_blobs([ref.sha256 for ref in _refs(manifest)])
    benchmark = get_benchmark(manifest.benchmark)
    cases = stored_cases(await store.blob_pieces(manifest.cases.sha256))
    return StoredRun(
        run=run,
        manifest=manifest,
        benchmark=benchmark,
        cases=cases,
        blobs=blobs,
        models=models,
        session_models=session_models,
        case_index=CaseIndex(cases.cases),
        asked=asked_cases(benchmark, cases.cases, manifest.conditions),
        sessions=sessions,
    )


def models_of(session: Session) -> Mapping[str, Model]:
    """Return the models as a session had them, its reformatters among them, with their prices."""
    found = cast("Mapping[str, Any]", session.info.get("models") or {})
    return {name: Model.model_validate(settings) for name, settings in found.items()}


def _refs(manifest: Manifest) -> Sequence[BlobRef]:
    conditions = [*manifest.conditions.values()]
    if manifest.reformat is not None:
        conditions += manifest.reformat.conditions.values()
    return [ref for one in conditions for ref in (one.prompt, one.schema) if ref is not None]
