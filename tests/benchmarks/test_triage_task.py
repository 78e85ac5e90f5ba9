"""The triage benchmark object: labels, schemas, prompts, rendering, aliases."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from harness.benchmarks.base import Case, Prompt
from harness.benchmarks.prompts import load_prompt, placeholders, render
from harness.benchmarks.registry import chosen_conventions, get_benchmark
from harness.benchmarks.scored import UnitTable
from harness.benchmarks.triage import taxonomy
from harness.benchmarks.triage.task import Triage
from harness.errors import ConfigError, MediaError, UnknownNameError
from harness.media import Media
from harness.messages import ImagePart, Message, Schema, TextPart

SPEC = Path(__file__).resolve().parents[3] / "shared" / "spec" / "benchmarks.yaml"
IMAGE = Media("ab" * 32, "image/png", 1, 1, 1)
CASE = Case(
    "c",
    {"chief_complaint": "it {hurts} {{a lot}}"},
    {"opg": (IMAGE,)},
    {"labels": ["Exodontia"], "rationale": "secret"},
)
TRIAGE = Triage()


def _body(schema: Schema | None) -> Any:
    assert schema is not None
    return schema.body


def _answer(*labels: str) -> Any:
    return taxonomy.answer_of(labels)


def _texts(messages: Sequence[Message]) -> str:
    return "".join(part.text for message in messages for part in message.parts if isinstance(part, TextPart))


def test_the_labels_are_those_of_the_paper() -> None:
    if not SPEC.exists():
        pytest.skip("the facts file is not here")
    block = re.search(
        r"\n  taxonomy:.*?\n(.*?)\n  taxonomy_quirks:", SPEC.read_text(encoding="utf-8"), re.DOTALL
    )
    assert block is not None
    found: dict[str, tuple[str, ...]] = {}
    for line in block[1].splitlines():
        if domain := re.match(r"    (\w+):$", line):
            found[domain[1]] = ()
        elif label := re.match(r'      - "(.*?)"', line):
            found[list(found)[-1]] += (label[1],)
    assert found == dict(taxonomy.DOMAINS)
    assert (len(found), len(taxonomy.LABELS)) == (8, 22)


def test_the_schema_asks_for_exactly_the_taxonomy() -> None:
    body = _body(TRIAGE.schema("both"))
    domains = body["properties"]["triage_output"]
    assert body["required"] == ["triage_output", "reasoning"]
    assert {d: tuple(s["properties"]) for d, s in domains["properties"].items()} == dict(taxonomy.DOMAINS)
    for part in (body, domains, *domains["properties"].values()):
        assert part["additionalProperties"] is False
        assert part["required"] == list(part["properties"])


@pytest.mark.parametrize("flag", [2, -1, True, "1", None, 0.5])
def test_the_schema_takes_only_0_and_1(flag: Any) -> None:
    answer = _answer()
    check = Draft202012Validator(_body(TRIAGE.schema("both")))
    assert check.is_valid(answer)
    answer["triage_output"]["OMFS"]["Exodontia"] = flag
    assert not check.is_valid(answer)


def test_the_reformatters_schema_lets_everything_be_null_or_absent_but_adds_no_key() -> None:
    check = Draft202012Validator(_body(TRIAGE.reformat_schema("both")))
    nulls = {d: dict.fromkeys(labels) for d, labels in taxonomy.DOMAINS.items()}
    for answer in ({}, {"triage_output": None}, {"triage_output": nulls, "reasoning": None}, _answer()):
        assert check.is_valid(answer)
    assert not check.is_valid({"triage_output": {"OMFS": {"Other": 1}}})


@pytest.mark.parametrize("condition", TRIAGE.conditions)
def test_our_prompts_show_the_whole_form_and_no_other_placeholder(condition: str) -> None:
    prompt = TRIAGE.prompt(condition)
    assert placeholders(prompt) == (set() if condition == "opg" else {"chief_complaint"})
    text = render(prompt, {"chief_complaint": "X"})
    form = json.loads(text[text.index("{") : text.rindex("}") + 1])
    assert {d: tuple(labels) for d, labels in form["triage_output"].items()} == dict(taxonomy.DOMAINS)
    assert list(form) == ["triage_output", "reasoning"]


def test_the_reformatters_prompt_takes_the_answer_and_nothing_of_the_case() -> None:
    prompt = TRIAGE.reformat_prompt("both")
    assert placeholders(prompt) == {"answer"}
    assert all(label in prompt.text for label in taxonomy.LABELS)


@pytest.mark.parametrize(
    ("condition", "complaint", "image"),
    [("both", True, True), ("complaint", True, False), ("opg", False, True)],
)
def test_a_condition_shows_only_its_inputs(condition: str, complaint: bool, image: bool) -> None:  # F9
    (message,) = TRIAGE.render(CASE, condition, TRIAGE.prompt(condition))
    assert message.role == "user"
    assert isinstance(message.parts[0], TextPart)
    assert list(message.parts[1:]) == ([ImagePart(IMAGE)] if image else [])
    assert ("it {hurts} {{a lot}}" in _texts([message])) is complaint
    assert "secret" not in _texts([message])


def test_a_case_without_its_image_is_not_asked_without_it() -> None:  # F16
    bare = Case("c", CASE.fields, {}, CASE.reference, problem="gone")
    with pytest.raises(MediaError, match="'c' has no usable image: gone"):
        TRIAGE.render(bare, "both", TRIAGE.prompt("both"))
    assert TRIAGE.render(bare, "complaint", TRIAGE.prompt("complaint"))


def test_double_braces_of_the_users_prompt_are_single_ones() -> None:
    (message,) = TRIAGE.render(CASE, "opg", Prompt("p.txt", "0", "Look at this {{x}}."))
    assert message.parts == (TextPart("Look at this {x}."), ImagePart(IMAGE))


@pytest.mark.parametrize(
    ("condition", "text", "says"),
    [
        ("opg", "{chief_complaint}", "'opg' shows nothing of the complaint"),
        ("complaint", "Guess.", "put it where the complaint goes"),
        ("both", "Guess.", "choose --conditions opg"),
        (
            "both",
            "{labels}",
            r"unknown placeholder '\{labels\}' in prompt 'p.txt'; known: \{chief_complaint\}",
        ),
        ("both", "{chief_complaint!r}", "unknown placeholder"),
    ],
)
def test_a_prompt_that_cannot_serve_is_refused(condition: str, text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        TRIAGE.render(CASE, condition, Prompt("p.txt", "0", text))


def test_the_other_spelling_of_the_consult_label_is_replaced() -> None:
    answer = _answer("Other OMSF Consult")
    other = json.loads(json.dumps(answer).replace("OMSF", "OMFS"))
    renamed: Any = TRIAGE.aliases(other)
    assert renamed == answer
    assert list(renamed["triage_output"]["OMFS"]) == list(answer["triage_output"]["OMFS"])


@pytest.mark.parametrize(
    "value", [None, 3, [], {}, {"triage_output": []}, {"triage_output": {"OMFS": 1}}, _answer()]
)
def test_a_value_without_an_alias_comes_back_as_the_same_object(value: Any) -> None:
    assert TRIAGE.aliases(value) is value


def test_both_spellings_at_once_are_left_for_the_schema_to_refuse() -> None:
    answer = _answer()
    answer["triage_output"]["OMFS"]["Other OMFS Consult"] = 1
    assert TRIAGE.aliases(answer) is answer
    assert not Draft202012Validator(_body(TRIAGE.schema("both"))).is_valid(answer)


def test_fill_reads_the_other_spelling_too() -> None:
    filled = TRIAGE.fill({"triage_output": {"OMFS": {"Other OMFS Consult": 1}}}, "Other OMFS Consult: 1")
    assert filled.value == _answer("Other OMSF Consult")
    assert filled.unsupported == ()


def test_the_benchmark_is_found_by_name_and_states_its_departure() -> None:
    found = get_benchmark("triage")
    assert (found.name, found.conditions, found.main_conditions) == (
        "triage",
        ("both", "complaint", "opg"),
        ("both",),
    )
    assert found.reformatter == "gemini-3.5-flash-lite"
    assert "2.0" in (found.reformatter_departure or "")
    assert (dict(found.default_params), found.scorer) == ({}, "triage-1")


@pytest.mark.parametrize("conventions", [{"zero_division": "2"}, {"zero": "0"}])
def test_an_unknown_convention_is_refused(conventions: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="known: "):
        chosen_conventions(TRIAGE, conventions)


def test_every_convention_has_a_value_and_the_first_is_the_default() -> None:
    chosen = chosen_conventions(TRIAGE, {"case_f1_empty": "0"})
    assert chosen == {"zero_division": "0", "case_f1_empty": "0"}


def test_the_table_shows_metrics_that_exist_the_main_one_first() -> None:
    table = TRIAGE.table("both")
    paths = [column.path for column in table.columns]
    assert paths[0] == table.main_metric
    none = np.zeros(0, dtype=np.int64)
    no_units = UnitTable(np.zeros((0, len(table.numbers))), none, none, none.astype("i4"), none.astype("i4"))
    assert set(paths) <= TRIAGE.metrics(no_units, "both", chosen_conventions(TRIAGE, {})).keys()


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="known: both, complaint, opg"):
        TRIAGE.prompt("image")
    with pytest.raises(UnknownNameError, match="triage-both-v1"):
        load_prompt("triage-both-v0")
