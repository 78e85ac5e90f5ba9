"""What a reader is told before the numbers, the worst first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from comparison_examples import contender, run_cases

from harness.comparison.common_cases import common_cases
from harness.comparison.contenders import Contender, Provenance
from harness.comparison.warnings import warnings_of

DAY = run_cases(["c0", "c1"], run="day")
NIGHT = run_cases(["c0", "c1"], run="night")


def side(
    label: str, cases: Any = NIGHT, *, kind: str = "model", name: str = "", **provenance: Any
) -> Contender:
    return contender(
        label, [1, 2], cases=cases, kind=kind, name=name or label, provenance=Provenance(**provenance)
    )


def told(*sides: Contender) -> list[str]:
    return list(warnings_of(sides, common_cases(sides, "as_answered"), "as_answered"))


def test_nothing_is_told_where_all_is_alike() -> None:
    assert told(side("a", settings={"prompt": "p"}), side("b", settings={"prompt": "p"})) == []


def test_made_up_data_and_grades_of_models_come_first() -> None:
    found = told(
        side("a", simulated=True), side("b", synthetic=True, graded_by="judge"), side("c", graded_by="x")
    )
    assert found == [
        "SYNTHETIC DATA - SIMULATED MODELS: no evidence about real models",
        "LLM-GRADED: the grades are those of judge and x, not people's",
    ]


def test_settings_that_differ_are_told_by_run_or_where_a_run_has_both_by_model() -> None:
    by_run = told(side("a", settings={"prompt": "p"}), side("b", DAY, settings={"prompt": "q"}))
    assert by_run == [
        "ASKED DIFFERENTLY: prompt: p in night; q in day; a difference is that of models and of prompt "
        "together"
    ]
    [by_model] = told(side("a", settings={"reformatter": "r"}), side("b", settings={"reformatter": "none"}))
    assert by_model.startswith("ASKED DIFFERENTLY: reformatter: r for a; none for b;")


def test_a_rater_was_asked_nothing() -> None:
    assert told(side("a", settings={"prompt": "p"}), side("r", kind="rater")) == []


@pytest.mark.parametrize("names", [("m", "m"), ("m", "n")])
def test_parameters_are_those_of_one_model_in_two_runs(names: tuple[str, str]) -> None:
    one, other = names
    found = told(
        side("night:m", name=one, parameters="t=0"), side("day:m", DAY, name=other, parameters="t=1")
    )
    expected = ["ASKED DIFFERENTLY: parameters of m: t=0 in night; t=1 in day"]
    assert found == (expected if one == other else [])


def test_repeats_and_groups_that_differ_are_told() -> None:
    one = contender("a", [[1, 2], [3, 4]], cases=NIGHT, groups=[0, 0])
    other = contender("b", [1, 2], cases=NIGHT)
    assert [text.split(":")[0] for text in told(one, other)] == [
        "ONE CLUSTER", "REPEATS DIFFER", "GROUPED DIFFERENTLY",
    ]  # fmt: skip
    three = contender("c", np.ones((2, 3)), cases=NIGHT), contender("d", np.ones((2, 2)), cases=NIGHT)
    [text] = told(*three)
    assert text == "REPEATS DIFFER: the first 2 repeats of each case are compared, the others left out"


def test_long_lists_are_cut() -> None:
    sides = [side(f"m{n}", settings={"attempts": str(n > 0)}) for n in range(9)]
    assert "True for m1, m2, m3, m4, m5, m6 and 2 more" in told(*sides)[0]
