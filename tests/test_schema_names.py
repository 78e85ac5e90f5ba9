"""Property names that a schema mode refuses: aliases on the way there, true names on the way back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire_doubles import answer, ask, model, plain

from harness.answers.readings import read_answer
from harness.answers.validation import Validator
from harness.benchmarks.registry import get_benchmark
from harness.benchmarks.triage.taxonomy import answer_of
from harness.cache.key import names_sent, read_document, stored_document
from harness.canonical import JSON
from harness.errors import UnsupportedInputError
from harness.manifest import BlobRef, Manifest, ModelWanted, ReformatWanted, read_manifest
from harness.messages import Reply, Request, Schema
from harness.outcomes import ExchangeOutcome, UnitOutcome
from harness.providers.base import ADAPTERS, get_adapter
from harness.schema_names import aliased, restored, some_alias_matches

RULE = r"[a-zA-Z0-9_.-]{1,64}"
SPOKEN = [kind for kind in ADAPTERS if kind != "simulator"]
SCHEMA = get_benchmark("triage").schema("both")
assert SCHEMA is not None


def closed(**properties: JSON) -> dict[str, JSON]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def said(text: str, names: Mapping[str, str] | None) -> Reply:
    return Reply(ExchangeOutcome.ANSWERED, text, names=names)


def renamed(value: Any, table: Mapping[str, str]) -> Any:
    """Return a value as a model writes it that keeps to the aliases; `table` is name -> alias."""
    if isinstance(value, Mapping):
        return {table.get(key, key): renamed(item, table) for key, item in value.items()}
    return [renamed(item, table) for item in value] if isinstance(value, list | tuple) else value


def all_keys(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        for key, value in schema.items():
            if key == "properties":
                yield from value
            yield from all_keys(value)
    elif isinstance(schema, list):
        for item in schema:
            yield from all_keys(item)


def test_a_schema_without_such_names_is_sent_as_it_is() -> None:
    schema = closed(a={"type": "string"})
    assert aliased(schema, RULE) == (schema, {})
    assert aliased(SCHEMA.body, None) == (SCHEMA.body, {})


def test_the_labels_of_triage_get_readable_aliases_that_tell_the_label() -> None:
    sent, names = aliased(SCHEMA.body, RULE)
    assert names["Molar_endodontics"] == "Molar endodontics"
    assert names["Minor_O_S"] == "Minor O.S."
    assert len(names) == 22 - len(["Exodontia"])
    assert all(re.fullmatch(RULE, key) for key in all_keys(sent))
    endo = plain(sent)["properties"]["triage_output"]["properties"]["Endo"]
    assert endo["required"] == ["Endodontics_Anterior_and_or_premolars", "Molar_endodontics"]
    assert endo["properties"]["Molar_endodontics"] == {
        "type": "integer",
        "enum": [0, 1],
        "description": 'Stands for the key "Molar endodontics"',
    }


def test_aliases_depend_on_the_names_and_not_on_their_order() -> None:
    names = ["a b", "a/b", "a_b", "ä b", "x" * 70, "x" * 71, "你好", "\ud800"]
    forward = aliased(closed(**dict.fromkeys(names, True)), RULE)[1]
    assert forward == aliased(closed(**dict.fromkeys(reversed(names), True)), RULE)[1]
    assert forward == {
        "a_b_2": "a b", "a_b_3": "a/b", "a_b_4": "ä b", "x" * 64: "x" * 70, "x" * 63 + "2": "x" * 71,
        "name": "你好", "name2": "\ud800",
    }  # fmt: skip


def test_every_place_where_a_schema_names_a_property_is_renamed_and_no_value_is() -> None:
    schema = {
        "$defs": {"part of it": closed(**{"x y": {"enum": ["x y", "a b"]}})},
        "properties": {"a b": {"$ref": "#/$defs/part of it"}, "c d": False, "e f": {"description": "old"}},
        "required": ["a b"],
        "dependentRequired": {"a b": ["c d"]},
        "dependentSchemas": {"a b": {"required": ["x y"]}},
        "anyOf": [{"properties": {"a b": {"const": {"a b": 1}}}}, {"items": [closed(**{"g h": True})]}],
        "default": {"a b": 1},
        "examples": [{"properties": {"a b": 1}}],
    }
    sent, names = aliased(schema, RULE)
    assert sent == {
        "$defs": {
            "part of it": {
                "type": "object",
                "properties": {"x_y": {"enum": ["x y", "a b"], "description": 'Stands for the key "x y"'}},
                "required": ["x_y"],
                "additionalProperties": False,
            }
        },
        "properties": {
            "a_b": {"description": 'Stands for the key "a b"', "anyOf": [{"$ref": "#/$defs/part of it"}]},
            "c_d": False,
            "e_f": {"description": 'Stands for the key "e f". old'},
        },
        "required": ["a_b"],
        "dependentRequired": {"a_b": ["c_d"]},
        "dependentSchemas": {"a_b": {"required": ["x_y"]}},
        "anyOf": [
            {"properties": {"a_b": {"const": {"a b": 1}, "description": 'Stands for the key "a b"'}}},
            {
                "items": [
                    {
                        "type": "object",
                        "properties": {"g_h": {"description": 'Stands for the key "g h"'}},
                        "required": ["g_h"],
                        "additionalProperties": False,
                    }
                ]
            },
        ],
        "default": {"a b": 1},
        "examples": [{"properties": {"a b": 1}}],
    }
    assert names == {"a_b": "a b", "c_d": "c d", "e_f": "e f", "x_y": "x y", "g_h": "g h"}


@pytest.mark.parametrize(
    "rest",
    [
        {"patternProperties": {"^a b$": True}},
        {"propertyNames": {"maxLength": 3}},
        {"not": {"$ref": "#/properties/a b"}},
    ],
)
def test_a_schema_that_aliases_would_change_is_refused(rest: Any) -> None:
    assert aliased({**closed(a=True), **rest}, RULE)[1] == {}
    with pytest.raises(UnsupportedInputError, match="--structured off"):
        aliased({**closed(**{"a b": True}), **rest}, RULE)


def test_a_rule_that_no_alias_fulfils_is_refused() -> None:
    with pytest.raises(UnsupportedInputError, match="schema_names 'q'"):
        aliased(closed(**{"a b": True}), "q")
    assert not some_alias_matches("q")
    assert some_alias_matches("[a-z]{3,5}")
    with pytest.raises(re.error):
        some_alias_matches("[")


NAMES = st.lists(st.text(max_size=80), max_size=12, unique=True)


@given(NAMES, st.sampled_from([RULE, "[A-Za-z][A-Za-z0-9_]*", "[a-z0-9]{1,8}", ".*"]))
def test_aliases_are_as_many_as_names_and_lead_back(listed: list[str], rule: str) -> None:
    schema = {"type": "object", "properties": {name: {"type": "integer"} for name in listed}}
    sent, names = aliased(schema, rule)
    keys = sent["properties"]
    assert isinstance(keys, Mapping)
    assert [names.get(key, key) for key in keys] == listed
    assert all(re.fullmatch(rule, key) for key in keys)
    assert not names.keys() & set(listed)
    text = json.dumps(dict.fromkeys(keys, 1), ensure_ascii=False)
    assert json.loads(restored(text, names), strict=False) == dict.fromkeys(listed, 1)


VALUES = st.recursive(
    st.none() | st.integers() | st.sampled_from(["a_b", '"a_b": 1', '{"a_b": 1}', 'x "a_b"', "a_b:", "\\"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["q", "a b", 'x"y']), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES, st.sampled_from([None, 1]))
def test_only_keys_are_restored_and_no_value(value: Any, indent: int | None) -> None:
    table = {"a b": "a_b", 'x"y': "x_y"}
    text = json.dumps(renamed(value, table), indent=indent)
    assert json.loads(restored(text, {alias: name for name, alias in table.items()})) == value


def test_a_run_without_a_rule_keeps_the_identity_that_it_had() -> None:
    wanted = ModelWanted("openai", "lab", "weights", {}, "max_tokens", {})
    ref = BlobRef("x", "0" * 64)
    reformat = ReformatWanted(ref, {"r": wanted}, {})

    def manifest(of: ModelWanted) -> Manifest:
        return Manifest("triage", ref, 1, True, {}, {"m": of}, reformat, 3, "same", None, "schema", 1)

    without, ruled = manifest(wanted), manifest(replace(wanted, schema_names=RULE))
    assert "schema_names" not in json.dumps(without.to_json())
    assert without.digest() != ruled.digest()
    assert (read_manifest(without.to_json()), read_manifest(ruled.to_json())) == (without, ruled)


# --- from a model's text to a prediction ---

CHECK = Validator(SCHEMA.body)
_SENT, SENT_NAMES = aliased(SCHEMA.body, RULE)
TRUE = {**answer_of(["Molar endodontics", "Exodontia"]), "reasoning": 'I set "Molar_endodontics": 1'}
WRITTEN = renamed(TRUE, {name: alias for alias, name in SENT_NAMES.items()})


def test_an_answer_in_aliases_is_valid_and_not_recovered() -> None:
    reading = read_answer(said(json.dumps(WRITTEN), SENT_NAMES), CHECK)
    assert (reading.outcome, reading.prediction) == (UnitOutcome.VALID, json.loads(json.dumps(TRUE)))


def test_an_answer_in_the_true_names_is_valid_too() -> None:
    reading = read_answer(said(json.dumps(TRUE), SENT_NAMES), CHECK)
    assert (reading.outcome, reading.prediction) == (UnitOutcome.VALID, json.loads(json.dumps(TRUE)))


def test_text_around_an_answer_in_aliases_makes_it_recovered_as_ever() -> None:
    reading = read_answer(said(f"Here: {json.dumps(WRITTEN)}", SENT_NAMES), CHECK)
    assert (reading.outcome, reading.prediction) == (UnitOutcome.RECOVERED, json.loads(json.dumps(TRUE)))


def test_aliases_that_nobody_asked_for_are_no_names() -> None:
    assert read_answer(said(json.dumps(WRITTEN), None), CHECK).outcome is UnitOutcome.UNPARSABLE


def test_a_key_under_both_of_its_names_is_no_answer() -> None:
    once = '"Molar_endodontics": 1'
    text = json.dumps(WRITTEN).replace(once, f'{once}, "Molar endodontics": 0')
    assert once in text
    assert read_answer(said(text, SENT_NAMES), CHECK).outcome is UnitOutcome.UNPARSABLE


def test_an_unusable_answer_is_handed_on_under_its_true_names_and_as_it_was_written() -> None:
    text = '<think>hm</think>{"Molar_endodontics": 7}'
    reading = read_answer(said(text, SENT_NAMES), CHECK)
    assert reading.answer.strip() == '{"Molar endodontics": 7}'
    assert reading.as_written.strip() == '{"Molar_endodontics": 7}'


# --- what is sent and kept ---


def asked_of(kind: str, schema: Mapping[str, JSON], rule: str | None, structured: str = "schema") -> Any:
    asked: Request = ask(schema=Schema("s-v1", "0" * 64, schema), structured=structured)
    to = model(kind, provider_fields={"schema_names": rule}, max_output_tokens=9)
    return get_adapter(kind).build(asked, to)


@pytest.mark.parametrize("kind", SPOKEN)
def test_every_format_sends_aliases_where_its_provider_states_a_rule(kind: str) -> None:
    wire = asked_of(kind, closed(**{"a b": {"type": "integer"}}), RULE)
    assert wire.names == {"a_b": "a b"}
    assert list(all_keys(plain(wire.body))) == ["a_b"]


@pytest.mark.parametrize("kind", SPOKEN)
def test_only_anthropics_format_has_a_rule_of_its_own(kind: str) -> None:
    wire = asked_of(kind, closed(**{"a b": {"type": "integer"}}), None)
    assert wire.names == ({"a_b": "a b"} if kind == "anthropic" else {})
    assert list(all_keys(plain(wire.body))) == ["a_b" if kind == "anthropic" else "a b"]
    assert asked_of(kind, closed(**{"a b": {"type": "integer"}}), ".*").names == {}


@pytest.mark.parametrize("kind", SPOKEN)
def test_nothing_is_renamed_outside_of_schema_mode(kind: str) -> None:
    assert asked_of(kind, closed(**{"a b": True}), RULE, "off").names == {}


@pytest.mark.parametrize("kind", SPOKEN)
def test_two_names_with_one_slug_never_make_one_request(kind: str) -> None:  # F1
    names = ("a b", "a/b", "a_b", "ä b")
    bodies = [asked_of(kind, closed(**{name: {"type": "integer"}}), RULE).body for name in names]
    assert all(plain(one) != plain(other) for one in bodies for other in bodies if one is not other)


def test_names_are_kept_with_the_request_and_are_no_part_of_its_body() -> None:
    stored = stored_document(b'{"model":"m"}', {"x": "1"}, {"a_b": "a b"})
    assert json.loads(stored) == {"$headers": {"x": "1"}, "$names": {"a_b": "a b"}, "model": "m"}
    assert read_document(stored) == ({"model": "m"}, {"x": "1"})
    assert names_sent(stored) == {"a_b": "a b"}
    assert stored_document(b"{}", {}, {"a_b": "a b"}) == b'{"$headers":{},"$names":{"a_b":"a b"}}'


def test_a_request_that_only_speaks_of_names_has_none() -> None:
    inner = json.dumps({"properties": {"$names": {"a": "b"}}, "text": '"$names":'}, separators=(",", ":"))
    assert names_sent(stored_document(inner.encode(), {}, {})) is None


def test_what_an_answer_was_asked_for_does_not_change_what_was_said() -> None:
    raw = answer({"choices": [{"message": {"content": json.dumps(WRITTEN)}, "finish_reason": "stop"}]})
    reply = get_adapter("openai").read_reply(raw, model("openai").provider)
    assert isinstance(reply, Reply)
    assert (reply.text, reply.names) == (json.dumps(WRITTEN), None)
