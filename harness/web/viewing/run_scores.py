"""The metric that ranks, from a run's stored scores: nothing is scored for a page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.benchmarks.base import Benchmark
from harness.benchmarks.scored import MetricColumn
from harness.cache.stored_scores import StoredScore
from harness.graded_words import people_told
from harness.offline.stored_run import StoredRun
from harness.phrases import grader, spoken
from harness.report.rounding import shown_to, worded


@dataclass(frozen=True, slots=True)
class MainValue:
    """What a row scores by the metric that ranks, as answered; `rank` None for baselines and raters.

    `incomplete`: units that nobody answered are missing.
    """

    name: str
    kind: str
    value: str | None
    interval: str | None
    n: int
    rank: int | None
    note: str | None


@dataclass(frozen=True, slots=True)
class MainTable:
    """One condition's rows: models by rank, those without one, then raters."""

    condition: str
    metric: str
    path: str
    rows: Sequence[MainValue]


@dataclass(frozen=True, slots=True)
class RunScores:
    """What a run's page says of its scores. `conventions` are those that are not the default ones.

    `asked_grades`: whose grades somebody chose for them (`--grades`), where these may not be those that are
    taken when nobody chooses; None: nobody did.
    """

    tables: Sequence[MainTable]
    conventions: Mapping[str, str]
    grader: str | None
    asked_grades: str | None = None
    people: str | None = None


def run_scores(stored: StoredRun, kept: StoredScore) -> RunScores:
    """Return the main metric of each condition and union of a run, from scores that are current."""
    score: Mapping[str, Any] = json.loads(kept.score)
    tables = []
    for condition, path in score["ranked_by"].items():
        if path is None:
            continue
        rows = [row for row in score["rows"] if row["condition"] == condition and row["kind"] != "baseline"]
        column = _column(stored.benchmark, condition, path)
        values = sorted((_value(row, path, column) for row in rows), key=_place)
        tables.append(MainTable(condition, spoken(column), path, values))
    usual = {name: values[0] for name, values in stored.benchmark.conventions.items()}
    chosen = {name: value for name, value in score["conventions"].items() if usual.get(name) != value}
    grading = score.get("grading")
    people = None
    if grading is not None and grading["by"] == "imported":
        people = people_told(grading, score.get("graded", ()))
    return RunScores(tables, chosen, grader(grading), _asked_grades(kept, grading), people)


def _asked_grades(kept: StoredScore, grading: Mapping[str, Any] | None) -> str | None:
    """Return the `--grades` of scores; None where nobody chose, or chose what is taken anyway."""
    asked = kept.depends.get("grades")
    if grading is None or not isinstance(asked, str):
        return None
    usual = asked == "imported" or (not grading["others"] and not asked.startswith("imported:"))
    return None if usual else asked


def _place(row: MainValue) -> tuple[bool, bool, int]:
    return (row.kind != "model", row.rank is None, row.rank or 0)


def _column(benchmark: Benchmark, condition: str, path: str) -> MetricColumn:
    columns = benchmark.table(condition).columns
    return next((one for one in columns if one.path == path), MetricColumn(path, ("", path)))


def _value(row: Mapping[str, Any], path: str, column: MetricColumn) -> MainValue:
    metric = row["as_answered"].get(path) or {"value": None, "n": 0, "ci": None, "reason": "not computed"}
    value, ends = metric["value"], metric.get("ci")
    texts: tuple[str | None, str | None] = (None, None)
    if value is not None:
        low, high = ends or (None, None)
        # As many digits as in a terminal: whoever compares the two must not wonder which one is right.
        texts = shown_to(value, low, high, column.decimals)
        texts = (worded(value, column) or texts[0], texts[1])
    note = row["rank_reason"] or (metric["reason"] if value is None else None)
    return MainValue(row["model"], row["kind"], texts[0], texts[1] or None, metric["n"], row["rank"], note)
