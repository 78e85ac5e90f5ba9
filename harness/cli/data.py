"""`harness data`: case files before money is spent on them."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Callable
from pathlib import Path

import click

from harness.benchmarks.base import Benchmark, CaseSet
from harness.benchmarks.registry import BENCHMARKS, get_benchmark
from harness.beyond_limits import beyond_limits
from harness.cli.case_counts import CaseCounts, print_counts
from harness.cli.data_convert import convert
from harness.cli.data_import import import_
from harness.cli.data_translated import translated
from harness.cli.options import config_option, json_option, print_json, say, tell
from harness.cli.session_options import comma_list
from harness.cli.tables import terminal_width
from harness.config import Config, load_config
from harness.errors import MediaError
from harness.exit_codes import OK, USAGE
from harness.media import Media
from harness.model_choice import image_recipe_of
from harness.planning import condition_names
from harness.plans import ModelPlan


@click.group("data", epilog="Example: harness data check --benchmark triage --data data/triage")
def command() -> None:
    """Check case files, make them from tables, write the sample, convert DICOM and NIfTI."""


command.add_command(convert)
command.add_command(import_)
command.add_command(translated)


@command.command("check", epilog="Example: harness data check --benchmark triage --data data/triage")
@click.option("--benchmark", required=True, metavar="NAME", help=f"One of: {', '.join(sorted(BENCHMARKS))}.")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder with cases.jsonl. Default: the one of harness.toml, else the bundled sample.",
)
@click.option("--models", metavar="A,B", help="Also count the cases that are beyond these models' limits.")
@click.option("--conditions", metavar="A,B", help="In which --models are asked, as for `harness run`.")
@click.option("--image-recipe", metavar="RECIPE", help="As for `harness run`.")
@click.option(
    "--decode", is_flag=True, help="Also decode every clip to its end, which takes a second or so each."
)
@json_option
@config_option
def check(
    benchmark: str,
    data: Path | None,
    models: str | None,
    conditions: str | None,
    image_recipe: str | None,
    decode: bool,
    as_json: bool,
    config_path: Path | None,
) -> int:
    """Read every case file and image, and list everything that is wrong; exit 2 if anything is."""
    known = get_benchmark(benchmark)
    config = load_config(config_path) if models or data is None else Config()
    folder = data or config.benchmark(benchmark).data or known.sample_dir()
    plans = [_plan(name, image_recipe, config, known) for name in comma_list(models)]
    names = condition_names(comma_list(conditions), known)
    problems = _folder_problems(folder) or known.check(folder)
    cases = None if problems else known.load(folder)
    problems += [] if cases is None or not decode else _undecodable(cases)
    counts = {} if cases is None else _counts(cases)
    asked = () if cases is None else cases.cases
    beyond = {one.model.name: beyond_limits(known, asked, one, names) for one in plans}
    if as_json:
        found = {"benchmark": benchmark, "data": str(folder), "problems": problems, "counts": counts}
        print_json({**found, "beyond": {name: one.to_json() for name, one in beyond.items()}})
        return USAGE if problems else OK
    say(f"data: {folder}")
    for problem in problems:
        tell(problem)
    if problems:
        say(f"error: problems in {str(folder)!r}: {len(problems)}; mend them and check again")
        return USAGE
    print_counts(counts)
    for name, one in beyond.items():
        click.echo(f"{name}: {one.asked - one.total} of {one.asked} can be sent")
        for told in one.told(name, "cases"):
            click.echo(textwrap.fill(told, terminal_width(), subsequent_indent="  ", break_on_hyphens=False))
    return OK


@command.command("sample", epilog="Example: harness data sample --benchmark triage --out data/triage")
@click.option("--benchmark", required=True, metavar="NAME", help=f"One of: {', '.join(sorted(BENCHMARKS))}.")
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), metavar="DIR", help="A new or empty folder."
)
def sample(benchmark: str, out: Path) -> None:
    """Write the bundled synthetic sample, as a pattern for your own case files."""
    get_benchmark(benchmark).write_sample(out)
    click.echo(out)


def _plan(name: str, image_recipe: str | None, config: Config, benchmark: Benchmark) -> ModelPlan:
    model = config.model(name)
    return ModelPlan(model, {}, image_recipe=image_recipe_of(model, image_recipe, config, benchmark))


def _folder_problems(folder: Path) -> list[str]:
    if folder.is_file():
        mend = f"`harness data import --from {shlex.quote(str(folder))}` makes one from a table"
        return [f"{str(folder)!r} is a file, and --data is a folder; {mend}"]
    if not folder.is_dir():
        return [f"there is no folder {str(folder)!r}; name the one that holds cases.jsonl"]
    return []


def _undecodable(cases: CaseSet) -> list[str]:
    """Return what is wrong with clips that look sound from outside. Raises ConfigError without PyAV."""
    from harness.frames.clips import check_decodes
    from harness.frames.decoding import check_installed

    check_installed()
    found: dict[str, str | None] = {}
    problems = []
    for case in cases.cases:
        for clip in (one for many in case.media.values() for one in many if one.kind == "video"):
            if clip.sha256 not in found:
                found[clip.sha256] = _fault(check_decodes, clip)
            if (fault := found[clip.sha256]) is not None:
                problems.append(f"case {case.id!r}: {fault}")
    return problems


def _fault(check: Callable[[Media], None], clip: Media) -> str | None:
    try:
        check(clip)
    except MediaError as error:
        return str(error)
    return None


def _counts(cases: CaseSet) -> dict[str, int]:
    counted = CaseCounts()
    for case in cases.cases:
        counted.add(case)
    return counted.counts(cases.raters)
