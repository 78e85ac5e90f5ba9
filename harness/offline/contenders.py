"""Rows of stored scores as contenders of a comparison: their units, their cases, and how they were asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from harness.benchmarks.scored import UnitTable
from harness.benchmarks.steps import unit_of_id
from harness.canonical import canonical_json
from harness.comparison.contenders import Contender, Provenance, RunCases
from harness.errors import UnknownNameError
from harness.graded_words import row_told
from harness.manifest import ConditionWanted, Manifest, ModelWanted
from harness.nearest import nearest_of
from harness.offline.kept_units import RowNumbers
from harness.offline.model_units import scored_together
from harness.offline.row_units import OUTCOMES, RowKey
from harness.offline.scored_runs import ScoredRun
from harness.outcomes import USABLE
from harness.phrases import count, grader
from harness.served_models import served_notes

Json: TypeAlias = Mapping[str, Any]

_USABLE: Final = [code for code, outcome in enumerate(OUTCOMES) if outcome in USABLE]
_DIGITS: Final = 12
_LONGEST_PARAMETERS: Final = 120


def run_cases(scored: ScoredRun, *, alone: bool) -> RunCases:
    """Return the cases of a run, to be shared by its contenders; `alone`: no other run is compared with it.

    The cases of a step are answers of the run that it follows: they are known here by the case that they
    are about, so that what is said of two models' answers is paired.
    """
    stored = scored.stored
    index, step = stored.case_index, stored.manifest.step
    ids = [index.id(place) for place in range(len(index))]
    if step is not None:
        # Two steps over one run are about the same answers' cases; over two runs, nobody knows.
        return RunCases(stored.run.name, [_case_of(id) for id in ids], [step.source] * len(ids))
    return RunCases(stored.run.name, ids, [""] * len(ids) if alone else scored.case_digests())


def _no_such_row(scored: ScoredRun, key: RowKey) -> UnknownNameError:
    run = scored.stored.run.name
    here = f"run {run!r} has no {key.kind} {key.name!r} to compare in condition {key.condition!r}"
    if key.kind == "baseline" and _is_scored(scored.score, key):
        here += ": it is computed as a whole, so that no case has an answer of it"
    known = [row.name for row in scored.rows if (row.kind, row.condition) == (key.kind, key.condition)]
    return UnknownNameError(f"{here}{nearest_of(key.name, known)}")


async def contender(scored: ScoredRun, key: RowKey, cases: RunCases, label: str) -> Contender:
    """Return a row of a run as a contender. Raises UnknownNameError for a row without units of its own."""
    if key not in scored.rows:
        raise _no_such_row(scored, key)
    row = row_of(scored.score, key)
    numbers = await scored.numbers(key)
    manifest = scored.stored.manifest
    if key.kind != "model" and manifest.repeats > 1:
        numbers = _in_every_repeat(numbers, manifest.repeats)
    wanted = _wanted(scored, key, numbers)
    return Contender(
        label=label,
        name=key.name,
        kind=key.kind,
        run=scored.stored.run.name,
        run_digest=scored.stored.run.digest,
        cases=cases,
        units=numbers.units,
        usable=np.isin(numbers.outcomes, _USABLE),
        wanted=wanted,
        repeats=manifest.repeats,
        absent=dict(_absent(scored, key, row)),
        to_complete=row["to_complete"],
        provenance=_provenance(scored, key, row),
    )


def _is_scored(score: Json, key: RowKey) -> bool:
    return any((row["kind"], row["model"], row["condition"]) == key for row in score["rows"])


def row_of(score: Json, key: RowKey) -> Json:
    """Return the row of the scores that a key names."""
    return next(
        row
        for row in score["rows"]
        if (row["kind"], row["model"], row["condition"]) == (key.kind, key.name, key.condition)
    )


def complete_models(scored: ScoredRun, condition: str) -> tuple[list[str], list[str]]:
    """Return a run's models that can be compared without being asked for, and why the others cannot."""
    names, others = [], []
    for row in scored.score["rows"]:
        if row["kind"] != "model" or row["condition"] != condition:
            continue
        if row["incomplete"]:
            units = count(row["to_complete"], "unit")
            others.append(f"{row['model']} of run {scored.stored.run.name} (incomplete: {units})")
        elif not row["n_cases"]:
            others.append(f"{row['model']} of run {scored.stored.run.name} (no case is applicable to it)")
        else:
            names.append(row["model"])
    return names, others


def _case_of(step_case: str) -> str:
    unit = unit_of_id(step_case)
    if unit is None:
        return step_case
    return unit.case_id if unit.repeat == 1 else f"{unit.case_id} (repeat {unit.repeat})"


def _in_every_repeat(numbers: RowNumbers, repeats: int) -> RowNumbers:
    """Return the units of a rater or a baseline, who answers once, beside each repeat of the models."""
    units = numbers.units
    return RowNumbers(
        UnitTable(
            np.concatenate([units.numbers] * repeats),
            np.tile(units.cases, repeats),
            np.tile(units.clusters, repeats),
            np.repeat(np.arange(1, repeats + 1, dtype=np.int32), len(units)),
            np.tile(units.members, repeats),
            units.conditions,
        ),
        np.tile(numbers.outcomes, repeats),
    )


def _wanted(scored: ScoredRun, key: RowKey, numbers: RowNumbers) -> Sequence[int]:
    """Return the places of the cases that the row's condition, or any condition of its union, asks."""
    members = scored_together(scored.stored).get(key.condition)
    if members is None:  # whom a step is about: the cases are those of its subject
        index, found = scored.stored.case_index, set(np.unique(numbers.units.cases).tolist())
        for place in range(len(index)):
            unit = unit_of_id(index.id(place))
            if unit is not None and (unit.model, unit.condition) == (key.name, key.condition):
                found.add(place)
        return sorted(found)
    return sorted({place for member in members for place in scored.stored.places(member)})


def _absent(scored: ScoredRun, key: RowKey, row: Json) -> Iterator[tuple[int, str]]:
    index = scored.stored.case_index
    members = scored_together(scored.stored).get(key.condition, (key.condition,))
    for member in members:
        for case in scored.score["case_errors"].get(member, ()):
            yield index.place(case), "no model could be sent the case (case_error)"
    for name, why in (("not_applicable", "not applicable to this model"), ("not_rated", "not rated")):
        for case in row[name]:
            yield index.place(case), why


def _provenance(scored: ScoredRun, key: RowKey, row: Json) -> Provenance:
    score, manifest = scored.score, scored.stored.manifest
    grading = score.get("grading")
    notes = [*served_notes(row["served_as"])]
    if key.kind == "model":
        for task in score.get("graded", ()):
            notes += row_told(task, key.name, key.condition)
    about = scored.stored.benchmark.table(key.condition).baseline_notes.get(key.name)
    if key.kind == "baseline" and about is not None:
        notes.append(about)
    is_model = key.kind == "model"
    asked = manifest.models.get(key.name) if manifest.step is None else next(iter(manifest.models.values()))
    members = scored_together(scored.stored).get(key.condition, tuple(manifest.conditions))
    return Provenance(
        synthetic=score["synthetic"],
        simulated=score["simulated"],
        imported=row["imported"],
        graded_by=grader(grading),
        settings=_settings(manifest, members, asked, grading) if is_model and asked is not None else {},
        parameters=_parameters(asked) if is_model and asked is not None else "",
        notes=notes,
    )


def _settings(
    manifest: Manifest, members: Sequence[str], model: ModelWanted, grading: Json | None
) -> dict[str, str]:
    conditions = [manifest.conditions[member] for member in members if member in manifest.conditions]
    found = {
        "prompt": ", ".join(_prompt(one) for one in conditions),
        "schema": ", ".join(_schema(one) for one in conditions),
        "structured": manifest.structured,
        "attempts": str(manifest.attempts),
        "reask": manifest.reask,
        "reformatter": model.reformatter or "none",
    }
    if manifest.step is not None:
        found["model of the step"] = next(iter(manifest.models))
    if grading is not None:
        raters = ", ".join(grading["raters"])
        found["grades"] = f"{grading['by']}: {raters}" if raters else str(grading["by"])
    return found


def _prompt(condition: ConditionWanted) -> str:
    return f"{condition.prompt.id} ({condition.prompt.sha256[:_DIGITS]})"


def _schema(condition: ConditionWanted) -> str:
    schema = condition.schema
    return "none" if schema is None else f"{schema.id} ({schema.sha256[:_DIGITS]})"


def _parameters(model: ModelWanted) -> str:
    """Return what a model was asked with, as a reader sees where two runs differ in it."""
    said = [
        f"{model.endpoint}/{model.model}",
        *(f"{name}={canonical_json(value).decode('ascii')}" for name, value in sorted(model.params.items())),
        *(f"without {name}" for name in sorted(model.dropped_params)),
    ]
    if model.image_recipe != "original":
        said.append(f"images {model.image_recipe}")
    text = ", ".join(said)
    return text if len(text) <= _LONGEST_PARAMETERS else f"{text[:_LONGEST_PARAMETERS]}..."
