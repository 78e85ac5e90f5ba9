"""Cells: what is shown of a number, and what never is."""

from __future__ import annotations

import math

import pytest
from report.score_examples import metric

from harness.benchmarks.scored import MetricColumn
from harness.report.cells import (
    amount_cell,
    count_cell,
    difference_cell,
    metric_cell,
    printed_cell,
    share_cell,
)
from harness.report.rounding import amount, amount_decimals, shown
from harness.report.truth import BESIDE, LEAST_CASES

COLUMN = MetricColumn("x", ("", "x"), 3)


def test_a_number_is_never_shown_without_its_n() -> None:
    with pytest.raises(ValueError, match="with its n only"):
        metric_cell(metric(0.5, 0), COLUMN)
    assert metric_cell(metric(None, 0), COLUMN).text == ""


def test_a_number_has_its_n_interval_and_rounding() -> None:
    cell = metric_cell(metric((0.42157, 0.394, 0.498), 246), COLUMN)
    text, interval = shown(0.42157, 0.394, 0.498, decimals=3, n=246)
    assert (cell.text, cell.interval) == (text, interval) == ("0.42", "0.39-0.50")
    assert (cell.value, cell.n, cell.low, cell.high) == (0.42157, 246, 0.394, 0.498)


def test_an_empty_cell_says_why() -> None:
    assert metric_cell(metric(None)).note == "nobody graded it"
    assert metric_cell(None).note == "this row has no such number"


def test_a_mean_of_some_repeats_alone_says_so_and_intervals_are_not_told_of_cell_by_cell() -> None:
    partly = metric(0.5) | {"reason": "1 of 3 repeats have no value: nobody graded it"}
    assert metric_cell(partly).note == "1 of 3 repeats have no value: nobody graded it"
    assert metric_cell(partly).tone == "note"
    assert metric_cell(metric((0.5, 0.4, 0.6), ci_note="it may be too narrow")).note == ""


@pytest.mark.parametrize(("n", "interval"), [(2, ""), (LEAST_CASES - 1, ""), (LEAST_CASES, "0.0-1.0")])
def test_no_bootstrap_interval_of_few_cases_is_shown(n: int, interval: str) -> None:
    cell = metric_cell(metric((0.5, 0.0, 1.0), n))
    assert (cell.value, cell.n, cell.interval[:2]) == (0.5, n, interval[:2])
    assert ((cell.low, cell.high) == (None, None)) is (interval == "")
    assert cell.text[:3] == "0.5"


def test_an_exact_interval_of_few_cases_stays() -> None:
    exact = metric_cell(metric((0.5, 0.013, 0.987), 2, ci_method="clopper-pearson"))
    assert (exact.low, exact.high, exact.interval) == (0.013, 0.987, "0.0-1.0")


def test_a_number_outside_its_own_interval_is_marked_where_it_stands() -> None:
    for beside in (metric((0.5, 0.6, 0.7)), metric((0.5, 0.3, 0.4))):
        cell = metric_cell(beside)
        assert (cell.tone, cell.note) == ("warning", BESIDE)
    partly = metric((0.5, 0.6, 0.7)) | {"reason": "1 of 3 repeats has no value"}
    assert metric_cell(partly).note == f"{BESIDE}; 1 of 3 repeats has no value"
    third = 1 / 3
    assert metric_cell(metric((third, round(third, 9), round(third, 9)))).tone == "plain"
    assert metric_cell(metric((0.5, 0.6, 0.7), 5)).tone == "plain"  # not shown, so nothing to mark


def test_small_and_named_values_are_shown_as_their_column_says() -> None:
    p = MetricColumn("p", ("", "p"), 3, is_p=True)
    assert metric_cell(metric(0.0004), p).text == "<0.001"
    word = MetricColumn("s", ("", "s"), words={0: "n.s.", 1: "signif."})
    assert metric_cell(metric(1.0), word).text == "signif."


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.012345, "0.0123"), (1.234, "1.23"), (12345.6, "12,300"), (0.99996, "1.000")],
)
def test_amounts_have_three_digits_and_no_exponent(value: float, text: str) -> None:
    assert amount(value) == text


@pytest.mark.parametrize(
    ("amounts", "texts"),
    [
        ([0.0920, 0.137, 0.189], ["0.092", "0.137", "0.189"]),
        ([12.5, 0.00042, 0.0], ["12.50000", "0.00042", "0.00000"]),
        ([1234.5, 99.0], ["1,234", "99"]),
        ([0.0, 0.0], ["0", "0"]),
        ([None, math.inf, 1.0], ["", "inf", "1.00"]),
    ],
)
def test_a_column_of_amounts_has_the_same_decimals_and_hides_none_as_zero(
    amounts: list[float | None], texts: list[str]
) -> None:
    decimals = amount_decimals(amounts)
    assert [amount_cell(one, 5, decimals).text for one in amounts] == texts


def test_an_unknown_amount_is_empty_and_never_zero() -> None:
    assert (amount_cell(None, 5, 2).text, amount_cell(None, 5, 2).value) == ("", None)
    assert amount_cell(1.0, 0, 2, why_not="nobody asked").note == "nobody asked"
    assert count_cell(None).text == ""
    assert amount(math.inf) == "inf"


@pytest.mark.parametrize(
    ("share", "text"),
    [(1.0, "100 %"), (0.0, "0 %"), (0.99999, "99.9 %"), (0.00001, "0.1 %"), (0.125, "12.5 %")],
)
def test_only_all_is_a_hundred_per_cent_and_only_none_is_zero(share: float, text: str) -> None:
    assert share_cell(share, 9).text == text
    assert share_cell(share, 0).text == ""


@pytest.mark.parametrize(
    ("value", "text"), [(0.0312, "+0.031"), (-0.0312, "-0.031"), (0.0001, "0.000"), (-0.0001, "0.000")]
)
def test_a_difference_has_its_sign_and_zero_has_none(value: float, text: str) -> None:
    assert difference_cell(value, 5000, 3).text == text


def test_a_printed_number_stands_as_it_was_printed() -> None:
    cell = printed_cell(0.3, 0.25, 0.35, 3)
    assert (cell.text, cell.interval, cell.n) == ("0.300", "0.250-0.350", None)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.04, "0.040"), (0.0004, "<0.001"), (0.0499, "0.0499"), (0.0625, "0.062"), (1.0, "1.000")],
)
def test_a_p_of_few_cases_keeps_its_decimals_and_its_side_of_the_level(value: float, text: str) -> None:
    p = MetricColumn("wilcoxon.p", ("", "p"), 3, better=None, is_p=True)
    assert metric_cell(metric(value, 6), p).text == text
