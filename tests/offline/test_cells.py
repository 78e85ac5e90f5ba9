from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import CaseFileError
from harness.offline.cells import escape_cell, unescape_cell

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=[]), max_size=60)


@given(ANY_TEXT)
def test_every_text_comes_back_from_its_cell(text: str) -> None:  # F45
    assert unescape_cell(escape_cell(text)) == text


@given(ANY_TEXT)
def test_every_cell_is_one_line_of_valid_utf8(text: str) -> None:  # F45
    cell = escape_cell(text)
    cell.encode("utf-8")
    assert len(f"{cell}x".splitlines()) == 1
    assert "\x00" not in cell


@pytest.mark.parametrize(
    "text",
    [
        "=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1",
        "\uff1d1", "\uff0b1", "\uff0d1", "\uff201", "\xa0=1", "'=1",
    ],
)
def test_no_cell_starts_like_a_formula(text: str) -> None:  # F45
    cell = escape_cell(text)
    assert cell[0] in "'\\"
    assert unescape_cell(cell) == text


def test_the_empty_text_is_not_an_empty_cell() -> None:
    assert escape_cell("") != ""
    assert unescape_cell(escape_cell("")) == ""
    assert unescape_cell(escape_cell(r"\e")) == r"\e"


def test_ordinary_text_stands_for_itself() -> None:
    text = 'Zahnarzt, "牙科" 🦷; a=b'
    assert escape_cell(text) == text


@pytest.mark.parametrize("cell", [r"a\qb", "ends in \\", r"\u00", r"\U0041"])
def test_an_escape_that_is_never_written_is_refused(cell: str) -> None:
    with pytest.raises(CaseFileError, match="unknown escape"):
        unescape_cell(cell)
