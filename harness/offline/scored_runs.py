"""The scores of a run with the numbers of its units: as stored, or made anew where they are out of date."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from harness.benchmarks.base import Case, CaseSet
from harness.benchmarks.registry import chosen_conventions
from harness.cache.rows import Run
from harness.cache.store import Store
from harness.cache.stored_scores import PackedUnits, StoredScore, UnitsKey
from harness.canonical import digest
from harness.offline.kept_score import KeptScore
from harness.offline.kept_units import RowNumbers, unpack_clusters, unpack_units
from harness.offline.model_units import scored_together
from harness.offline.references import References, correct_references
from harness.offline.row_units import RowKey, RowKind
from harness.offline.score import score_stored
from harness.offline.score_basis import outdated, score_basis
from harness.offline.stored_run import StoredRun, load_run

Json: TypeAlias = Mapping[str, Any]


class ScoredRun:
    """A run with its scores, as they were stored or as they have just been made: it does not matter which.

    `score` is `Score.to_json()`; `effort` what its answers took (see `harness.offline.effort.Effort`); `rows`
    all whose units are kept, in the order of the scores: models, raters, and baselines of one answer, in
    conditions and unions. `references` is what answers were compared with: the run's own, or corrected ones.
    `made` is True where nothing stored was current, so that the run was scored for it.
    """

    def __init__(
        self,
        stored: StoredRun,
        references: References,
        score: StoredScore,
        rows: Sequence[RowKey],
        source: _Units,
        *,
        made: bool,
    ) -> None:
        self.stored = stored
        self.references = references
        self.score: Json = json.loads(score.score)
        self.effort: Json = json.loads(score.effort)
        self.rows = tuple(rows)
        self.made = made
        self._clusters = unpack_clusters(score.clusters)
        self._source = source
        self._together = scored_together(stored)

    async def numbers(self, row: RowKey) -> RowNumbers:
        """Return the units of a row, read now: hold as few at a time as you can.

        Raises KeyError for a row that is not kept; StoreError where the run was scored again since, or what
        is stored is damaged.
        """
        packed = await self._source.row(row)
        return unpack_units(packed, self._clusters, self._together.get(row.condition, (row.condition,)))

    def case_digests(self) -> Sequence[str]:
        """Return the digest of each case's content, by its place in `stored.case_index`.

        Equal for cases with equal fields, media (by the digests of their files), as the run keeps them, and
        reference, as they are scored, whatever their ids. Each case is decoded for it.
        """
        index = self.references.index
        return [case_digest(index.case(place)) for place in range(len(index))]


def case_digest(case: Case) -> str:
    """Return the digest of a case's content, its id and strata apart."""
    media = {role: [one.sha256 for one in found] for role, found in case.media.items() if found}
    return digest({"fields": dict(case.fields), "media": media, "reference": case.reference})


async def scored_run(
    store: Store,
    run: Run,
    *,
    conventions: Mapping[str, str] | None = None,
    grades: str | None = None,
    corrected: CaseSet | None = None,
    tell: Callable[[str], None] | None = None,
) -> ScoredRun:
    """Return a run's scores: stored ones if nothing that they depend on changed.

    They are against the run's own references, or against those of `corrected` where inputs agree; `tell` gets
    a line each for the cases that were corrected and those that could not be. Where nothing stored is
    current, the run is scored first, and what that gives is stored, unless the store is read-only; `tell`
    gets one line that says so and why. What scores depend on: see `score_basis`. Raises ConfigError and
    StoreError as `score_run` does.
    """
    loaded = await load_run(store, run)
    references = correct_references(loaded.cases, loaded.case_index, corrected)
    if tell is not None and corrected is not None:
        for line in references.told():
            tell(f"run {run.name!r}: {line}")
    chosen = chosen_conventions(loaded.benchmark, conventions or {})
    basis = await score_basis(
        store, loaded, conventions=chosen, grades=grades, corrected=None if corrected is None else references
    )
    kept = await store.stored_score(run.id)
    why = "it has no stored scores" if kept is None else outdated(kept.depends, basis)
    if kept is not None and why is None:
        rows = [RowKey(cast(RowKind, key.kind), key.name, key.condition) for key in kept.rows]
        units = _StoredUnits(store, run.id, kept.scoring)
        return ScoredRun(loaded, references, kept, rows, units, made=False)
    if tell is not None:
        cannot = "; the store can only be read, so they are not kept" if store.read_only else ""
        tell(f"scoring run {run.name!r} first: {why}{cannot}")
    made = await score_stored(store, loaded, conventions=chosen, corrected=corrected, grades=grades)
    return ScoredRun(loaded, references, made.stored(""), made.rows, _MadeUnits(made), made=True)


class _StoredUnits:
    """Units from the store, of one scoring and no other."""

    def __init__(self, store: Store, run_id: int, scoring: str) -> None:
        self._store = store
        self._run_id = run_id
        self._scoring = scoring

    async def row(self, key: RowKey) -> PackedUnits:
        found = await self._store.row_units(self._run_id, self._scoring, UnitsKey(*key))
        if found is None:
            raise KeyError(key)
        return found


class _MadeUnits:
    """Units that were kept while the run was scored."""

    def __init__(self, made: KeptScore) -> None:
        self._units = made.units

    async def row(self, key: RowKey) -> PackedUnits:
        return self._units.row(key)


_Units: TypeAlias = _StoredUnits | _MadeUnits
