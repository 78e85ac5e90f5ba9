"""How a stored run is scored, asked alike by all commands that show scores: conventions and grades."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from harness.errors import ConfigError


def convention_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--convention NAME=VALUE`, any number of them, as `conventions`; see `read_conventions`."""
    return click.option(
        "--convention",
        "conventions",
        metavar="NAME=VALUE",
        multiple=True,
        help="How a metric treats what its paper leaves open; `harness benchmarks` lists them.",
    )(command)


def grades_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--grades WHO`, as `grades`."""
    return click.option(
        "--grades",
        metavar="WHO",
        help="Whose grades count, where a benchmark needs some: imported, imported:RATER,.., the "
        "run of a grading step, or none.",
    )(command)


def read_conventions(written: Sequence[str]) -> dict[str, str]:
    """Return NAME=VALUE options as a mapping. Raises ConfigError for one without "=" or given twice."""
    found: dict[str, str] = {}
    for text in written:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise ConfigError(f"--convention {text!r} is not NAME=VALUE; `harness benchmarks` lists them")
        if found.get(name, value) != value:
            raise ConfigError(f"--convention {name!r} is given twice with different values; give it once")
        found[name] = value
    return found
