"""The quick check of schemas says yes only where jsonschema does."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from harness.answers.quick_fit import quick_fit
from harness.answers.validation import Validator
from harness.benchmarks.registry import get_benchmark
from harness.benchmarks.triage.taxonomy import LABELS, answer_of

TRIAGE = get_benchmark("triage")
NAMES = st.sampled_from(["a", "b", "c"])
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-1, 2), st.sampled_from([0.0, 1.0, 1.5, "", "a", "7", "\ud800"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
TYPES = st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null"])


def schemas() -> st.SearchStrategy[Any]:
    """Return schemas of known and unknown keywords, closed and open, nested."""
    leaf: st.SearchStrategy[Any] = st.booleans() | st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
            "enum": st.lists(VALUES, min_size=1, max_size=4),
            "title": st.just("words"),
            "minimum": st.integers(0, 1),
            "maxLength": st.integers(0, 1),
        },
    )

    def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.fixed_dictionaries(
            {},
            optional={
                "$schema": st.sampled_from(
                    ["https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-04/schema#"]
                ),
                "type": TYPES | st.just(["object", "null"]),
                "properties": st.dictionaries(NAMES, inner, max_size=3),
                "required": st.lists(NAMES, max_size=2, unique=True),
                "additionalProperties": st.booleans() | inner,
                "items": inner,
                "prefixItems": st.lists(inner, min_size=1, max_size=1),
                "patternProperties": st.dictionaries(NAMES, inner, min_size=1, max_size=1),
                "not": inner,
                "minItems": st.integers(0, 2),
                "uniqueItems": st.booleans(),
                "const": SCALARS,
            },
        )

    return st.recursive(leaf, nested, max_leaves=6)


@pytest.mark.slow
@settings(max_examples=600, deadline=None)
@given(schemas(), VALUES)
def test_whatever_is_accepted_quickly_fits_by_jsonschema(schema: Any, value: Any) -> None:
    if quick_fit(schema)(value):
        assert Draft202012Validator(schema).is_valid(value)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "integer", "enum": [0, 1]}, True),
        ({"enum": [0, 1]}, False),
        ({"enum": [True]}, 1),
        ({"type": "number"}, True),
        ({"type": "object", "additionalProperties": False}, {"a": 1}),
        ({"type": "object", "required": ["a"]}, {}),
        ({"type": "array", "items": {"type": "string"}}, ["a", 1]),
        ({"type": "string", "minLength": 2}, "a"),
        (False, 1),
    ],
)
def test_what_does_not_fit_is_never_accepted(schema: Any, value: Any) -> None:
    assert not quick_fit(schema)(value)


def test_a_schema_of_another_draft_is_left_to_jsonschema() -> None:
    draft_4 = {"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer"}
    assert not quick_fit(draft_4)(1)
    assert quick_fit(draft_4 | {"$schema": "https://json-schema.org/draft/2020-12/schema"})(1)


def broken(answer: dict[str, Any], domain: str, label: str, change: str) -> Any:
    found = copy.deepcopy(answer)
    members = found["triage_output"][domain]
    match change:
        case "true":
            members[label] = True
        case "float":
            members[label] = 1.0
        case "two":
            members[label] = 2
        case "text":
            members[label] = "1"
        case "null":
            members[label] = None
        case "missing":
            del members[label]
        case "extra":
            members["Something else"] = 0
        case "list":
            found["triage_output"][domain] = [members]
        case "no reasoning":
            del found["reasoning"]
    return found


@pytest.mark.parametrize(
    "change",
    ["none", "true", "float", "two", "text", "null", "missing", "extra", "list", "no reasoning"],
)
@pytest.mark.parametrize("reformat", [False, True])
def test_a_triage_answer_fits_exactly_where_jsonschema_says_so(change: str, reformat: bool) -> None:
    schema = TRIAGE.reformat_schema("both") if reformat else TRIAGE.schema("both")
    assert schema is not None
    body = json.loads(json.dumps(schema.body))
    value = broken(answer_of([LABELS[3]], "because"), "Endo", "Molar endodontics", change)
    assert Validator(body).fits(value) is Draft202012Validator(body).is_valid(value)
    if change == "none":
        assert quick_fit(body)(value), "the usual answer must not need jsonschema"
