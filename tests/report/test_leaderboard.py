"""The leaderboard: who has a rank, what stands in a row, which readings are shown."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from report.report_examples import HOSTILE
from report.score_examples import MAIN, incomplete, metric, row, view

from harness.report.document import Cell, Figure, Intervals, Paragraph, Part, Table
from harness.report.leaderboard import leaderboard, readings
from harness.report.part_ids import PartIds

EMR = "fine.exact_match"


def parts(of: Iterable[Part]) -> list[Part]:
    return list(of)


def tables(of: Iterable[Part]) -> dict[str, Table]:
    return {part.id: part for part in of if isinstance(part, Table)}


def cell(table: Table, name: str, column: str) -> Cell:
    place = [one.id for one in table.columns].index(column)
    return next(one for one in table.rows if one.name == name).cells[place]


@pytest.fixture
def board() -> list[Part]:
    return parts(
        leaderboard(
            view(
                [
                    incomplete("gamma", {MAIN: 0.99, EMR: 0.9}),
                    row("beta", {MAIN: (0.4, 0.3, 0.5), EMR: 0.1}, rank=2),
                    row("alpha", {MAIN: (0.6, 0.5, 0.7), EMR: 0.2}, rank=1),
                    row("rater-a", {MAIN: 0.8, EMR: 0.3}, kind="rater"),
                    row("nothing", {MAIN: 0.0, EMR: 0.0}, kind="baseline"),
                ]
            ),
            PartIds(),
            "night",
        )
    )


def test_models_stand_by_rank_and_the_others_below_them(board: list[Part]) -> None:
    table = tables(board)["night-both"]
    assert [(one.name, one.kind) for one in table.rows] == [
        ("alpha", "model"),
        ("beta", "model"),
        ("gamma", "model"),
        ("rater-a", "rater"),
        ("nothing", "baseline"),
    ]
    assert [one.id for one in table.columns] == ["rank", "n", "coverage", MAIN, EMR]


def test_an_incomplete_model_has_no_rank_however_high_its_number(board: list[Part]) -> None:  # F14
    table = tables(board)["night-both"]
    assert [cell(table, name, "rank").text for name in ("alpha", "beta", "gamma")] == ["1", "2", ""]
    assert cell(table, "gamma", "rank").note == "incomplete: resume to complete: 3 units"
    assert next(one for one in table.rows if one.name == "gamma").marked


def test_a_rank_in_the_scores_of_an_incomplete_model_is_not_shown() -> None:
    broken = incomplete("gamma", {MAIN: 0.99}) | {"rank": 1}
    table = tables(leaderboard(view([broken]), PartIds(), "night"))["night-both"]
    assert cell(table, "gamma", "rank").text == ""


def test_every_number_has_its_n(board: list[Part]) -> None:
    for table in tables(board).values():
        for one in table.rows:
            for column, shown in zip(table.columns, one.cells, strict=True):
                if isinstance(shown.value, float) and column.id not in ("coverage",):
                    assert shown.n, (table.id, one.name, column.id)


def test_the_figure_has_the_rows_of_the_table_in_order(board: list[Part]) -> None:
    (figure,) = (part for part in board if isinstance(part, Figure))
    assert isinstance(figure.drawing, Intervals)
    assert [(point.name, point.mark) for point in figure.drawing.points] == [
        (one.name, one.kind) for one in tables(board)["night-both"].rows
    ]
    assert figure.table == "night-both"
    assert figure.drawing.points[0].low == 0.5


def test_the_second_reading_is_shown_only_where_a_number_differs(board: list[Part]) -> None:
    assert "night-both-valid-only" not in tables(board)
    alike = readings(view([row("alpha", {MAIN: 0.6}, rank=1)]), PartIds(), "night")
    assert any(isinstance(part, Paragraph) and "no number differs" in part.text for part in alike)
    rows = [
        row("alpha", {MAIN: 0.5}, outcomes={"valid": 20, "refused": 4}, valid={MAIN: metric(0.6, 20)}),
        row("nothing", {MAIN: 0.0}, kind="baseline"),
    ]
    found = tables(readings(view(rows), PartIds(), "night"))["night-both-valid-only"]
    assert [one.name for one in found.rows] == ["alpha"]
    assert "rank" not in {one.id for one in found.columns}
    assert (cell(found, "alpha", "n").value, cell(found, "alpha", MAIN).value) == (20, 0.6)


def test_the_score_without_the_reformatter_stands_with_the_difference() -> None:
    restated = row(
        "alpha",
        {MAIN: 0.5},
        rank=1,
        outcomes={"valid": 18, "reformatted": 6},
        without_reformatter={MAIN: metric(0.375)},
    )
    found = readings(view([restated, row("beta", {MAIN: 0.4}, rank=2)]), PartIds(), "night")
    table = tables(found)["night-both-without-reformatter"]
    assert [one.name for one in table.rows] == ["alpha"]
    assert cell(table, "alpha", "reformatted").value == 6
    assert cell(table, "alpha", "reformatted.share").value == 0.25
    assert cell(table, "alpha", f"{MAIN}.difference").value == -0.125
    assert cell(table, "alpha", MAIN).value == 0.375


def test_nothing_is_said_of_the_reformatter_where_it_restated_nothing(board: list[Part]) -> None:
    assert not any("reformatter" in table for table in tables(board))


def test_models_with_different_cases_are_ranked_on_the_common_ones() -> None:
    ranked = [
        {"model": "beta", "value": 0.25, "n": 20, "rank": 2},
        {"model": "alpha", "value": 0.5, "n": 20, "rank": 1},
    ]
    common = {"metric": MAIN, "n_cases": 20, "rows": ranked}
    rows = [row("alpha", {MAIN: 0.5}), row("beta", {MAIN: 0.3})]
    found = tables(leaderboard(view(rows, common_cases={"both": common}), PartIds(), "night"))
    table = found["night-both-common-cases"]
    assert [(one.name, one.cells[0].text, one.cells[2].value) for one in table.rows] == [
        ("alpha", "1", 0.5),
        ("beta", "2", 0.25),
    ]


def test_the_table_says_what_was_left_out_and_why_there_is_no_value() -> None:
    rows = [row("alpha", {MAIN: 0.5, EMR: None}, rank=1), row("beta", {MAIN: 0.3, EMR: None}, rank=2)]
    found = tables(leaderboard(view(rows, case_errors={"both": ["c1", "c2"]}), PartIds(), "night"))
    notes = "\n".join(found["night-both"].notes)
    assert "left out for all models, as they could not be sent: 2 cases: c1, c2" in notes
    assert "no value: fine EMR of alpha, beta: nobody graded it" in notes


def test_which_side_is_better_is_one_line_and_paths_are_ids_only(board: list[Part]) -> None:
    table = tables(board)["night-both"]
    assert "higher is better: fine maF1, fine EMR" in table.notes
    assert [one.title for one in table.columns[3:]] == ["", ""]
    assert table.title == "Leaderboard, condition both"


def test_what_misleads_stands_before_what_is_technical() -> None:
    narrow = metric(
        (0.5, 0.4, 0.6), ci_note="undefined in 3 of 2000 resamples, left out; it may be too narrow"
    )
    rows = [row("alpha", {MAIN: narrow}, rank=1), row("beta", {MAIN: metric((0.4, 0.3, 0.5), 20)}, rank=2)]
    notes = list(tables(leaderboard(view(rows), PartIds(), "night"))["night-both"].notes)
    assert [note.split(":")[0].split(" (")[0] for note in notes] == [
        "n differs between rows in fine maF1", "95 % interval", "higher is better", "95 % interval"
    ]  # fmt: skip
    assert "too narrow" in notes[1]
    assert "undefined in 3 of 2,000" in notes[3]


def test_the_table_without_the_reformatter_warns_of_its_own_intervals() -> None:
    narrow = metric((0.375, 0.3, 0.4), ci_note="it may be too narrow")
    restated = row("a", {MAIN: 0.5}, outcomes={"reformatted": 6}, without_reformatter={MAIN: narrow})
    found = tables(readings(view([restated]), PartIds(), "night"))["night-both-without-reformatter"]
    assert found.notes[0] == "95 % interval: it may be too narrow (fine maF1: a)"


def test_names_that_try_to_be_code_stay_names() -> None:
    rows = [row(text, {MAIN: 0.5}, rank=1) for text in HOSTILE.values()]
    found = parts(leaderboard(view(rows), PartIds(), HOSTILE["script"]))
    table = next(part for part in found if isinstance(part, Table))
    assert {one.name for one in table.rows} == set(HOSTILE.values())
    assert "<" not in table.id


@pytest.mark.parametrize("rows", [[row("alpha", {MAIN: 0.5}, rank=1)], [row("alpha", {MAIN: None})]])
def test_one_model_alone_and_one_without_a_value_have_their_table(rows: list[dict[str, object]]) -> None:
    found = tables(leaderboard(view(rows), PartIds(), "night"))
    assert [one.name for one in found["night-both"].rows] == ["alpha"]


def test_a_condition_without_rows_of_models_is_no_fault() -> None:
    found = parts(leaderboard(view([row("nothing", {MAIN: 0.1}, kind="baseline")]), PartIds(), "night"))
    assert [type(part) for part in found] == [Table, Figure]


def test_the_spread_over_repeats_has_a_table_of_its_own() -> None:
    rows = [row("alpha", {MAIN: metric(0.5, sd=0.0123), EMR: 0.1}, rank=1)]
    found = tables(readings(view(rows, repeats=3), PartIds(), "night"))["night-both-repeats"]
    assert (cell(found, "alpha", MAIN).text, cell(found, "alpha", MAIN).n) == ("0.012", 24)
    assert cell(found, "alpha", EMR).note == "not every repeat has a value"


def test_repeats_and_imported_rows_are_told() -> None:
    rows = [row("alpha", {MAIN: 0.5}, rank=1, imported=True)]
    table = tables(leaderboard(view(rows, repeats=3), PartIds(), "night"))["night-both"]
    assert table.rows[0].name == "alpha (imported)"
    assert "means of 3 repeats" in table.caption


def test_a_model_keeps_its_notes_beside_a_rater_or_baseline_of_its_name() -> None:
    board = leaderboard(
        view(
            [
                incomplete("nothing", {MAIN: 0.99}),
                row("alpha", {MAIN: (0.6, 0.5, 0.7)}, rank=1),
                row("alpha", {MAIN: 0.8}, kind="rater") | {"not_rated": ["c1"]},
                row("nothing", {MAIN: 0.0}, kind="baseline"),
            ]
        ),
        PartIds(),
        "night",
    )
    rows = {(one.kind, one.name): one for one in tables(board)["night-both"].rows}
    assert rows["model", "nothing"].marked
    assert "no rank" in rows["model", "nothing"].notes[0]
    assert rows["baseline", "nothing"].notes == ()
    assert rows["model", "alpha"].notes == ()
    assert "not rated" in rows["rater", "alpha"].notes[0]


def test_the_usable_share_is_of_the_units_that_apply() -> None:  # F19
    left_out = {"valid": 15, "refused": 2, "not_applicable": 3, "case_error": 4}
    small = row("small", {MAIN: 0.5}, n=17, outcomes=left_out, coverage=15 / 17)
    found = cell(tables(leaderboard(view([small]), PartIds(), "night"))["night-both"], "small", "coverage")
    assert (found.text, found.value, found.n) == ("88.2 %", 15 / 17, 17)
