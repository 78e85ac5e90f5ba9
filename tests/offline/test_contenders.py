"""Rows of runs as contenders: the cases of a step are those that its answers are about."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from stored_run_builder import case

from harness.benchmarks.steps import id_of_unit
from harness.cache.rows import UnitId
from harness.offline.case_index import CaseIndex
from harness.offline.contenders import run_cases
from harness.offline.scored_runs import ScoredRun


def scored(ids: list[str], source: str | None) -> ScoredRun:
    stored = SimpleNamespace(
        case_index=CaseIndex([case(id) for id in ids]),
        manifest=SimpleNamespace(step=None if source is None else SimpleNamespace(source=source)),
        run=SimpleNamespace(name="night"),
    )
    return cast(ScoredRun, SimpleNamespace(stored=stored, case_digests=lambda: [f"of {id}" for id in ids]))


def test_what_is_said_of_two_models_answers_to_one_case_is_about_one_case() -> None:
    units = [
        UnitId("alpha", "both", "a|b", 1),
        UnitId("alpha", "both", "a|b", 2),
        UnitId("beta", "both", "a|b", 1),
    ]
    found = run_cases(scored([id_of_unit(unit) for unit in units], "cafe"), alone=True)
    assert list(found.ids) == ["a|b", "a|b (repeat 2)", "a|b"]
    assert set(found.digests) == {"cafe"}


def test_cases_are_digested_only_where_two_runs_are_compared() -> None:
    run = scored(["c1", "c2"], None)
    assert list(run_cases(run, alone=True).digests) == ["", ""]
    assert list(run_cases(run, alone=False).digests) == ["of c1", "of c2"]
