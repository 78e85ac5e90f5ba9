"""Contenders by hand, and a small benchmark to compare them by: values of cases, their means, one ratio."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from harness.benchmarks.base import Benchmark
from harness.benchmarks.scored import MetricColumn, MetricValue, ScoreTable, UnitTable
from harness.benchmarks.task import Task
from harness.comparison.contenders import Contender, Provenance, RunCases
from harness.scoring.replicates import Statistic, Units

UNGRADED = -1.0


class Marks(Task):
    """A unit has two numbers, `mark` and `weight`; a mark of -1 is one that nobody gave yet.

    `mean`: of the marks; `right`: share of marks of 1 or more; `ratio`: sum of marks over sum of weights,
    which no case has by itself; `errors`: mean of 1 - mark, the less the better, and `plain` in no column.
    """

    name = "marks"

    def table(self, condition: str) -> ScoreTable:
        return ScoreTable(
            numbers=("mark", "weight"),
            main_metric=None if condition == "prose" else "mean",
            columns=(
                MetricColumn("mean", ("", "mean")),
                MetricColumn("right", ("all", "right")),
                MetricColumn("ratio", ("", "ratio")),
                MetricColumn("errors", ("", "err"), better="lower", best=0.0),
            ),
            wilcoxon=frozenset({"mean"}),
        )

    def sums(
        self, units: UnitTable, condition: str, conventions: Mapping[str, str]
    ) -> tuple[Units, Statistic] | None:
        if condition == "talk":
            return None
        marks, weights = units.numbers.T
        missing = marks == UNGRADED
        columns = [np.where(missing, 0, marks), marks >= 1, weights, np.ones(len(marks)), missing]
        return Units.of(np.stack(columns, axis=1), units.clusters, units.repeats), _values

    def metrics(
        self, units: UnitTable, condition: str, conventions: Mapping[str, str]
    ) -> Mapping[str, MetricValue]:
        marks, weights = units.numbers.T
        missing, n = int((marks == UNGRADED).sum()), len(marks)
        reason = f"{missing} of {n} answers have no grade" if missing else None
        values = {
            "mean": marks.mean(), "right": (marks >= 1).mean(), "ratio": marks.sum() / weights.sum(),
            "errors": (1 - marks).mean(), "plain": marks.mean(),
        }  # fmt: skip
        return {
            path: MetricValue(None if reason else float(value), n, reason) for path, value in values.items()
        }

    def score_unit(
        self, numbers: Sequence[float], condition: str, conventions: Mapping[str, str]
    ) -> Mapping[str, float | None]:
        mark, _ = numbers
        if mark == UNGRADED:
            return {"mean": None, "right": None, "errors": None}
        return {"mean": mark, "right": float(mark >= 1), "errors": 1 - mark}


def _values(sums: Any) -> Mapping[str, Any]:
    marks, right, weights, n, missing = np.moveaxis(sums, -1, 0)
    mean = np.where(missing > 0, np.nan, marks / n)
    return {"mean": mean, "right": right / n, "ratio": marks / weights, "errors": 1 - mean, "plain": mean}


MARKS = cast(Benchmark, Marks())


def run_cases(ids: Sequence[str], run: str = "night", content: str = "") -> RunCases:
    return RunCases(run, tuple(ids), tuple(f"{id}{content}" for id in ids))


def ids_of(n: int) -> list[str]:
    return [f"c{number:04}" for number in range(n)]


def contender(
    label: str,
    marks: Sequence[float] | Sequence[Sequence[float]] | np.ndarray[Any, Any],
    *,
    cases: RunCases | None = None,
    places: Sequence[int] | None = None,
    groups: Sequence[int] | None = None,
    weights: Sequence[float] | None = None,
    usable: Sequence[bool] | None = None,
    **changes: Any,
) -> Contender:
    """Return a contender with a mark for each of the cases (by `places`), or a list of marks by repeat."""
    table = np.atleast_2d(np.asarray(marks, dtype=np.float64).T).T  # (cases, repeats)
    n, repeats = table.shape
    known = cases or run_cases(ids_of(n))
    where = np.repeat(np.arange(n) if places is None else np.asarray(places), repeats)
    clusters = where if groups is None else np.asarray(groups)[where]
    weight = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    units = UnitTable(
        np.stack([table.reshape(-1), np.repeat(weight, repeats)], axis=1),
        where.astype(np.int64),
        np.asarray(clusters, dtype=np.int64),
        np.tile(np.arange(1, repeats + 1, dtype=np.int32), n),
        np.zeros(n * repeats, dtype=np.int32),
        ("main",),
    )
    whole: dict[str, Any] = {
        "label": label,
        "name": label,
        "kind": "model",
        "run": known.run,
        "run_digest": "ab" * 32,
        "cases": known,
        "units": units,
        "usable": np.ones(n * repeats, dtype=np.bool_) if usable is None else np.repeat(usable, repeats),
        "wanted": range(len(known.ids)),
        "repeats": repeats,
        "provenance": Provenance(),
    }
    return Contender(**(whole | changes))
