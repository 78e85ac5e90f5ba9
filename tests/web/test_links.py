"""Whole numbers in addresses: what is none is told from what is one, whatever it looks like."""

from __future__ import annotations

import pytest

from harness.web.links import whole_number


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("007", 7), ("9" * 18, 10**18 - 1)])
def test_digits_are_a_number(text: str, number: int) -> None:
    assert whole_number(text) == number


@pytest.mark.parametrize(
    "text", [None, "", "-1", "+1", " 1", "1_0", "1.0", "x", "\u0661", "\u00b2", "9" * 19, "9" * 10_000, "1\0"]
)
def test_whatever_else_is_none(text: str | None) -> None:
    assert whole_number(text) is None
