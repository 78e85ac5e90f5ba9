"""`harness resume`: go on with a stored run, by its manifest."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.options import config_option, json_option, store_option
from harness.cli.run import read_max_cost, read_outcomes, read_wait


@click.command("resume", epilog="Example: harness resume latest --max-wait 3600")
@click.argument("run", default="latest")
@click.option("--data", type=click.Path(path_type=Path), metavar="DIR", help="Where the case files are now.")
@click.option("--again", metavar="OUTCOME,..", help="Ask units that ended so once more.")
@click.option("--max-cost", multiple=True, metavar="USD|MODEL=USD", help="Spend no more in this session.")
@click.option(
    "--max-wait",
    type=click.FloatRange(min=0),
    callback=read_wait,
    default=600.0,
    show_default=True,
    metavar="S",
    help="Longest wait for a rate limit, in seconds.",
)
@click.option("--max-in-flight", type=click.IntRange(min=1), metavar="N", help="Requests at once, per model.")
@click.option("--dry-run", is_flag=True, help="Show what would be sent and what it may cost; send nothing.")
@config_option
@store_option
@json_option
def command(
    run: str,
    data: Path | None,
    again: str | None,
    max_cost: tuple[str, ...],
    max_wait: float,
    max_in_flight: int | None,
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
    from harness.run_options import SessionOptions

    session = SessionOptions(
        again=read_outcomes(again),
        max_cost=read_max_cost(max_cost),
        max_wait_s=max_wait,
        max_in_flight=max_in_flight,
    )
    folder = None if data is None else str(data.resolve())
    return resume(run, session, config_path, store, data=folder, dry_run=dry_run, as_json=as_json)
