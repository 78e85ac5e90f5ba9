"""What sub-commands share: options, printing, and the way to configuration and store."""

from __future__ import annotations

import json
import re
import shutil
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

SENTENCES = ("note: ", "warning: ", "error: ", "spent in this session: ", "grading ", "not graded: ")
"""What begins a text for people. Others may be commands, to be copied: a terminal breaks those by itself."""

_COMMANDS = re.compile(r"`[^`]*`|'harness [^']*'|\bpip install \S+")
"""Commands in a sentence: they stay in one line."""
_KEPT_BLANK = "\ufffe"
"""Stands for a blank that is no place to break a line at: printable texts do not hold it."""

F = TypeVar("F", bound=Callable[..., Any])


def store_option(function: F) -> F:
    """Add `--store URL` as `store`."""
    return click.option(
        "--store",
        metavar="URL",
        help="The store: a file or a URL. Default: HARNESS_STORE, harness.toml, the nearest one.",
    )(function)


def config_option(function: F) -> F:
    """Add `--config FILE` as `config_path`."""
    return click.option(
        "--config",
        "config_path",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="The configuration. Default: harness.toml here or in a folder above.",
    )(function)


def json_option(function: F) -> F:
    """Add `--json` as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print facts as JSON.")(function)


def print_json(value: object) -> None:
    """Print a result as indented JSON, pure ASCII so that any terminal and any text survives."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=True, allow_nan=False))


def say(text: str) -> None:
    """Print what is no result on stderr: progress, warnings, paths; sentences in the lines of a terminal."""
    click.echo(fitted(printable(text)), err=True)


def tell(text: str) -> None:
    """Print one line of a result on stdout: in the lines of a terminal, and whole for a pipe."""
    line = printable(text)
    if sys.stdout.isatty():
        indent = line[: len(line) - len(line.lstrip(" "))]
        line = wrapped(line, shutil.get_terminal_size().columns, hanging=f"{indent}  ")
    click.echo(line)


def fitted(text: str) -> str:
    """Return a sentence for stderr in the lines of its terminal; any other text, and for a pipe, as it is."""
    if "\n" in text or not (text.startswith(SENTENCES) and sys.stderr.isatty()):
        return text
    return wrapped(text, shutil.get_terminal_size().columns, hanging="  ")


def wrapped(text: str, width: int, *, hanging: str) -> str:
    """Return a text in lines of `width` columns, broken between words only and never within a command."""
    whole = _COMMANDS.sub(lambda found: found[0].replace(" ", _KEPT_BLANK), text)
    lines = textwrap.fill(
        whole, width, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False
    )
    return lines.replace(_KEPT_BLANK, " ")


def printable(text: str) -> str:
    """Return a text without control characters, which a server's words could steer the terminal with."""
    return "".join(one if one.isprintable() or one in "\n\t" else "\N{REPLACEMENT CHARACTER}" for one in text)
