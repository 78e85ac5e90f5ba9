"""Scores and effort as their JSON has them, made by hand: rows with values, and whatever a test changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.benchmarks.registry import get_benchmark
from harness.benchmarks.scored import MetricColumn, ScoreTable
from harness.report.score_view import ConditionView

Number = float | tuple[float, float, float] | None
"""A value; or a value with the ends of its interval; or none."""

MAIN = "fine.macro_f1"


def metric(number: Number, n: int = 24, **changes: Any) -> dict[str, Any]:
    if isinstance(number, tuple):
        value, *ends = number
        return {"value": value, "n": n, "ci": ends, "reason": None, "ci_method": "bca", **changes}
    reason = "nobody graded it" if number is None else None
    return {"value": number, "n": n, "ci": None, "reason": reason, **changes}


def row(
    model: str,
    values: Mapping[str, Any],
    *,
    kind: str = "model",
    condition: str = "both",
    n: int = 24,
    rank: int | None = None,
    outcomes: Mapping[str, int] | None = None,
    valid: Mapping[str, Any] | None = None,
    **changes: Any,
) -> dict[str, Any]:
    answered = {path: one if isinstance(one, dict) else metric(one, n) for path, one in values.items()}
    only = {path: one if isinstance(one, dict) else metric(one, n) for path, one in (valid or {}).items()}
    counts = {"valid": n} if outcomes is None and kind == "model" else dict(outcomes or {})
    return {
        "model": model,
        "kind": kind,
        "condition": condition,
        "imported": False,
        "served_as": [],
        "rank": rank,
        "rank_reason": None,
        "n_cases": n,
        "n_units": sum(counts.values()) or n,
        "outcomes": counts,
        "incomplete": False,
        "to_complete": 0,
        "coverage": 1.0,
        "not_applicable": [],
        "not_rated": [],
        "as_answered": answered,
        "valid_only": only or answered,
        "without_reformatter": None,
        **changes,
    }


def incomplete(model: str, values: Mapping[str, Any], units: int = 3, **changes: Any) -> dict[str, Any]:
    """Return the row of a model of which some units are nobody's answer."""
    reason = f"incomplete: resume to complete: {units} units"
    outcomes = {"valid": 24 - units, "provider_error": units}
    found = row(model, values, n=24 - units, outcomes=outcomes, **changes)
    return found | {"incomplete": True, "to_complete": units, "rank_reason": reason}


def score(rows: Sequence[Mapping[str, Any]], **changes: Any) -> dict[str, Any]:
    conditions = dict.fromkeys(one["condition"] for one in rows)
    return {
        "benchmark": "triage",
        "run": {"name": "night", "digest": "0f" * 32},
        "parser": {"name": "parser-1", "sha256": "1a" * 32},
        "scorer": {"name": "triage-1", "sha256": "2b" * 32},
        "conventions": {"case_f1_empty": "1", "zero_division": "0"},
        "synthetic": False,
        "simulated": False,
        "imported": False,
        "intervals": {"level": 0.95, "version": 1, "generator": "PCG64", "seed": 20050, "resamples": 2000},
        "repeats": 1,
        "ranked_by": dict.fromkeys(conditions, MAIN),
        "references": {"sha256": "3c" * 32, "corrected": [], "inputs_changed": []},
        "case_errors": {},
        "gaps": [],
        "changed_since_run": {"units": 0, "steps": {}},
        "common_cases": {},
        "rows": list(rows),
        **changes,
    }


def view(
    rows: Sequence[Mapping[str, Any]],
    *,
    printed: Sequence[Any] = (),
    others: Mapping[str, str] | None = None,
    **changes: Any,
) -> ConditionView:
    """Return the rows as one condition of triage."""
    condition = rows[0]["condition"] if rows else "both"
    return ConditionView(
        score(rows, **changes), get_benchmark("triage"), condition, tuple(printed), others or {}
    )


def columns(*paths: str, better: Any = "higher", best: float | None = 1.0) -> tuple[MetricColumn, ...]:
    return tuple(MetricColumn(path, ("", path), better=better, best=best) for path in paths)


def table(*paths: str, unrelated: str | None = None) -> ScoreTable:
    return ScoreTable(("x",), paths[0], columns(*paths), unrelated=unrelated)


def effort_row(model: str, condition: str | None = "both", **changes: Any) -> dict[str, Any]:
    return {
        "model": model,
        "condition": condition,
        "imported": False,
        "units": 20,
        "outcomes": {"valid": 20},
        "stages": {"attempt-1": 15, "attempt-2": 3, "attempt-3": 0, "reformatter": 1},
        "errors": {},
        "attempts": {"1": 15, "2": 4, "3": 1},
        "cached_units": 0,
        "asks": 26,
        "sends": 28,
        "answered": 26,
        "faults": {"rate_limited": 2},
        "input_tokens": 1000,
        "output_tokens": 100,
        "reasoning_tokens": None,
        "cached_tokens": None,
        "tokens_unknown": 0,
        "evidence_cost_usd": 0.5,
        "spent_usd": 0.25,
        "cost_unknown": 0,
        "spent_unknown": 0,
        "known_evidence_usd": 0.5,
        "known_spent_usd": 0.25,
        "latency_s": {"n": 25, "mean": 1.5, "p50": 1.25, "p90": 2.0, "p99": 3.0, "max": 3.5},
        "reformatter": {"asks": 1},
        "answers": {"served_models": []},
        **changes,
    }
