"""Extraction: aliases, kinds of problems, list schemas, and time."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.answers.extraction import extract
from harness.answers.strict_json import MAX_DEPTH, StrictJsonError, parse_strict
from harness.answers.validation import Validator
from harness.canonical import JSON, canonical_json

SCHEMA: dict[str, JSON] = {
    "type": "object",
    "properties": {"sign": {"enum": ["left", "right"]}, "count": {"type": "integer"}},
    "required": ["sign", "count"],
    "additionalProperties": False,
}
CHECK = Validator(SCHEMA)
LISTS = Validator({"type": "array", "items": {"type": "integer"}})
GOOD = '{"sign": "left", "count": 1}'
OTHER = '{"sign": "right", "count": 2}'


def links_for_left(value: JSON) -> JSON:
    """Return the value with the documented alias "links" for "left" replaced."""
    if isinstance(value, dict) and value.get("sign") == "links":
        return {**value, "sign": "left"}
    return value


@pytest.mark.parametrize(
    "text",
    [
        '{"sign": "links", "count": 1}',
        'So: {"sign": "links", "count": 1}!',
        '{"a": {"sign": "links", "count": 1}}',
    ],
)
def test_documented_alias_is_accepted_and_marked(text: str) -> None:
    found = extract(text, CHECK, links_for_left)

    assert (found.value, found.how) == ({"sign": "left", "count": 1}, "alias")


def test_alias_and_plain_spelling_of_one_answer_are_the_same_answer() -> None:
    found = extract(f'{GOOD} {{"sign": "links", "count": 1}}', CHECK, links_for_left)

    assert found.value == {"sign": "left", "count": 1}


def test_undocumented_spelling_is_not_accepted() -> None:
    assert extract('{"sign": "Left", "count": 1}', CHECK, links_for_left).how is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (" \n", "blank"),
        ("left, one of them", "no_json"),
        ('{"sign": "left", "count": 1,}', "broken_json"),
        ("{'sign': 'left'}", "broken_json"),
        ('{"sign": "left"}', "schema"),
        (GOOD + OTHER, "ambiguous"),
        ("<think>" + GOOD, "unclosed_reasoning"),
    ],
)
def test_nothing_taken_says_what_kind_of_problem_it_was(text: str, kind: str) -> None:
    assert extract(text, CHECK).kind == kind


def test_problem_of_a_near_miss_names_its_path() -> None:
    problem = extract('Here: {"sign": "left", "count": "1"}', CHECK).problem

    assert problem == "the value does not fit the schema: $.count must be integer, not string"


def test_true_and_one_are_different_answers() -> None:
    check = Validator({"type": "object", "required": ["x"], "properties": {"x": {"enum": [1, True]}}})

    assert extract('{"x": 1} {"x": true}', check).kind == "ambiguous"


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "Infinity", "9" * 5000])
def test_number_that_cannot_be_held_is_refused(number: str) -> None:
    assert extract(f'{{"x": {number}}}', Validator({"type": "object"})).kind == "broken_json"


def test_list_is_taken_out_of_prose_when_the_schema_is_for_lists() -> None:
    assert extract("These teeth: [11, 12], nothing else", LISTS).value == [11, 12]


def test_list_of_one_list_is_unwrapped() -> None:
    assert extract("[[11, 12]]", LISTS).value == [11, 12]


def test_number_in_prose_is_never_taken() -> None:
    assert extract("The answer is 7.", Validator({"type": "integer"})).how is None


def test_null_can_be_the_whole_answer() -> None:
    found = extract("null", Validator({"type": "null"}))

    assert (found.value, found.how) == (None, "whole")


def test_value_nested_beyond_reason_is_refused() -> None:
    anything = Validator({"type": "object"})

    assert extract('{"a":' * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1), anything).how is None
    assert extract('{"a":' * MAX_DEPTH + "1" + "}" * MAX_DEPTH, anything).how == "whole"


HOSTILE = {
    "open braces": "{",
    "open brackets": "[",
    "open lists of objects": "[{",
    "keys without end": '{"a":',
    "keys without values": '{"a":}',
    "keys without colons": '{"a"}',
    "open quotes": '{"',
    "escaped quotes": '{"\\"',
    "backslashes": "\\",
    "quotes": '"',
    "reasoning opened": "<think>",
    "reasoning closed": "</think>",
    "reasoning over and over": "<think></think>",
    "objects cut by tags": '{"a":</think>',
    "tags in cut strings": '{"a":"</think>',
    "objects that do not fit": '{"sign": "up"} ',
    "answers over and over": GOOD,
    "list items": "[1]",
    "braces and spaces": "{ ",
    "bare keys": "{a:",
    "single quotes": "{'a",
}


@pytest.mark.parametrize("check", [CHECK, LISTS], ids=["object", "list"])
@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE.keys())
def test_time_grows_no_faster_than_the_text(unit: str, check: Validator) -> None:
    def seconds(size: int) -> float:
        text = unit * (size // len(unit))
        start = time.process_time()
        extract(text, check)
        return time.process_time() - start

    # Sixteen times the text: about 16 times the time if linear, 256 times if quadratic.
    assert seconds(160_000) < 80 * max(seconds(10_000), 0.001)


@pytest.mark.parametrize("text", ["[" * 300_000 + "]" * 300_000, '{"a":' * 200_000, "1" * 300_000])
def test_what_overflows_a_parser_is_refused_not_raised(text: str) -> None:
    assert extract(text, CHECK).how is None
    with pytest.raises(StrictJsonError):
        parse_strict(text)


JSON_BITS = [GOOD, OTHER, GOOD[:12], '{"sign": "links", "count": 1}', json.dumps(GOOD), '{"a": ', "{'a': "]
MARKS = ["{", "}", "[", "]", '"', "\\", ",", ":", "1", "left", "NaN", '"a"', "\ufeff", " "]
TAGS = ["<think>", "</think>", "```json\n", "\n```"]
SNIPPETS = st.sampled_from([*JSON_BITS, *MARKS, *TAGS])
ANSWERS = st.lists(st.one_of(SNIPPETS, st.text(max_size=6)), max_size=9).map("".join)


@settings(max_examples=200, deadline=None)
@given(ANSWERS)
def test_whatever_is_taken_fits_and_stands_in_the_answer(text: str) -> None:
    found = extract(text, CHECK, links_for_left)

    if found.how is None:
        assert found.value is None and found.problem and found.kind
        return
    assert CHECK.fits(found.value)
    if found.how != "alias":
        spelled = next(one for one in (GOOD, OTHER) if json.loads(one) == found.value)
        escaped = json.dumps(spelled)[1:-1]
        assert spelled in text or escaped in text or escaped in text.replace("\\\\", "\\")


@settings(max_examples=200, deadline=None)
@given(ANSWERS)
def test_two_different_answers_outside_reasoning_are_never_decided(text: str) -> None:
    for joined in (f"{GOOD}\n{OTHER}\n{text}", f"{GOOD} or {OTHER}"):
        found = extract(joined, CHECK)
        if found.how is not None:  # only a closing tag of reasoning can take both away
            assert "</think>" in text


SCALARS = st.none() | st.booleans() | st.integers() | st.text()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
)


@given(VALUES)
def test_strict_json_reads_back_what_was_written(value: JSON) -> None:
    assert canonical_json(parse_strict(json.dumps(value))) == canonical_json(value)
