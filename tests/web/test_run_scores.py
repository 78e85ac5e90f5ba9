"""The main metric on a run's page."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest

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
    kept = SimpleNamespace(score=json.dumps(score), depends={})

    [table] = run_scores(cast(Any, stored), cast(Any, kept)).tables

    assert [one.name for one in table.rows] == [
        "delta", "gamma", "epsilon", "alpha", "beta", "rater-a", "alpha-b",
    ]  # fmt: skip
    assert [one.rank for one in table.rows] == [1, 2, 2, 10, None, None, None]


@pytest.mark.parametrize(
    ("asked", "by", "others", "told"),
    [
        (None, "imported", ["verdicts"], None),
        ("imported", "imported", ["verdicts"], None),
        ("imported:bob", "imported", ["imported"], "imported:bob"),
        ("imported:bob", "imported", [], "imported:bob"),
        ("none", "none", ["imported"], "none"),
        ("none", "none", [], None),
    ],
)
def test_a_page_says_whose_grades_somebody_chose_and_shows_the_terminals_digits(
    asked: str | None, by: str, others: list[str], told: str | None
) -> None:
    wide = row("alpha", 1, value=2.05)
    wide["as_answered"][PATH] |= {"ci": [1.0, 2.9], "n": 4}
    grading = {"by": by, "raters": ["bob"], "others": others}
    score = {"rows": [wide], "ranked_by": {"both": PATH}, "conventions": {}, "grading": grading}
    kept = SimpleNamespace(score=json.dumps(score), depends={"grades": asked})
    stored = SimpleNamespace(
        benchmark=get_benchmark("triage"), manifest=SimpleNamespace(conditions=("both",))
    )

    found = run_scores(cast(Any, stored), cast(Any, kept))

    assert found.asked_grades == told
    assert found.people == ("imported, of bob" if by == "imported" else None)
    assert (found.tables[0].rows[0].value, found.tables[0].rows[0].interval) == ("2.050", "1.000-2.900")
