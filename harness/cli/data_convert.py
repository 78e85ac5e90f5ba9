"""`harness data convert`: DICOM and NIfTI files become images and clips."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.options import json_option, print_json, say
from harness.conversion.libraries import need_libraries, silenced
from harness.conversion.recipe import (
    RATES,
    Axis,
    Kind,
    Recipe,
    parse_phase,
    parse_picks,
    parse_size,
    parse_window,
)
from harness.errors import ConfigError
from harness.exit_codes import INCOMPLETE, OK, USAGE

if TYPE_CHECKING:
    from harness.conversion.converting import Event, Outcome


@click.command(
    "convert", epilog="Example: harness data convert study/ --out data/radm/clips --window 40/400"
)
@click.argument(
    "inputs", metavar="FILE_OR_FOLDER...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), metavar="DIR", help="Where outputs go."
)
@click.option(
    "--as",
    "kind",
    type=click.Choice(["image", "clip"]),
    help="Default: a clip of a series, a PNG of a single picture.",
)
@click.option(
    "--window",
    metavar="WINDOW",
    help="CENTRE/WIDTH, tag[:N], full or percentile. Default: the file's own, else percentile.",
)
@click.option(
    "--size",
    default="512",
    metavar="N",
    help="Side of the square in pixels, padded with black; native: as it is. [512]",
)
@click.option(
    "--fps", type=click.IntRange(RATES[0], RATES[-1]), default=10, help="Pictures a second of a clip. [10]"
)
@click.option(
    "--slice", "picks", metavar="N", help="Which slice becomes an image: from 0, middle or all. [middle]"
)
@click.option(
    "--axis", type=click.Choice(["axial", "coronal", "sagittal"]), default="axial", help="Of NIfTI. [axial]"
)
@click.option("--phase", default="all", metavar="N", help="Which phase of 4D: from 0, or all. [all]")
@click.option("--keep-names", is_flag=True, help="Name outputs like inputs; without it, by a digest.")
@click.option("--overwrite", is_flag=True, help="Make anew what another recipe made.")
@json_option
def convert(
    inputs: tuple[Path, ...],
    out: Path,
    kind: Kind | None,
    window: str | None,
    size: str,
    fps: int,
    picks: str | None,
    axis: Axis,
    phase: str,
    keep_names: bool,
    overwrite: bool,
    as_json: bool,
) -> int:
    """Make PNG images and MP4 clips of DICOM and NIfTI files; nothing of their tags goes along.

    How each was made stands in DIR/conversion.jsonl. What is there already is not made again. Exit 3 if some
    files could not be converted.
    """
    if picks is not None and kind == "clip":
        raise ConfigError("--slice is for images; leave it out, or give --as image")
    wished: Kind = kind or ("auto" if picks is None else "image")
    recipe = Recipe(
        wished, parse_window(window), parse_size(size), fps, parse_picks(picks), axis, parse_phase(phase)
    )
    need_libraries()
    with silenced():
        from harness.conversion.converting import Converter, Job

        job = Job(inputs, out, recipe, keep_names, overwrite)
        outcome = Converter(job, _warned if as_json else _Told(out)).run()
    return _end(outcome, out, as_json=as_json)


class _Told:
    """Prints outputs as results, all else on stderr."""

    def __init__(self, out: Path) -> None:
        self._out = out

    def __call__(self, event: Event, text: str) -> None:
        match event:
            case "made" | "kept":
                click.echo(self._out / text)
            case "failed":
                say(f"error: {text}")
            case "warning":
                say(f"warning: {text}")


def _warned(event: Event, text: str) -> None:
    """Print faults and warnings beside the JSON."""
    if event in {"failed", "warning"}:
        say(f"{'error' if event == 'failed' else 'warning'}: {text}")


def _end(outcome: Outcome, out: Path, *, as_json: bool) -> int:
    if as_json:
        print_json(
            {
                "out": str(out),
                "made": outcome.made,
                "kept": outcome.kept,
                "failed": outcome.failed,
                "warnings": outcome.warnings,
                "passed_over": outcome.passed_over,
            }
        )
    done = len(outcome.made) + len(outcome.kept)
    parts = [f"made {len(outcome.made)}"]
    if outcome.kept:
        parts.append(f"{len(outcome.kept)} there already")
    if outcome.failed:
        parts.append(f"{len(outcome.failed)} could not be made")
    if outcome.passed_over:
        parts.append(f"{outcome.passed_over} other files passed over")
    record = f"; the record is {str(out / 'conversion.jsonl')!r}" if done else ""
    say(f"{', '.join(parts)}{record}")
    if outcome.failed:
        return INCOMPLETE if done else USAGE
    if not done:
        say("error: there is neither a DICOM nor a NIfTI file in what was given")
        return USAGE
    return OK
