"""The stored request that comes nearest to one that nothing stored answers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from harness.cache.key import media_in
from harness.cache.neighbours import StoredRequest
from harness.cache.rows import UnitId
from harness.cache.store import Store
from harness.canonical import JSON
from harness.explaining.components import Difference, Identity, differences, stored_identity
from harness.manifest import read_manifest
from harness.messages import Purpose

MOST_SHOWN = 12
_TEXTS = frozenset({"message text", "system text", "messages"})


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A stored request, what it differs in, and the run that paid for it."""

    stored: StoredRequest
    differences: tuple[Difference, ...]
    run: str | None
    own: bool = False
    """The unit's own, in the run that is asked about."""

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


@dataclass(frozen=True, slots=True)
class Sought:
    """A request that nothing stored answers, and the unit that needs it.

    `own`: the exchanges linked to this unit in its run. `text_tells`: its text depends on the case, so that
    a request of the same text is one about the same case.
    """

    identity: Identity
    key: str
    twin: str
    purpose: Purpose
    benchmark: str
    unit: UnitId
    own: Collection[int] = ()
    text_tells: bool = True


async def nearest_neighbour(store: Store, sought: Sought) -> Neighbour | None:
    """Return the stored request about the same case with the fewest differing components.

    Of equals the unit's own wins, then the newest. None: nothing that was asked about this case is stored.
    The same case: linked to its id in the same condition, or of the same media, or of the same text.
    Looked for where it can be: at other endpoints, among what any run asked about this case, among the
    latest requests to this model, then among the latest of this purpose.
    """
    linked, others = await _of_case(store, sought)
    same = {one.id for one in linked} | set(sought.own)
    elsewhere = {one.id for one in others} - same
    found = [
        *await store.requests_of_ids(sought.own),
        *await store.requests_of_twin(sought.twin),
        *linked,
        *await store.recent_requests(sought.purpose, sought.identity.model),
    ]
    best = _best(sought, found, same, elsewhere)
    if best is None:
        best = _best(sought, await store.recent_requests(sought.purpose), same, elsewhere)
    if best is None:
        return None
    runs = await store.run_of_session([best[1].session])
    return Neighbour(best[1], best[0], runs.get(best[1].session), own=best[1].id in sought.own)


async def _of_case(store: Store, sought: Sought) -> tuple[list[StoredRequest], list[StoredRequest]]:
    """Return what runs of the benchmark asked about the case: in the unit's condition, and in others."""
    every = sorted(await store.runs(), key=lambda run: run.id, reverse=True)
    runs = [run for run in every if run.benchmark == sought.benchmark]
    models: set[str] = set()
    conditions: set[str] = set()
    for run in runs:
        manifest = read_manifest(run.manifest)
        models |= manifest.models.keys()
        conditions |= manifest.conditions.keys()
    unit = sought.unit
    others = conditions - {unit.condition}
    return (
        await store.requests_of_case(runs, models, {unit.condition}, unit.case_id),
        await store.requests_of_case(runs, models, others, unit.case_id) if others else [],
    )


def _best(
    sought: Sought, found: Iterable[StoredRequest], same: Collection[int], elsewhere: Collection[int]
) -> tuple[tuple[Difference, ...], StoredRequest] | None:
    unlike = {one.id: one for one in found if one.key != sought.key and one.purpose == sought.purpose}
    compared = []
    for one in unlike.values():
        try:
            stored = stored_identity(one)
            told = differences(stored, sought.identity)
        except ValueError:
            continue  # damaged; `store verify` names it
        if one.id in same or (one.id not in elsewhere and _of_same_case(sought, stored, told)):
            compared.append((told, one))
    return min(
        compared, key=lambda pair: (len(pair[0]), pair[1].id not in sought.own, -pair[1].id), default=None
    )


def _of_same_case(sought: Sought, stored: Identity, told: Iterable[Difference]) -> bool:
    """Return whether a request that no link ties to the case is about it all the same."""
    shown = {sha256 for sha256, _, _ in media_in(stored.body)}
    if shown & {sha256 for sha256, _, _ in media_in(sought.identity.body)}:
        return True
    return sought.text_tells and not any(one.component in _TEXTS for one in told)
