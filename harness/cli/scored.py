"""How scores are shown, the same at the end of a run and by `harness score`."""

from __future__ import annotations

import click

from harness.cli.options import print_json
from harness.cli.score_table import render
from harness.cli.tables import terminal_width
from harness.offline.score import Score


def show_score(score: Score, *, as_json: bool) -> None:
    """Print scores as JSON or as a table; equal scores print equal bytes."""
    if as_json:
        print_json(score.to_json())
    else:
        click.echo(render(score.to_json(), width=terminal_width()))
