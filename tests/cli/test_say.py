"""What is said on stderr: sentences fit a terminal, commands stay whole, a pipe gets lines as they are."""

from __future__ import annotations

import os
import shutil
import sys

import pytest

from harness.cli.main import end
from harness.cli.options import say, tell
from harness.cli.status import _reason
from harness.errors import ConfigError

LONG = "note: " + "every word of it " * 12 + "ends"


COMMAND = "to go on: " + "harness resume --store /a/b " * 9


@pytest.mark.parametrize(("text", "lines"), [(LONG, 6), (COMMAND, 1)])
def test_sentences_are_broken_between_words_on_a_terminal_and_commands_are_not(
    text: str, lines: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(shutil, "get_terminal_size", lambda: os.terminal_size((40, 24)))
    say(text)
    said = capsys.readouterr().err
    assert len(said.splitlines()) == lines
    assert lines == 1 or max(map(len, said.splitlines())) <= 40
    assert said.split() == text.split()


@pytest.mark.parametrize("begins", ["note: ", "warning: ", "error: "])
def test_what_is_said_for_people_is_broken_between_words_and_not_within_a_command(
    begins: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(shutil, "get_terminal_size", lambda: os.terminal_size((40, 24)))
    command = "`harness resume some-run --store sqlite:///a/b --shard 1/2`"
    text = f"{begins}it stopped where nobody was looking; use {command} or pip install 'x[litellm]' and so on"
    say(text)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) > 2 and any(command in line for line in lines)
    assert any("pip install 'x[litellm]'" in line for line in lines)
    assert all(len(line) <= 40 for line in lines if command not in line)
    assert " ".join(line.strip() for line in lines) == text


def test_an_error_is_broken_between_words_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(shutil, "get_terminal_size", lambda: os.terminal_size((40, 24)))
    text = "every word of it " * 9
    assert end(ConfigError(text)) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) > 3 and max(map(len, lines)) <= 40
    assert " ".join(lines).split() == ["error:", *text.split()]


def test_a_reason_in_status_is_broken_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    line = "    3 x " + "every word of it " * 9
    assert _reason(line) == line
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(shutil, "get_terminal_size", lambda *_: os.terminal_size((40, 24)))
    lines = _reason(line).splitlines()
    assert len(lines) > 3 and max(map(len, lines)) <= 40 and lines[1].startswith("      it every")
    assert " ".join(lines).split() == line.split()


def test_a_pipe_gets_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    say(LONG)
    assert capsys.readouterr().err == LONG + "\n"


def test_a_line_that_is_told_keeps_its_indent_where_it_is_broken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(shutil, "get_terminal_size", lambda: os.terminal_size((40, 24)))
    text = "    " + "every word of it " * 9
    tell(text)
    first, *others = capsys.readouterr().out.splitlines()
    assert first.startswith("    every") and len(others) > 2
    assert all(line.startswith("      ") and line[6] != " " and len(line) <= 40 for line in others)
    assert " ".join((first, *others)).split() == text.split()
