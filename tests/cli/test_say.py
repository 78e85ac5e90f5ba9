"""What is said on stderr: sentences fit a terminal, commands stay whole, a pipe gets lines as they are."""

from __future__ import annotations

import os
import shutil
import sys

import pytest

from harness.cli.options import say

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


def test_a_pipe_gets_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    say(LONG)
    assert capsys.readouterr().err == LONG + "\n"
