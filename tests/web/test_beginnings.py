"""Beginnings of long texts, whatever they are made of."""

from __future__ import annotations

from harness.report.page_text import inline
from harness.web.viewing.beginnings import MOST, beginning, decoded, one_line, readable


def test_a_short_text_is_whole_and_a_long_one_says_how_long_it_is() -> None:
    assert beginning("word").is_whole
    cut = beginning("x" * 10_000)
    assert (len(cut.text), cut.total, cut.is_whole) == (MOST, 10_000, False)


def test_a_text_of_marks_takes_no_more_room_on_a_page_than_another() -> None:
    plain, marks = beginning("x" * 10_000), beginning("\x00" * 10_000)
    assert len(inline(marks.text)) < 4 * len(inline(plain.text))


def test_a_line_quotes_a_long_text_by_its_beginning() -> None:
    assert one_line("a\n b") == "a b"
    assert one_line("word " * 2_000, 20) == "word word word word ... (10,000 characters)"


def test_values_are_readable_and_texts_stand_as_they_are() -> None:
    assert readable("\u4e2d\n<b>") == "\u4e2d\n<b>"
    assert readable({"a": ["\u4e2d"], "b": 1}) == '{\n  "a": [\n    "\u4e2d"\n  ],\n  "b": 1\n}'


def test_bytes_that_are_no_utf_8_stand_as_escapes() -> None:
    assert decoded("é".encode()) == ("é", True)
    assert decoded(b"a\xffb") == (r"a\xffb", False)
