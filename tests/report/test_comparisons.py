"""Comparisons as parts of a report: the family before any result, verdicts in words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from harness.benchmarks.registry import chosen_conventions, get_benchmark
from harness.benchmarks.scored import UnitTable
from harness.comparison.comparing import compare
from harness.comparison.contenders import Contender, RunCases
from harness.comparison.result import Comparison, Difference
from harness.report.comparisons import comparison_parts, p_cell, verdict
from harness.report.document import Paragraph, Table
from harness.report.part_ids import PartIds
from harness.report.truth import FEW_CASES

TRIAGE = get_benchmark("triage")
CONVENTIONS = chosen_conventions(TRIAGE, {})
CASES = 40


def contender(label: str, right: int, cases: RunCases) -> Contender:
    """Return a model with `right` exact answers of `CASES`."""
    numbers = np.ones((CASES, 3))  # answered, labels of the case, labels given: sets of labels as numbers
    numbers[right:, 2] = 2
    places = np.arange(CASES)
    ones = np.ones(CASES, dtype=np.int32)
    units = UnitTable(numbers, places, places, ones, ones * 0, ("both",))
    return Contender(
        label, label, "model", "night", "0f" * 32, cases, units, np.ones(CASES, dtype=np.bool_), range(CASES)
    )


def compared(*right: int) -> Comparison:
    cases = RunCases("night", [f"c{n:02}" for n in range(CASES)], [""] * CASES)
    return compare(
        TRIAGE,
        [contender(f"m{place}", one, cases) for place, one in enumerate(right)],
        condition="both",
        conventions=CONVENTIONS,
        metrics=["fine.exact_match"],
    )


def parts(*right: int) -> list[Any]:
    return [*comparison_parts(compared(*right), PartIds(), "triage")]


def test_the_family_is_named_before_any_result() -> None:
    found = parts(30, 10, 9)
    first_table = next(place for place, part in enumerate(found) if isinstance(part, Table))
    told = [part.text for part in found[:first_table] if isinstance(part, Paragraph)]
    assert told == [
        "By default: the metric that ranks (fine EMR), all pairs of complete models. The family is 3 pairs, "
        "3 tests at the level 0.05; correction: Holm over all of them; each pair is shown.",
        "Compared on 40 of 40 cases, which all 3 have in common.",
    ]


def test_a_real_difference_is_named_and_noise_is_called_noise() -> None:
    table = next(part for part in parts(30, 10, 9) if isinstance(part, Table))
    verdicts = {row.name: row.cells[3].text for row in table.rows}
    assert verdicts == {
        "m0 - m1": "m0 is higher",
        "m0 - m2": "m0 is higher",
        "m1 - m2": "within noise",
    }
    first = table.rows[0].cells[0]
    assert (first.value, first.n, first.text[0]) == (0.5, CASES, "+")
    assert "does not show that there is none" in table.caption


def test_differences_of_few_cases_have_no_interval_and_say_why() -> None:
    found = compared(30, 10)
    few = replace(found, cases=replace(found.cases, clusters=9))
    for comparison, notes in ((found, 0), (few, 1)):
        told = [*comparison_parts(comparison, PartIds(), "triage")]
        table = next(part for part in told if isinstance(part, Table))
        assert list(table.notes).count(FEW_CASES) == notes
        assert bool(table.rows[0].cells[0].interval) is not bool(notes)


def test_many_models_are_shown_against_the_best_and_the_family_stays_all_pairs() -> None:
    found = parts(38, 30, 25, 20, 15, 10, 5)
    assert any(isinstance(one, Paragraph) and "21 pairs" in one.text for one in found)
    assert any(
        isinstance(one, Paragraph) and "against m0, the one with the best value" in one.text for one in found
    )
    table = next(part for part in found if isinstance(part, Table))
    assert [row.name for row in table.rows] == [f"m0 - m{n}" for n in range(1, 7)]


def test_ranks_are_shown_with_how_firm_they_are() -> None:
    table = [part for part in parts(30, 10, 9) if isinstance(part, Table)][1]
    ranks = {row.name: [cell.value for cell in row.cells[:3]] for row in table.rows}
    assert ranks["m0"] == [1, 1, 1]
    assert ranks["m1"] == [2, 2, 2]  # what m2 has right, m1 has too
    assert ranks["m2"] == [3, 2, 3]
    assert table.rows[0].cells[3].text == "100 %"
    assert all(cell.n for row in table.rows for cell in row.cells[5:])


def test_a_pair_without_a_test_has_no_p() -> None:
    assert p_cell(0.04321, 9).text == "0.043"
    assert p_cell(None, 9).text == ""


def test_a_warning_that_the_page_has_is_not_repeated_and_another_is() -> None:
    one = replace(compared(30, 10), warnings=("SYNTHETIC DATA: x", "ASKED DIFFERENTLY: y"))
    told = [*comparison_parts(one, PartIds(), "triage", ["SYNTHETIC DATA: x"])]
    assert [part.text for part in told if isinstance(part, Paragraph) and part.tone == "warning"] == [
        "ASKED DIFFERENTLY: y"
    ]
    unsaid = [*comparison_parts(one, PartIds(), "triage")]
    assert unsaid[0] == Paragraph("SYNTHETIC DATA: x", "warning")


def test_effect_sizes_have_a_column_only_where_there_are_any() -> None:
    with_sizes = next(part for part in parts(30, 10, 9) if isinstance(part, Table))
    assert with_sizes.columns[-1].id == "effect"
    one = compared(30, 10)
    plain = replace(
        one.metrics[0], differences=tuple(replace(d, effect=None) for d in one.metrics[0].differences)
    )
    table = next(
        part
        for part in comparison_parts(replace(one, metrics=(plain,)), PartIds(), "triage")
        if isinstance(part, Table)
    )
    assert "effect" not in {column.id for column in table.columns}
    assert list(table.notes) == ["no effect size: a case has no value of its own in this metric"]


def test_a_verdict_names_whoever_is_higher() -> None:
    def of(said: Any) -> str:
        return verdict(Difference("A1", "B1", "x", 0.1, 0.0, 0.2, 0.01, 0.02, said, 3))

    assert [of(one) for one in ("A higher", "A lower", "within noise", "not compared")] == [
        "A1 is higher", "B1 is higher", "within noise", "not compared"
    ]  # fmt: skip
