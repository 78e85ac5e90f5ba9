"""The scores of a run as data and as JSON: no clock and no path, so that a replay is byte-identical."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from harness.benchmarks.scored import MetricValue
from harness.cache.rows import UnitId
from harness.canonical import JSON
from harness.offline.code_digest import parser_digest, scorer_digest
from harness.offline.references import References
from harness.offline.replay import ReplayedUnit
from harness.offline.score_ranking import Rank, rank_models, ranked_values
from harness.offline.score_rows import Row
from harness.offline.stored_run import StoredRun
from harness.outcomes import UnitOutcome
from harness.scoring.intervals import LEVEL, VERSION
from harness.scoring.resampling import Resampling
from harness.served_models import ServedAs, served_as, together

PARSER = "parser-1"
"""Name of the way in which answers are read; its digest says exactly which code."""


@dataclass(slots=True)
class Changes:
    """What the replay found on its way: units read differently than in the run, and gaps."""

    units: int = 0
    steps: dict[str, int] = field(default_factory=dict)
    gaps: list[UnitId] = field(default_factory=list)

    def note(self, replayed: ReplayedUnit) -> None:
        """Count one unit."""
        if replayed.result.outcome is UnitOutcome.GAP:
            self.gaps.append(replayed.unit)
        if replayed.changed and replayed.state is not None:
            self.units += 1
            step = f"{replayed.state.outcome} -> {replayed.result.outcome}"
            self.steps[step] = self.steps.get(step, 0) + 1


@dataclass(frozen=True, slots=True)
class CommonCases:
    """The main metric on the cases that all complete models share, where these differ."""

    n_cases: int
    values: dict[str, MetricValue]


@dataclass(frozen=True, slots=True)
class Score:
    """All rows of a run, with everything that they depend on."""

    stored: StoredRun
    references: References
    conventions: Mapping[str, str]
    rows: tuple[Row, ...]
    ranked_by: Mapping[str, str | None]
    """Condition or union -> the metric that ranks its rows, under these conventions."""
    case_errors: Mapping[str, tuple[str, ...]]
    common: Mapping[str, CommonCases]
    changes: Changes
    answers_changed: int = 0
    """Of a step: answers that it was shown and that are others now (see `harness.offline.new_answers`)."""
    grading: Mapping[str, JSON] | None = None
    """Whose grades entered the numbers (see `harness.offline.chosen_grades`); None: it uses none."""
    agreement: Mapping[str, JSON] | None = None
    """Of a step whose units people graded too (see `harness.offline.graded_units`), or of the people who
    graded a run (see `harness.offline.people_agreement`)."""

    graded: Sequence[JSON] = ()
    """How far people have graded what the numbers rest on, by task (see `offline.grading_progress`)."""

    def to_json(self) -> dict[str, JSON]:
        """Return the scores as they are printed and compared: no clock, no path, the same on every replay."""
        manifest, run = self.stored.manifest, self.stored.run
        return {
            "benchmark": manifest.benchmark,
            "run": {"name": run.name, "digest": run.digest},
            **self._step_json(),
            "parser": {"name": PARSER, "sha256": parser_digest(manifest.benchmark)},
            "scorer": {"name": self.stored.benchmark.scorer, "sha256": scorer_digest(manifest.benchmark)},
            "conventions": dict(sorted(self.conventions.items())),
            "synthetic": manifest.synthetic or self.references.cases.synthetic,
            "simulated": manifest.simulated,
            "imported": manifest.imported or (manifest.step is not None and manifest.step.imported),
            "intervals": {"level": LEVEL, "version": VERSION, **Resampling().described()},
            "repeats": manifest.repeats,
            **({} if self.grading is None else {"grading": self.grading}),
            **({"graded": list(self.graded)} if self.graded else {}),
            **({} if self.agreement is None else {"agreement": self.agreement}),
            "ranked_by": dict(self.ranked_by),
            "references": {
                "sha256": self.references.sha256,
                "corrected": list(self.references.corrected),
                "inputs_changed": list(self.references.inputs_changed),
            },
            "case_errors": {name: list(cases) for name, cases in self.case_errors.items() if cases},
            "gaps": [_unit_json(unit) for unit in sorted(self.changes.gaps)],
            "changed_since_run": {
                "units": self.changes.units, "steps": dict(sorted(self.changes.steps.items()))
            },
            "common_cases": {
                name: self._common_json(name, common) for name, common in self.common.items()
            },
            "rows": [
                row_json(row, rank, imported=self._is_imported(row), served=self._served_as(row))
                for row, rank in self._ranked()
            ],
        }

    def _step_json(self) -> dict[str, JSON]:
        """Return what a step followed and who was asked; nothing for any other run."""
        step = self.stored.manifest.step
        if step is None:
            return {}
        (model,) = self.stored.manifest.models
        return {
            "step": {
                "kind": step.kind,
                "model": model,
                "source": step.source,
                "not_shown": [asdict(one) for one in step.not_shown],
                "answers_changed": self.answers_changed,
            },
        }

    def served_as(self) -> list[dict[str, Any]]:
        """Return who answered for each model and reformatter, over all conditions."""
        return together(self._served_as(row) for row in self.rows)

    def _served_as(self, row: Row) -> ServedAs:
        if row.kind != "model":
            return []
        return served_as(self.stored.manifest, self._asked(row), row.served)

    def _asked(self, row: Row) -> str:
        """Return the model that a row's units asked: a step's rows are named by whom they are about."""
        manifest = self.stored.manifest
        return row.name if manifest.step is None else next(iter(manifest.models))

    def _is_imported(self, row: Row) -> bool:
        return row.kind == "model" and self.stored.manifest.models[self._asked(row)].imported

    def _ranked(self) -> Sequence[tuple[Row, Rank | None]]:
        ranks = {
            condition: rank_models([row for row in self.rows if row.condition == condition], metric)
            for condition, metric in self.ranked_by.items()
        }
        return [
            (row, ranks[row.condition][row.name] if row.kind == "model" else None) for row in self.rows
        ]

    def _common_json(self, condition: str, common: CommonCases) -> JSON:
        ranks = ranked_values(common.values)
        rows = [
            {"model": name, "value": metric.value, "n": metric.n, "rank": ranks[name].place}
            for name, metric in sorted(common.values.items())
        ]
        metric = self.ranked_by[condition]
        return {"metric": metric, "n_cases": common.n_cases, "rows": rows}


def row_json(row: Row, rank: Rank | None, *, imported: bool = False, served: Sequence[JSON] = ()) -> JSON:
    """Return one row as the scores have it; only models have a rank. `imported`: read from files.

    `served`: who answered (`harness.served_models.served_as`).
    """
    return {
        "model": row.name,
        "kind": row.kind,
        "condition": row.condition,
        "imported": imported,
        "served_as": list(served),
        "rank": None if rank is None else rank.place,
        "rank_reason": _rank_reason(row, rank, imported=imported),
        "n_cases": row.n_cases,
        "n_units": row.n_units,
        "outcomes": row.outcomes,
        "incomplete": row.incomplete,
        "to_complete": row.to_complete,
        "coverage": row.coverage,
        "not_applicable": list(row.not_applicable),
        "not_rated": list(row.not_rated),
        "as_answered": {path: metric.to_json() for path, metric in row.as_answered.items()},
        "valid_only": {path: metric.to_json() for path, metric in row.valid_only.items()},
        "without_reformatter": None
        if row.without_reformatter is None
        else {path: metric.to_json() for path, metric in row.without_reformatter.items()},
    }


def _rank_reason(row: Row, rank: Rank | None, *, imported: bool) -> str | None:
    if imported and row.incomplete:  # nobody can be asked for the rest
        return f"incomplete: the files hold no answer for {row.to_complete} units"
    return None if rank is None else rank.reason


def _unit_json(unit: UnitId) -> JSON:
    return {
        "model": unit.model, "condition": unit.condition, "case_id": unit.case_id, "repeat": unit.repeat
    }
