"""`harness resume`: go on with a stored run, by its manifest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.options import config_option, json_option, store_option
from harness.cli.session_options import session_options

if TYPE_CHECKING:
    from harness.run_options import SessionOptions


@click.command("resume", epilog="Example: harness resume latest --max-wait 3600")
@click.argument("run", default="latest")
@click.option("--data", type=click.Path(path_type=Path), metavar="DIR", help="Where the case files are now.")
@session_options
@config_option
@store_option
@json_option
def command(
    run: str,
    data: Path | None,
    session: SessionOptions,
    dry_run: bool,
    config_path: Path | None,
    store: str | None,
    as_json: bool,
) -> int:
    """Go on with RUN: a name, the start of a digest, or `latest`.

    Asks what is still open, exactly as the run wanted it; refuses where the configuration or the case
    files have changed since.
    """
    from harness.cli.run_command import resume

    folder = None if data is None else str(data.resolve())
    return resume(run, session, config_path, store, data=folder, dry_run=dry_run, as_json=as_json)
