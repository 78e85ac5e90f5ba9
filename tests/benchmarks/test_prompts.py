"""Prompt files and their placeholders."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.benchmarks.base import Prompt
from harness.benchmarks.prompts import load_prompt, load_schema, placeholders, read_prompt_file, render
from harness.canonical import sha256_hex
from harness.errors import ConfigError


def prompt(text: str) -> Prompt:
    return Prompt("p.txt", "0", text)


def test_braces_in_a_value_are_never_interpreted() -> None:
    assert render(prompt("{{{a}}} {b}"), {"a": "{b} {{x}}", "b": "{a}"}) == "{{b} {{x}}} {a}"


@pytest.mark.parametrize(
    ("text", "brace"), [("a\n{", "{"), ("a\n}", "}"), ('x\n{ "k": {a} }', "{"), ("\n{{}", "}")]
)
def test_a_single_brace_is_refused_with_its_line(text: str, brace: str) -> None:
    with pytest.raises(
        ConfigError, match=rf"a single '\{brace}' in line 2 of prompt 'p.txt'; .* written twice"
    ):
        placeholders(prompt(text))


def test_an_unknown_placeholder_is_named_with_the_known_ones() -> None:
    with pytest.raises(
        ConfigError, match=r"unknown placeholder '\{x\}' in prompt 'p.txt'; known: \{a\}, \{b\}"
    ):
        render(prompt("{x}"), {"b": "", "a": ""})


def test_a_long_unknown_placeholder_is_cut_in_the_message() -> None:
    with pytest.raises(ConfigError) as caught:
        render(prompt('{\n  "reasoning": "' + "x" * 500 + '"\n}'), {})
    assert len(str(caught.value)) < 250


def test_a_users_file_keeps_its_name_and_loses_mark_and_returns(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_bytes(b"\xef\xbb\xbfone\r\n{a}\r\n")
    found = read_prompt_file(path)
    assert found == Prompt("mine.txt", sha256_hex(b"one\n{a}\n"), "one\n{a}\n")


@pytest.mark.parametrize(("data", "says"), [(b"\xff", "not UTF-8.*; save it"), (b" \n", "blank; write")])
def test_a_users_file_that_cannot_serve_is_refused(tmp_path: Path, data: bytes, says: str) -> None:
    path = tmp_path / "mine.txt"
    path.write_bytes(data)
    with pytest.raises(ConfigError, match=says):
        read_prompt_file(path)


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read the prompt file"):
        read_prompt_file(tmp_path / "gone.txt")


def test_ours_carry_the_digest_of_their_file() -> None:
    found = load_prompt("triage-both-v1")
    assert found.sha256 == sha256_hex(found.text.encode("utf-8"))
    assert load_schema("triage-v1").id == "triage-v1"
