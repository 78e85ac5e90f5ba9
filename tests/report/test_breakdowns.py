"""What a benchmark shows beside its leaderboard: tables with the very numbers of their figures."""

from __future__ import annotations

from typing import Any

import pytest
from report.score_examples import metric, row, view

from harness.benchmarks.details import Against, Breakdown, Change, Matrix, Measured
from harness.report.breakdowns import LINES_SHOWN, MATRICES_SHOWN, against, breakdown, change, matrix
from harness.report.document import Figure, HeatMap, Joined, Lines, Scatter, Table
from harness.report.part_ids import PartIds
from harness.report.truth import FEW_CASES

GROUPS = {"one": "g.1", "two": "g.2", "none": "g.3"}


def detail(figure: Any = "heat", **changes: Any) -> Breakdown:
    given = {"groups": "group", "values": "score", "figure": figure, **changes}
    return Breakdown("by-group", "Score by group", GROUPS, **given)


def rows(count: int = 2) -> list[dict[str, Any]]:
    return [
        *(
            row(f"m{n:02}", {"g.1": metric((0.5, 0.4, 0.6), 10), "g.2": metric(0.25, 14), "g.3": None})
            for n in range(count)
        ),
        row("nothing", {"g.1": metric(0.0, 10), "g.2": metric(0.0, 14), "g.3": None}, kind="baseline"),
    ]


def test_groups_are_columns_and_those_without_a_value_are_named() -> None:
    table, figure = breakdown(view(rows()), detail(), PartIds(), "night")
    assert isinstance(table, Table)
    assert [(one.id, one.head) for one in table.columns] == [("g.1", "one"), ("g.2", "two")]
    assert [one.name for one in table.rows] == ["m00", "m01", "nothing"]
    assert list(table.notes) == ["left out, as no row has a value there: none"]
    assert [cell.n for cell in table.rows[0].cells] == [10, 14]
    assert isinstance(figure, Figure)
    assert figure.table == table.id


def test_notes_on_intervals_are_one_line_a_kind_and_the_last() -> None:
    values = {
        path: metric((0.5, 0.4, 0.6), 10, ci_note=f"undefined in {missing} of 2000 resamples, left out")
        for path, missing in (("g.1", 84), ("g.2", 1))
    }
    table, _ = breakdown(view([row("a", values | {"g.3": None})]), detail(), PartIds(), "night")
    assert isinstance(table, Table)
    assert list(table.notes) == [
        "left out, as no row has a value there: none",
        "95 % interval: undefined in 1 to 84 of 2,000 resamples, left out (all columns: a)",
    ]


def test_tables_of_few_cases_have_no_intervals_and_say_why_once() -> None:
    few = metric((0.5, 0.4, 0.6), 9)
    shown = view([row(name, {"g.1": few, "g.2": few}) for name in ("a", "b")])
    x, y = Measured("g.1", "one"), Measured("g.2", "two")
    for parts in (
        breakdown(shown, detail(), PartIds(), "night"),
        against(shown, Against("a", "Against", x, y), PartIds(), "night"),
        change(shown, Change("c", "Change", x, y), PartIds(), "night"),
        matrix(shown, Matrix("m", "Matrix", {"r": {"c": "g.1"}}, rows="r", columns="c"), PartIds(), "night"),
    ):
        table = next(part for part in parts if isinstance(part, Table))
        assert [note for note in table.notes if note == FEW_CASES] == [FEW_CASES]
        assert not any(cell.interval for line in table.rows for cell in line.cells)


def test_a_caption_says_where_unusable_answers_are_left_out() -> None:
    ended = {"valid": 10, "truncated": 14}
    both = {"g.1": metric(0.5, 24), "g.2": metric(0.25, 24)}
    only = {"g.1": metric(0.5, 10), "g.2": metric(0.25, 10)}
    x, y = Measured("g.1", "one"), Measured("g.2", "two")
    captions = {}
    for name, answered, outcomes in (
        ("counted", both, ended),
        ("left out", only, ended),
        ("none", only, {"valid": 10}),
        ("mixed", {"g.1": both["g.1"], "g.2": only["g.2"]}, ended),
    ):
        shown = view([row("a", answered, valid=only, outcomes=outcomes)])
        found = [
            next(iter(breakdown(shown, detail(), PartIds(), "night"))),
            next(iter(against(shown, Against("a", "Against", x, y), PartIds(), "night"))),
        ]
        captions[name] = [one.caption for one in found if isinstance(one, Table)]
    counted, only_answers = "as answered", "of answered cases: an unusable answer is left out"
    assert captions == {
        "counted": [_caption(counted), "As answered"],
        "left out": [_caption(only_answers), only_answers.capitalize()],
        "none": [_caption(counted), "As answered"],
        "mixed": [_caption(counted), f"One: as answered; two: {only_answers}"],
    }


def _caption(reading: str) -> str:
    return f"Columns: group; values: score, {reading}; higher is better"


def test_columns_are_not_explained_by_what_their_heads_say() -> None:
    table, _ = breakdown(view(rows()), detail(), PartIds(), "night")
    assert isinstance(table, Table)
    assert [one.title for one in table.columns] == ["", ""]
    assert table.title == "Score by group, condition both"
    assert table.caption == "Columns: group; values: score, as answered; higher is better"


def test_a_heat_map_has_the_models_of_the_table_and_its_texts() -> None:
    table, figure = breakdown(view(rows()), detail(), PartIds(), "night")
    assert isinstance(table, Table)
    assert isinstance(figure, Figure)
    drawing = figure.drawing
    assert isinstance(drawing, HeatMap)
    assert drawing.rows == ["m00", "m01"]
    assert drawing.values == [[0.5, 0.25]] * 2
    assert drawing.texts == [[cell.text for cell in one.cells] for one in table.rows[:2]]
    assert (drawing.low, drawing.high) == (0.0, 1.0)


def test_a_scale_without_a_best_value_ends_at_what_there_is() -> None:
    _, figure = breakdown(view(rows()), detail(best=None, better=None), PartIds(), "night")
    assert isinstance(figure, Figure)
    assert isinstance(figure.drawing, HeatMap)
    assert (figure.drawing.low, figure.drawing.high) == (0.0, 0.5)


def test_lines_are_drawn_of_the_first_models_and_the_caption_says_so() -> None:
    _, figure = breakdown(view(rows(12)), detail("lines"), PartIds(), "night")
    assert isinstance(figure, Figure)
    assert isinstance(figure.drawing, Lines)
    assert list(figure.drawing.series) == [f"m{n:02}" for n in range(LINES_SHOWN)]
    assert figure.caption == f"The first {LINES_SHOWN} of 12 models; the table has all."
    _, figure = breakdown(view(rows(2)), detail("diagonal"), PartIds(), "night")
    assert isinstance(figure, Figure)
    assert isinstance(figure.drawing, Lines)
    assert figure.drawing.diagonal
    assert figure.caption == ""


def test_without_a_figure_or_a_second_group_there_is_the_table_alone() -> None:
    assert len([*breakdown(view(rows()), detail(None), PartIds(), "night")]) == 1
    single = [row("m", {"g.1": 0.5})]
    assert len([*breakdown(view(single), detail("lines"), PartIds(), "night")]) == 1


def test_a_breakdown_without_any_value_is_not_shown() -> None:
    assert [*breakdown(view([row("m", {"x": 0.5})]), detail(), PartIds(), "night")] == []
    assert [*breakdown(view([row("m", {"g.1": None})]), detail(), PartIds(), "night")] == []


def test_groups_whose_n_differs_between_rows_are_told() -> None:  # F19
    two = [row("a", {"g.1": metric(0.5, 10), "g.2": 0.5}), row("b", {"g.1": metric(0.5, 8), "g.2": 0.5})]
    table, _ = breakdown(view(two), detail(), PartIds(), "night")
    assert isinstance(table, Table)
    assert table.notes[0].endswith("not of the same cases: one: 8 to 10")


def test_a_matrix_has_a_line_a_model_and_row_and_maps_of_the_first_models() -> None:
    paths = {label: {"p": f"{label}.p", "q": f"{label}.q"} for label in ("a", "b", "never")}
    values = {"a.p": 0.75, "a.q": 0.25, "b.p": 0.5, "b.q": 0.5, "never.p": None, "never.q": None}
    models = [row(f"m{n}", values) for n in range(MATRICES_SHOWN + 1)]
    shown = Matrix("m", "Named by needed", paths, rows="needed", columns="named")
    table, *figures = matrix(view(models), shown, PartIds(), "night")
    assert isinstance(table, Table)
    assert [one.name for one in table.rows][:3] == ["m0 / a", "m0 / b", "m1 / a"]
    assert len(table.rows) == 2 * len(models)
    assert [cell.value for cell in table.rows[0].cells] == [24, 0.75, 0.25]  # n, then the shares
    assert len(figures) == MATRICES_SHOWN
    assert isinstance(figures[1], Figure)
    assert isinstance(figures[1].drawing, HeatMap)
    assert figures[1].title == "Named by needed: m1, condition both"
    assert figures[1].drawing.rows == ["a", "b"]
    assert figures[1].drawing.values == [[0.75, 0.25], [0.5, 0.5]]


X, Y = Measured("x", "grade", None, None), Measured("y", "likeness")


def test_two_metrics_are_points_of_the_rows_that_have_both() -> None:
    found = [row("a", {"x": 2.0, "y": 0.5}), row("b", {"x": 2.0, "y": None}), row("c", {"x": 1.0})]
    table, figure = against(view(found), Against("xy", "Grade and likeness", X, Y), PartIds(), "night")
    assert isinstance(table, Table)
    assert [one.name for one in table.rows] == ["a"]
    assert isinstance(figure, Figure)
    assert isinstance(figure.drawing, Scatter)
    assert [(one.name, one.x, one.y) for one in figure.drawing.points] == [("a", 2.0, 0.5)]
    assert [*against(view(found[1:]), Against("xy", "t", X, Y), PartIds(), "night")] == []


def test_before_and_after_are_joined_and_their_difference_has_the_smaller_n() -> None:
    found = [row("a", {"x": metric(0.5, 24), "y": metric(0.75, 20)}), row("b", {"x": 0.5})]
    table, figure = change(view(found), Change("c", "Raw, normalised", X, Y), PartIds(), "night")
    assert isinstance(table, Table)
    assert [one.name for one in table.rows] == ["a"]
    assert (table.rows[0].cells[2].value, table.rows[0].cells[2].n) == (0.25, 20)
    assert isinstance(figure, Figure)
    assert isinstance(figure.drawing, Joined)
    assert dict(figure.drawing.pairs) == {"a": (0.5, 0.75)}


@pytest.mark.parametrize("show", [against, change])
def test_no_row_with_both_shows_nothing(show: Any) -> None:
    shown = Against("xy", "t", X, Y) if show is against else Change("c", "t", X, Y)
    assert [*show(view([row("a", {"z": 1.0})]), shown, PartIds(), "night")] == []
