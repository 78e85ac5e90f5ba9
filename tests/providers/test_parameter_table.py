"""docs/parameters.md against the code: each cell says where the value of a parameter really ends."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from wire_doubles import ask, model

from harness.errors import UnsupportedInputError
from harness.messages import WireRequest
from harness.providers.base import ADAPTERS, get_adapter

PAGE = (Path(__file__).parents[2] / "docs" / "parameters.md").read_text(encoding="utf-8")
FORMATS = ("openai", "openai-responses", "anthropic", "gemini")
NOT_OF_THE_TABLE = {"litellm", "simulator"}
NAMED = {
    "openai-responses": ("_PLACES", "_ABSENT"),
    "gemini": ("_CONFIG_NAMES", "_THINKING_NAMES", "_BODY_NAMES"),
}
"""Where a module keeps the names that it gives parameters, or refuses."""
ELSEWHERE = {"n", "logit_bias", "max_completion_tokens", "safetySettings"}
"""In those, and not in the table: set by the program, spelled as the API does, or OpenAI's alone."""


def rows(heading: str) -> list[list[str]]:
    table = PAGE[PAGE.index(heading) :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


PARAMETERS = {
    name: (value, dict(zip(FORMATS, cells, strict=True)))
    for first, *cells in rows("| parameter,")
    for name, value in tomllib.loads(first.strip("`")).items()
}
PROGRAMS = {row[0].strip("`"): row[1:] for row in rows("| format |")}


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def leaves(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}" if path else key)
    else:
        yield path, value


def built(kind: str, params: Mapping[str, Any]) -> WireRequest:
    return get_adapter(kind).build(ask(params=params), model(kind, max_output_tokens=8192))


def changed(kind: str, name: str, value: object) -> set[str]:
    without = dict(leaves(built(kind, {}).body))
    return {
        path for path, inner in leaves(built(kind, {name: value}).body) if without.get(path, ...) != inner
    }


def expected(kind: str, name: str, value: object, cell: str) -> set[str]:
    found = [name] if cell.startswith("same") else names(cell)
    if isinstance(value, dict):
        found = [f"{path}.{key}" for path in found for key in value]
    inside = kind == "gemini" and not cell.startswith("beside it")
    return {f"generationConfig.{path}" if inside else path for path in found}


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("name", PARAMETERS)
def test_a_parameter_becomes_what_the_table_says(name: str, kind: str) -> None:
    value, cells = PARAMETERS[name]
    if cells[kind] == "refused":
        with pytest.raises(UnsupportedInputError, match=f"has no '{name}'"):
            built(kind, {name: value})
    else:
        assert changed(kind, name, value) == expected(kind, name, value, cells[kind])


def test_the_table_has_every_format_and_every_name_that_one_changes_or_refuses() -> None:
    assert set(FORMATS) | NOT_OF_THE_TABLE == ADAPTERS.keys()
    for kind, attributes in NAMED.items():
        module = import_module(ADAPTERS[kind])
        known = {name for attribute in attributes for name in getattr(module, attribute)}
        assert known - ELSEWHERE <= PARAMETERS.keys(), kind


def test_a_parameter_without_a_row_keeps_its_name() -> None:
    for kind in FORMATS:
        inside = "generationConfig." if kind == "gemini" else ""
        assert changed(kind, "repetition_penalty", 1.1) == {f"{inside}repetition_penalty"}


def test_either_name_of_the_limit_is_the_providers() -> None:
    other = model("openai", provider_fields={"max_tokens_field": "max_completion_tokens"})
    body = get_adapter("openai").build(ask(params={"max_tokens": 9}), other).body
    assert body["max_completion_tokens"] == 9 and "max_tokens" not in body


@pytest.mark.parametrize("kind", FORMATS)
def test_what_the_program_sets_is_refused(kind: str) -> None:
    module = import_module(ADAPTERS[kind])
    told = names(PROGRAMS[kind][0])
    assert set(told) == set(module._RESERVED)
    for name in told:
        with pytest.raises(UnsupportedInputError):
            built(kind, {name: "x"})


@pytest.mark.parametrize("kind", FORMATS)
def test_transport_is_sent_and_changes_no_body(kind: str) -> None:
    told = names(PROGRAMS[kind][1])
    source = "anthropic_options" if kind == "anthropic" else ADAPTERS[kind].rpartition(".")[2]
    module = import_module(f"harness.providers.{source}")
    known = module._TRANSPORT_NAMES if kind == "gemini" else module.TRANSPORT_PARAMS
    assert set(told) == set(known)
    for name in told:
        assert changed(kind, name, "x") == set()
        assert "x" in built(kind, {name: "x"}).transport.values()
