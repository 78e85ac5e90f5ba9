"""Notes on intervals: one line a kind, with ranges; what misleads apart from how they were made."""

from __future__ import annotations

from typing import Any

from report.score_examples import columns, metric, row

from harness.report.interval_notes import interval_remarks, misleading_intervals
from harness.report.truth import FEW_CASES

ANY = columns("x")


def misleading(rows: list[dict[str, Any]], shown: Any = ANY) -> list[str]:
    return [*misleading_intervals(rows, shown, "as_answered")]


def remarks(rows: list[dict[str, Any]], shown: Any = ANY) -> list[str]:
    return [*interval_remarks(rows, shown, "as_answered")]


def noted(note: str) -> dict[str, Any]:
    return metric((0.5, 0.4, 0.6), ci_note=note)


def test_what_is_doubtful_is_told_with_whose_it_is() -> None:
    beside = metric((0.5, 0.6, 0.7))
    rows = [
        row("alpha", {"x": noted("an extreme resample is an endpoint; it may be too narrow")}),
        row("beta", {"x": beside}),
        row("gamma", {"x": (0.5, 0.4, 0.6)}),
    ]
    assert misleading(rows) == [
        "95 % interval: it may be too narrow (x: alpha)",
    ]  # that an interval leaves out its number stands at that number
    assert remarks(rows) == ["95 % interval: an extreme resample is an endpoint (x: alpha)"]


def test_of_intervals_that_are_not_shown_one_note_says_why_and_no_other_is_about_them() -> None:
    few = metric((1.0, 0.0, 2.0), 2, ci_note="it may be too narrow; undefined in 84 of 2000 resamples")
    rows = [row("alpha", {"x": few}), row("beta", {"x": few})]
    assert misleading(rows) == [FEW_CASES]
    assert remarks(rows) == []
    assert misleading([row("alpha", {"x": metric((1.0, 0.0, 2.0), 2, ci_method="clopper-pearson")})]) == []


def test_why_there_is_none_is_technical_as_the_cell_shows_it_too() -> None:
    rows = [row("alpha", {"x": metric(1.0, ci_reason="the same in every resample")})]
    assert misleading(rows) == []
    assert remarks(rows) == ["95 % interval: there is none: the same in every resample (x: alpha)"]


def test_notes_that_differ_in_numbers_alone_are_one_line_with_the_ranges() -> None:
    two = columns("x", "y")
    rows = [
        row("a", {"x": noted("undefined in 84 of 2000 resamples, left out"), "y": 0.5}),
        row("b", {"x": 0.5, "y": noted("undefined in 1 of 2000 resamples, left out")}),
    ]
    assert remarks(rows, two) == [
        "95 % interval: undefined in 1 to 84 of 2,000 resamples, left out (some rows of all columns)"
    ]
    assert remarks(rows[:1], two) == ["95 % interval: undefined in 84 of 2,000 resamples, left out (x: a)"]


def test_a_warning_keeps_every_row_and_column_it_is_about() -> None:
    two = columns("x", "y")
    few = "{} of {} labels have fewer than 5 positive units: it may be too narrow"
    rows = [
        row("a", {"x": noted(few.format(16, 22)), "y": noted(few.format(2, 8))}),
        row("b", {"x": noted(few.format(17, 22)), "y": 0.5}),
    ]
    assert misleading(rows, two) == [
        "95 % interval: 2 to 17 of 8 to 22 labels have fewer than 5 positive units: it may be too narrow "
        "(x: all rows; y: a)"
    ]


def test_a_note_of_an_unknown_kind_is_taken_for_a_warning() -> None:
    rows = [row("a", {"x": noted("made of something new")})]
    assert misleading(rows) == ["95 % interval: made of something new (x: a)"]
    assert remarks(rows) == []


def test_numbers_with_decimals_and_one_row_in_all_columns() -> None:
    two = columns("x", "y")
    rows = [
        row(
            "nothing",
            {"x": noted("undefined in 0.5 of 1,000 draws"), "y": noted("undefined in 2 of 1,000 draws")},
        ),
        row("b", {"x": 0.5, "y": 0.5}),
    ]
    assert remarks(rows, two) == [
        "95 % interval: undefined in 0.5 to 2 of 1,000 draws (all columns: nothing)"
    ]
