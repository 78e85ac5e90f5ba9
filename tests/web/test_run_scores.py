"""The main metric on a run's page."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

from harness.benchmarks.registry import get_benchmark
from harness.web.viewing.run_scores import run_scores

PATH = "fine.macro_f1"


def row(model: str, rank: int | None, kind: str = "model", value: float = 0.5) -> dict[str, Any]:
    return {
        "model": model,
        "condition": "both",
        "kind": kind,
        "rank": rank,
        "rank_reason": None if rank or kind != "model" else "units are missing",
        "as_answered": {PATH: {"value": value, "n": 24, "ci": None}},
    }


def test_models_stand_by_rank_then_those_without_one_then_raters() -> None:
    rows = [
        row("rater-a", None, "rater", 0.9),
        row("alpha", 10),
        row("beta", None),
        row("gamma", 2),
        row("delta", 1),
        row("nothing", None, "baseline"),
        row("epsilon", 2),
        row("alpha-b", None, "rater"),
    ]
    score = {"rows": rows, "ranked_by": {"both": PATH, "opg": None}, "conventions": {}}
    stored = SimpleNamespace(
        benchmark=get_benchmark("triage"), manifest=SimpleNamespace(conditions=("both", "opg"))
    )

    [table] = run_scores(cast(Any, stored), cast(Any, SimpleNamespace(score=json.dumps(score)))).tables

    assert [one.name for one in table.rows] == [
        "delta", "gamma", "epsilon", "alpha", "beta", "rater-a", "alpha-b",
    ]  # fmt: skip
    assert [one.rank for one in table.rows] == [1, 2, 2, 10, None, None, None]
