"""A run's scores as a report shows them: its conditions, and of each the rows in order and the columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from harness.benchmarks.base import Benchmark
from harness.benchmarks.scored import MetricColumn, ScoreTable
from harness.offline.row_units import ROW_KINDS
from harness.offline.scored_runs import ScoredRun
from harness.report.published import PublishedValue

Json: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class ConditionView:
    """The rows of a condition or union of `Score.to_json()`, with how the benchmark shows them."""

    score: Json
    benchmark: Benchmark
    condition: str
    printed: Sequence[PublishedValue] = ()
    """What the benchmark's paper printed of this condition."""
    others: Mapping[str, str] = field(default_factory=dict)
    """Models that are not the catalogue's of that name -> why: no paper printed anything of them."""

    @cached_property
    def table(self) -> ScoreTable:
        """How the rows are scored and shown."""
        return self.benchmark.table(self.condition)

    @cached_property
    def main_metric(self) -> str | None:
        """The path of the metric that ranks, under the conventions of these scores."""
        found = self.score["ranked_by"].get(self.condition)
        return None if found is None else str(found)

    @cached_property
    def columns(self) -> tuple[MetricColumn, ...]:
        """The columns of which some row has a number, that of the metric that ranks first."""
        order = sorted(self.table.columns, key=lambda column: column.path != self.main_metric)
        return tuple(column for column in order if _is_scored(column, self._rows)) or tuple(order[:1])

    @cached_property
    def rows(self) -> tuple[Json, ...]:
        """All rows as a table has them: models by rank, then by value; raters; baselines."""
        return tuple(row for kind in ROW_KINDS for row in self._of_kind(kind))

    @cached_property
    def models(self) -> tuple[Json, ...]:
        """The rows of models, in order."""
        return tuple(self._of_kind("model"))

    @cached_property
    def baselines(self) -> tuple[Json, ...]:
        """The rows of baselines, in order."""
        return tuple(self._of_kind("baseline"))

    def n(self, row: Json, reading: str = "as_answered") -> int:
        """Return the n of a row: that of its first column, else its cases."""
        found = row[reading].get(self.columns[0].path) if self.columns else None
        return int(row["n_cases"] if found is None else found["n"])

    @cached_property
    def _rows(self) -> tuple[Json, ...]:
        return tuple(row for row in self.score["rows"] if row["condition"] == self.condition)

    def _of_kind(self, kind: str) -> list[Json]:
        rows = [row for row in self._rows if row["kind"] == kind]
        return sorted(rows, key=self._place) if kind == "model" else rows

    def _place(self, row: Json) -> tuple[bool, float, str]:
        """Ranked models by rank, then the others by value, at last those without."""
        if may_rank(row):
            return False, row["rank"], row["model"]
        value = value_of(row, self.columns[0].path) if self.columns else None
        downwards = not self.columns or self.columns[0].better != "lower"
        return True, math.inf if value is None else -value if downwards else value, row["model"]


@dataclass(frozen=True, slots=True)
class RunView:
    """A scored run with the views of its conditions and unions."""

    scored: ScoredRun
    views: Sequence[ConditionView]

    @property
    def name(self) -> str:
        """The run's name."""
        return str(self.scored.score["run"]["name"])

    @property
    def shown(self) -> Sequence[ConditionView]:
        """The conditions and unions that have a section of their own."""
        return [view for view in self.views if view.table.columns and not self._is_inside(view)]

    @property
    def inside(self) -> Sequence[ConditionView]:
        """The conditions whose rows a union of the run shows together."""
        return [view for view in self.views if view.table.columns and self._is_inside(view)]

    def _is_inside(self, view: ConditionView) -> bool:
        return view.table.shown_in in {one.condition for one in self.views}


def conditions_of(score: Json) -> Sequence[str]:
    """Return the conditions and unions that a score has rows of, in their order."""
    return list(dict.fromkeys(row["condition"] for row in score["rows"]))


def may_rank(row: Json) -> bool:
    """Tell whether a row has a rank to show: an incomplete one never has."""
    return row["rank"] is not None and not row["incomplete"]


def row_name(row: Json) -> str:
    """Return how a row is called, the same in tables and figures."""
    return f"{row['model']} (imported)" if row["imported"] else str(row["model"])


def value_of(row: Json, path: str, reading: str = "as_answered") -> float | None:
    """Return a row's value of a metric path; None where it has none."""
    found = row[reading].get(path)
    value = None if found is None else found["value"]
    return None if value is None else float(value)


def metrics_of(rows: Sequence[Json], path: str) -> Iterator[tuple[Json, Json]]:
    """Yield each row that has a value of a metric, with that metric, as answered."""
    for row in rows:
        found = row["as_answered"].get(path)
        if found is not None and found["value"] is not None:
            yield row, found


def _is_scored(column: MetricColumn, rows: Sequence[Json]) -> bool:
    found = [metric for row in rows if (metric := row["as_answered"].get(column.path)) is not None]
    return any(metric["value"] is not None for metric in found) if column.optional else bool(found)
