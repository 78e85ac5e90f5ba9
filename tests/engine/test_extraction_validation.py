"""Validation: what fits, and the sentence for what does not."""

from __future__ import annotations

import pytest

from harness.answers.validation import Validator
from harness.canonical import JSON
from harness.errors import ConfigError

FLAG = Validator({"type": "object", "properties": {"a b": {"enum": [0, 1]}}, "required": ["a b"]})


@pytest.mark.parametrize("value", [0, 1, 0.0, 1.0])
def test_enum_of_numbers_takes_numbers(value: JSON) -> None:
    assert FLAG.problem({"a b": value}) is None


@pytest.mark.parametrize("value", [True, False, "1", "1.0", 2, None, [1]])
def test_enum_of_numbers_takes_nothing_that_only_equals_them_in_python(value: JSON) -> None:
    assert FLAG.problem({"a b": value}) == '$["a b"] is not one of the allowed values'


@pytest.mark.parametrize(
    ("value", "fits"), [(7, True), (7.0, True), (7.5, False), (True, False), ("7", False)]
)
def test_integer_means_a_whole_number(value: JSON, fits: bool) -> None:
    assert Validator({"type": "integer"}).fits(value) is fits


@pytest.mark.parametrize(
    ("schema", "value", "problem"),
    [
        ({"type": ["string", "null"]}, 3, "$ must be string or null, not number"),
        ({"items": {"type": "string"}}, ["a", True], "$[1] must be string, not boolean"),
        ({"required": ["x", "y"]}, {"x": 1}, "$ lacks $.y"),
        ({"additionalProperties": False}, {"p": 1}, "$ has keys that are not allowed: $.p"),
        ({"minimum": 3}, 2, "$ breaks the rule 'minimum' of the schema"),
        ({"required": list("abcde")}, {}, "$ lacks $.a, $.b, $.c and 2 more"),
    ],
)
def test_problem_names_the_path_and_the_rule(schema: dict[str, JSON], value: JSON, problem: str) -> None:
    assert Validator(schema).problem(value) == problem


def test_problem_holds_nothing_of_a_text_and_little_of_a_long_key() -> None:
    check = Validator({"additionalProperties": {"type": "integer"}})

    problem = check.problem({"k" * 5000: "Mrs Smith"})

    assert problem is not None
    assert "Smith" not in problem and len(problem) < 200


def test_schema_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="not a JSON Schema"):
        Validator({"type": "strnig"})


@pytest.mark.parametrize("reference", ["https://example.org/other.json", "#/$defs/missing"])
def test_schema_that_refers_to_what_it_does_not_hold_is_refused(reference: str) -> None:
    with pytest.raises(ConfigError, match="does not hold"):
        Validator({"properties": {"x": {"$ref": reference}}})


def test_reference_within_the_schema_works() -> None:
    check = Validator({"$defs": {"n": {"type": "integer"}}, "properties": {"x": {"$ref": "#/$defs/n"}}})

    assert check.problem({"x": "1"}) == "$.x must be integer, not string"
