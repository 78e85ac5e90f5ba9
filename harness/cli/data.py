"""`harness data`: case files before money is spent on them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from harness.benchmarks.base import BENCHMARKS, CaseSet, get_benchmark
from harness.cli.options import config_option, json_option, print_json, say
from harness.config import load_config
from harness.exit_codes import OK, USAGE


@click.group("data", epilog="Example: harness data check --benchmark triage --data data/triage")
def command() -> None:
    """Check case files, or write the bundled sample to start from."""


@command.command("check", epilog="Example: harness data check --benchmark triage --data data/triage")
@click.option("--benchmark", required=True, metavar="NAME", help=f"One of: {', '.join(sorted(BENCHMARKS))}.")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder with cases.jsonl. Default: the one of harness.toml, else the bundled sample.",
)
@json_option
@config_option
def check(benchmark: str, data: Path | None, as_json: bool, config_path: Path | None) -> int:
    """Read every case file and image, and list everything that is wrong; exit 2 if anything is."""
    known = get_benchmark(benchmark)
    folder = data or load_config(config_path).benchmark(benchmark).data or known.sample_dir()
    problems = _folder_problems(folder) or known.check(folder)
    counts = {} if problems else _counts(known.load(folder))
    if as_json:
        print_json({"benchmark": benchmark, "data": str(folder), "problems": problems, "counts": counts})
        return USAGE if problems else OK
    say(f"data: {folder}")
    for problem in problems:
        click.echo(problem)
    if problems:
        say(f"error: problems in {str(folder)!r}: {len(problems)}; mend them and check again")
        return USAGE
    for name, count in counts.items():
        click.echo(f"{count:>7}  {name}")
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


def _folder_problems(folder: Path) -> list[str]:
    if not folder.is_dir():
        return [f"there is no folder {str(folder)!r}; name the one that holds cases.jsonl"]
    return []


def _counts(cases: CaseSet) -> dict[str, int]:
    """Return what there is of each kind, zero counts left out except for the cases."""
    media = Counter(role for case in cases.cases for role, items in case.media.items() for _ in items)
    tags = Counter(tag for case in cases.cases for tag in case.tags)
    groups = {case.group for case in cases.cases if case.group is not None}
    counts = {"cases": len(cases.cases)}
    counts |= {f"media: {role}": count for role, count in sorted(media.items())}
    counts |= {"groups": len(groups)} if groups else {}
    counts |= {f"tag: {tag}": count for tag, count in sorted(tags.items())}
    counts |= {f"answers of rater {name}": len(answers) for name, answers in sorted(cases.raters.items())}
    return counts
