"""The stored request that comes nearest to one that nothing stored answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from harness.cache.neighbours import StoredRequest
from harness.cache.rows import Run
from harness.cache.store import Store
from harness.canonical import JSON
from harness.explaining.components import Difference, Identity, differences, stored_identity
from harness.manifest import read_manifest
from harness.messages import Purpose

MOST_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A stored request, what it differs in, and the run that paid for it."""

    stored: StoredRequest
    differences: tuple[Difference, ...]
    run: str | None

    @property
    def is_elsewhere(self) -> bool:
        """True where only endpoint or wire revision keep its answer from being taken."""
        return all(one.is_place for one in self.differences)

    def to_json(self) -> Mapping[str, JSON]:
        """Return it as `--json` prints it; at most `MOST_SHOWN` differences, and how many there are."""
        return {
            "exchange": self.stored.id,
            "key": self.stored.key,
            "run": self.run,
            "outcome": str(self.stored.outcome),
            "n_differences": len(self.differences),
            "differences": [one.to_json() for one in self.differences[:MOST_SHOWN]],
        }


async def nearest_neighbour(
    store: Store, wanted: Identity, *, key: str, twin: str, purpose: Purpose, case_id: str
) -> Neighbour | None:
    """Return the stored request with the fewest differing components, the newest of equals; None: no store.

    Looked for where it can be: at other endpoints, among what any run asked about this case, among the
    latest requests to this model, then among the latest of this purpose.
    """
    found = [
        *await store.requests_of_twin(twin),
        *await _of_case(store, case_id),
        *await store.recent_requests(purpose, wanted.model),
    ]
    best = _best(wanted, key, purpose, found)
    if best is None:
        best = _best(wanted, key, purpose, await store.recent_requests(purpose))
    if best is None:
        return None
    runs = await store.run_of_session([best[1].session])
    return Neighbour(best[1], best[0], runs.get(best[1].session))


async def _of_case(store: Store, case_id: str) -> list[StoredRequest]:
    runs: list[Run] = sorted(await store.runs(), key=lambda run: run.id, reverse=True)
    models: set[str] = set()
    conditions: set[str] = set()
    for run in runs:
        manifest = read_manifest(run.manifest)
        models |= manifest.models.keys()
        conditions |= manifest.conditions.keys()
    return await store.requests_of_case(runs, models, conditions, case_id)


def _best(
    wanted: Identity, key: str, purpose: Purpose, found: Iterable[StoredRequest]
) -> tuple[tuple[Difference, ...], StoredRequest] | None:
    unlike = {one.id: one for one in found if one.key != key and one.purpose == purpose}
    compared = []
    for one in unlike.values():
        try:
            compared.append((differences(stored_identity(one), wanted), one))
        except ValueError:
            continue  # damaged; `store verify` names it
    return min(compared, key=lambda pair: (len(pair[0]), -pair[1].id), default=None)
