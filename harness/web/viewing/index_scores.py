"""What a run's stored scores tell of its units, where they are of today's code and of all its answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Final, cast

from harness.benchmarks.registry import chosen_conventions
from harness.cache.store import Store
from harness.cache.stored_scores import StoredScore
from harness.errors import ConfigError
from harness.offline.score_basis import outdated, score_basis
from harness.offline.stored_run import StoredRun
from harness.web.viewing.unit_columns import CODES, stage_code
from harness.web.viewing.unit_index import UnitIndex
from harness.web.viewing.unit_reading import Shown, shown_of

OFF: Final = "off"
"""What a convention says that leaves a metric out."""


async def current_score(store: Store, stored: StoredRun) -> StoredScore | None:
    """Return a run's stored scores, whatever their conventions; None where they are not current.

    Scores against corrected references are not: a page shows the run's own.
    """
    kept = await store.stored_score(stored.run.id)
    if kept is None:
        return None
    wanted = conventions_of(kept)
    grades = cast("str | None", kept.depends.get("grades"))
    try:
        conventions = chosen_conventions(stored.benchmark, wanted)
    except ConfigError:
        return None
    basis = await score_basis(store, stored, conventions=conventions, grades=grades)
    return kept if outdated(kept.depends, basis) is None else None


def conventions_of(score: StoredScore) -> Mapping[str, str]:
    """Return the conventions of stored scores."""
    return cast("Mapping[str, str]", score.depends.get("conventions") or {})


def unusual_conventions(stored: StoredRun, chosen: Mapping[str, str]) -> Mapping[str, str]:
    """Return those of chosen conventions by which a unit may have another value than by default.

    "off" is none of them: it leaves metrics out, and changes none.
    """
    usual = chosen_conventions(stored.benchmark, {})
    return {name: value for name, value in chosen.items() if value not in (usual.get(name), OFF)}


async def read_scores(store: Store, index: UnitIndex) -> AsyncIterator[None]:
    """Put texts, outcomes and numbers of the run's records and scores into its index, some at each step."""
    run_id, layout = index.stored.run.id, index.layout
    models = {name: place for place, name in enumerate(layout.models)}
    conditions = {name: place for place, name in enumerate(layout.conditions)}

    def row_of(model: str, condition: str, case_id: str, repeat: int) -> int | None:
        if model not in models or condition not in conditions:
            return None
        return layout.row_at(models[model], conditions[condition], case_id, repeat)

    shown = {name: shown_of(index.stored, name) for name in layout.conditions}
    async for values in store.unit_values(run_id, _paths(shown)):
        new = index.columns.copy()
        for model, condition, case_id, repeat, metric, value in values:
            row = row_of(model, condition, case_id, repeat)
            if row is None:
                continue
            if metric == shown[condition].right:
                new.put_right(row, value)
            if metric == shown[condition].value:
                new.put_value(row, value, turned=index.lower_is_better)
        index.columns = new
        yield
    async for records in store.record_texts(run_id):
        new = index.columns.copy()
        for model, condition, case_id, repeat, outcome, stage, text in records:
            row = row_of(model, condition, case_id, repeat)
            if row is None or not new.outcome[row]:
                continue
            new.outcome[row], new.stage[row] = CODES[outcome], stage_code(stage)
            new.read[row] = True
            index.texts.set_answer(row, text)
        index.columns = new
        yield


def _paths(shown: Mapping[str, Shown]) -> set[str]:
    return {path for one in shown.values() for path in (one.right, one.value) if path is not None}
