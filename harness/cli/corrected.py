"""`--data` of commands that score: case files with corrected references."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click


def data_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--data DIR`, as `data`."""
    return click.option(
        "--data",
        metavar="DIR",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="Case files with corrected references; used for cases whose inputs are unchanged.",
    )(command)
