"""Columns of numbers: the same decimals from top to bottom, and which."""

from __future__ import annotations

from typing import Any

from report.score_examples import MAIN, metric, row, view
from report.test_leaderboard import cell, tables

from harness.benchmarks.details import Breakdown, Change, Matrix, Measured
from harness.benchmarks.scored import MetricColumn
from harness.report.breakdowns import breakdown, change, matrix
from harness.report.document import Figure, HeatMap, Table
from harness.report.even_columns import even_decimals, metric_cells, metric_rows
from harness.report.leaderboard import leaderboard, readings
from harness.report.part_ids import PartIds
from harness.report.published import PublishedValue

COLUMN = MetricColumn("x", ("", "x"), 3)


def texts(numbers: list[dict[str, Any] | None], column: MetricColumn | None = COLUMN) -> list[str]:
    return [one.text for one in metric_cells(numbers, column)]


def test_a_wide_interval_does_not_make_a_number_equal_to_another() -> None:
    found = metric_cells([metric((0.75, 0.1, 0.95), 24), metric((0.80, 0.7, 0.9), 24)], COLUMN)
    assert [(one.text, one.interval) for one in found] == [("0.75", "0.10-0.95"), ("0.80", "0.70-0.90")]


def test_numbers_never_swap_and_rows_without_an_interval_have_the_decimals_of_the_others() -> None:
    assert texts([metric((0.466, 0.02, 0.92), 24), metric((0.41, 0.35, 0.47), 24)]) == ["0.47", "0.41"]
    percents = MetricColumn("bleu", ("", "bleu"), 2)
    assert texts([metric((40.22, 30.0, 50.0), 24), metric(39.58, 24)], percents) == ["40", "40"]
    assert texts([metric((40.22, 38.5, 42.0), 24), metric(39.58, 24)], percents) == ["40.2", "39.6"]
    assert texts([metric((0.5, 0.4, 0.6), 24), metric(0.4567, 5000)]) == ["0.50", "0.46"]


def test_without_any_interval_the_largest_n_decides() -> None:
    assert texts([metric(0.5, 5), metric(0.4567, 5000), metric(0.123, 24)]) == ["0.500", "0.457", "0.123"]
    assert texts([metric(0.5, 5), metric(0.4567, 24)]) == ["0.50", "0.46"]


def test_what_has_no_number_decides_nothing() -> None:
    assert even_decimals([None, metric(None), metric((0.5, 0.4, 0.6), 24)], COLUMN) == 2
    assert even_decimals([None, metric(None)], COLUMN) == 3
    assert texts([None, metric(None), metric((0.5, 0.4, 0.6), 24)]) == ["", "", "0.50"]
    word = MetricColumn("s", ("", "s"), words={1: "signif."})
    assert texts([metric(1.0, 5000), metric((0.5, 0.4, 0.6), 24)], word) == ["signif.", "0.50"]


def test_every_column_has_decimals_of_its_own() -> None:
    rows = [
        [metric((0.5, 0.1, 0.9), 8), metric((0.5, 0.49, 0.51), 5000)],
        [metric((0.25, 0.0, 0.5), 8), metric(0.1, 5000)],
    ]
    found = metric_rows(rows, [COLUMN, None])
    assert [[one.text for one in line] for line in found] == [["0.5", "0.500"], ["0.2", "0.100"]]


WIDE = row("beta", {MAIN: (0.75, 0.1, 0.95)}, rank=2)
FINE = row("alpha", {MAIN: (0.80, 0.7, 0.9)}, rank=1)
NOTHING = row("nothing", {MAIN: 0.7512}, kind="baseline", n=5000)


def test_a_leaderboard_is_even_and_what_a_paper_printed_is_not_touched() -> None:
    printed = PublishedValue(source="Table 1", subject="GPT-9", model=None, path=MAIN, value=0.3025)
    shown = view([FINE, WIDE, NOTHING], printed=[printed])
    table = tables(leaderboard(shown, PartIds(), "night"))["night-both"]
    assert [cell(table, name, MAIN).text for name in ("alpha", "beta", "nothing")] == ["0.80", "0.75", "0.75"]
    assert cell(table, "GPT-9 (published)", MAIN).text == "0.3025"


def test_scores_without_the_reformatter_have_the_decimals_of_their_difference() -> None:
    ended = {"outcomes": {"valid": 20, "reformatted": 4}, "rank": 1}
    less = {MAIN: metric((0.55, 0.1, 0.9))}
    wide = row("beta", {MAIN: (0.75, 0.1, 0.95)}, without_reformatter=less, **ended)
    less = {MAIN: metric((0.61, 0.5, 0.7))}
    fine = row("alpha", {MAIN: (0.8, 0.7, 0.9)}, without_reformatter=less, **ended)
    table = tables(readings(view([fine, wide]), PartIds(), "night"))["night-both-without-reformatter"]
    shown = [[one.text for one in line.cells[2:]] for line in table.rows]
    assert shown == [["0.80", "-0.19", "0.61"], ["0.75", "-0.20", "0.55"]]


def test_details_are_even_and_heat_maps_follow_their_tables() -> None:
    rows = [
        row("a", {"g.1": metric((0.75, 0.1, 0.95)), "g.2": metric((0.2, 0.15, 0.25))}),
        row("b", {"g.1": metric((0.80, 0.7, 0.9)), "g.2": metric((0.21, 0.0, 0.9))}),
    ]
    groups = {"one": "g.1", "two": "g.2"}
    detail = Breakdown("by", "By group", groups, groups="group", values="score", figure="heat")
    table, figure = breakdown(view(rows), detail, PartIds(), "night")
    assert isinstance(table, Table)
    assert isinstance(figure, Figure)
    assert isinstance(figure.drawing, HeatMap)
    assert [[one.text for one in line.cells] for line in table.rows] == [["0.75", "0.20"], ["0.80", "0.21"]]
    assert figure.drawing.texts == [["0.75", "0.20"], ["0.80", "0.21"]]

    joined = Change("d", "Change", Measured("g.1", "before"), Measured("g.2", "after"))
    table, _ = change(view(rows), joined, PartIds(), "night")
    assert isinstance(table, Table)
    assert [[one.text for one in line.cells] for line in table.rows] == [
        ["0.75", "0.20", "-0.55"],
        ["0.80", "0.21", "-0.59"],
    ]

    shares = Matrix("m", "Matrix", {"r": {"c": "g.1"}}, rows="row", columns="column")
    table, figure, *_ = matrix(view(rows), shares, PartIds(), "night")
    assert isinstance(table, Table)
    assert isinstance(figure, Figure)
    assert isinstance(figure.drawing, HeatMap)
    assert [line.cells[1].text for line in table.rows] == ["0.75", "0.80"]
    assert figure.drawing.texts == [["0.75"]]
