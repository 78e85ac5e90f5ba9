"""What a field makes of a cell, and what it refuses."""

from __future__ import annotations

import math
from typing import Any

import pytest

from harness.canonical import JSON
from harness.case_import.cells import is_empty, value_of
from harness.case_import.fields import Kind
from harness.case_import.literals import read_literal
from harness.case_import.row import CellError


@pytest.mark.parametrize(
    ("kind", "cell", "value"),
    [
        ("id", 7, "7"),
        ("id", " a ", " a "),
        ("name", 10**20, "1" + "0" * 20),
        ("text", " =x\r\n", " =x\r\n"),
        ("texts", '["a", "b"]', ["a", "b"]),
        ("texts", "['a', \"it's\"]", ["a", "it's"]),
        ("texts", "[]", []),
        ("texts", ("a",), ["a"]),
        ("tags", "one, two", ["one, two"]),
        ("tags", '["one"]', ["one"]),
        ("tags", " ", []),
        ("flag", True, True),
        ("flag", "Yes", True),
        ("flag", 1, True),
        ("flag", "TRUE", True),
        ("flag", "0", False),
        ("flag", "no", False),
        ("numbers", "18, 28", [18, 28]),
        ("numbers", "18", [18]),
        ("numbers", "[18, '28', 38.0]", [18, 28, 38]),
        ("numbers", "[]", []),
        ("numbers", "18.0", [18]),
        ("box", "[1, 2, 3, 4]", [1, 2, 3, 4]),
        ("box", [1.0, 2.0, 3.0, 4.0], [1, 2, 3, 4]),
        ("box", "1,2,3,4", [1, 2, 3, 4]),
        ("described", "{'flag': True, 'description': 'x'}", {"flag": True, "description": "x"}),
        ("described", "no", False),
        ("json", '{"a": [1, null]}', {"a": [1, None]}),
    ],
)
def test_a_cell_becomes_what_its_field_wants(kind: Kind, cell: object, value: JSON) -> None:
    found = value_of(kind, cell)
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    ("kind", "cell", "told"),
    [
        ("id", 7.0, "must be text or a whole number, got 7.0"),
        ("id", True, "must be text or a whole number, got true"),
        ("text", 5, "must be text, got 5"),
        ("text", ["a"], "must be text"),
        ("text", b"ab", "got 2 bytes"),
        ("texts", "a; b", 'must be a list as ["a", "b"]'),
        ("texts", "['a' 'b']", "two texts side by side"),
        ("texts", "['a'\n 'b']", "two texts side by side"),
        ("texts", "[1]", "must be a list of texts"),
        ("texts", "[__import__('os').getcwd()]", "is neither JSON nor a Python list"),
        ("texts", "[" * 5000, "is neither JSON nor a Python list"),
        ("texts", "{1, 2}", "is no JSON"),
        ("texts", "[b'a']", "is no JSON"),
        ("flag", "maybe", "must be true, yes, 1 or false, no, 0"),
        ("flag", 2, "must be true"),
        ("flag", 1.0, "must be true"),
        ("flag", "", "must be true"),
        ("numbers", "18 28", "is neither JSON"),
        ("numbers", "[1.5]", "must hold whole numbers, got 1.5"),
        ("numbers", [True], "must hold whole numbers, got true"),
        ("numbers", 18, "must be a list of whole numbers"),
        ("box", "[1, 2, 3]", "must be four whole numbers of pixels"),
        ("box", {"x": 1}, "must be a list of whole numbers"),
        ("json", "{'a': float('nan')}", "is neither JSON"),
        ("json", "NaN", "is neither JSON"),
    ],
)
def test_what_does_not_fit_is_refused_and_never_guessed(kind: Kind, cell: object, told: str) -> None:  # F12
    with pytest.raises(CellError) as error:
        value_of(kind, cell)
    assert told in str(error.value)


def test_missing_is_null_or_nan_and_nothing_else() -> None:
    empty: list[Any] = [None, math.nan]
    full: list[Any] = ["", 0, False, [], "nan"]
    assert all(map(is_empty, empty)) and not any(map(is_empty, full))


def test_python_text_is_read_to_a_bound() -> None:
    assert read_literal(repr(["x" * 1000] * 100)) == ["x" * 1000] * 100
    with pytest.raises(CellError, match="more than 64,000,000 characters"):
        read_literal("['" + "x" * 64_000_001 + "']")
