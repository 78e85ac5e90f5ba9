"""Tables fit the terminal and stay aligned whatever is in them."""

from __future__ import annotations

import pytest

from harness.cli.tables import Column, cut, display_width, named_lines, render_table


def test_columns_are_aligned_and_numbers_stand_right() -> None:
    table = render_table([Column("name"), Column("n", right=True)], [["a", 5], ["longer", 1234]], width=80)
    assert table.splitlines() == ["name       n", "------  ----", "a          5", "longer  1234"]


def test_wide_and_combining_characters_take_their_true_width() -> None:
    assert [display_width(text) for text in ("ab", "牙科", "é", "🦷")] == [2, 4, 1, 2]
    lines = render_table([Column("x"), Column("y")], [["牙科", "|"], ["abcd", "|"]], width=80).splitlines()
    assert display_width(lines[2]) == display_width(lines[3]) == 7


@pytest.mark.parametrize(
    ("text", "width", "kept"), [("abcdef", 4, "abc…"), ("牙科牙科", 4, "牙…"), ("abc", 3, "abc")]
)
def test_what_is_too_long_ends_in_an_ellipsis(text: str, width: int, kept: str) -> None:
    assert cut(text, width) == kept


def test_only_shrinking_columns_give_way() -> None:
    columns = [Column("name"), Column("notes", shrink=True)]
    lines = render_table(columns, [["x" * 30, "y" * 90]], width=60).splitlines()
    assert lines[2].startswith("x" * 30)
    assert [len(line) for line in lines[1:]] == [60, 60]


def test_the_widest_of_them_gives_way_first() -> None:
    columns = [Column("a", shrink=True), Column("b", shrink=True)]
    lines = render_table(columns, [["x" * 10, "y" * 90]], width=60).splitlines()
    assert lines[2] == "x" * 10 + "  " + "y" * 47 + "…"


def test_a_table_that_cannot_shrink_is_left_whole() -> None:
    assert "x" * 90 in render_table([Column("name")], [["x" * 90]], width=60)


def test_control_characters_and_line_ends_cannot_break_the_table() -> None:
    lines = render_table([Column("x")], [["a\nb\x1b[31m"]], width=60).splitlines()
    assert lines[2] == "a b�[31m"


def test_nothing_is_shown_as_a_dash() -> None:
    assert render_table([Column("x"), Column("y")], [[None, 0]], width=60).splitlines()[2] == "-  0"


def test_a_name_that_has_to_be_typed_is_never_cut() -> None:
    columns = [Column("run"), Column("last session"), Column("exit", right=True)]
    name = "judge-of-a-run-of-many-models-over-night-1a2b3c4d"
    rows = [(name, "2026-11-30T09:51:21Z", 0), ("night", None, 3)]
    assert list(named_lines(columns, rows, 60)) == [
        "run    last session          exit",
        "-----  --------------------  ----",
        name,
        "       2026-11-30T09:51:21Z     0",
        "night  -                        3",
    ]
    whole = list(named_lines(columns, rows, 80))
    assert len(whole) == 4 and whole[2].startswith(f"{name}  2026")
