"""`harness import`: answers of other tools' result files, into the store."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.options import config_option, json_option, store_option
from harness.errors import ConfigError


def read_paths(pairs: tuple[str, ...]) -> dict[str, str]:
    """Return `--map FIELD=NAME` options. Raises ConfigError for an unknown field or one given twice."""
    from harness.imports.hints import FIELDS
    from harness.nearest import nearest_or_known

    found: dict[str, str] = {}
    for pair in pairs:
        field, equals, path = pair.partition("=")
        if not equals or not path:
            raise ConfigError(f"--map {pair!r} is not FIELD=NAME, as in --map id=doc.case_id")
        if field not in FIELDS:
            raise ConfigError(f"--map: unknown field {field!r}{nearest_or_known(field, FIELDS)}")
        if found.get(field, path) != path:
            raise ConfigError(f"--map {field}= is given twice with different names; give it once")
        found[field] = path
    return found


@click.command(
    "import",
    epilog="Example: harness import samples.jsonl --benchmark triage --model llava-med --map id=doc.id",
)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.option("--benchmark", required=True, metavar="NAME", help="See `harness benchmarks`.")
@click.option("--model", required=True, metavar="NAME", help="What the tables call the model.")
@click.option(
    "--format",
    "format_name",
    default="auto",
    show_default=True,
    metavar="NAME",
    help="jsonl, lmms-eval, lm-eval, vlmevalkit or inspect.",
)
@click.option(
    "--data", type=click.Path(path_type=Path), metavar="DIR", help="Case files. Default: the sample."
)
@click.option("--condition", metavar="C", help="What was shown. Default: the main one.")
@click.option("--repeat", type=click.IntRange(1, 1000), metavar="K", help="All answers are of this repeat.")
@click.option(
    "--repeats", type=click.IntRange(1, 1000), metavar="N", help="Repeats of the run. Default: the highest."
)
@click.option("--run", "run_name", metavar="NAME", help="A name for the run.")
@click.option(
    "--map", "pairs", multiple=True, metavar="FIELD=NAME", help="Where a field stands, as id=doc.case_id."
)
@click.option(
    "--ids",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Case ids in the order of positions, or a JSON object: their id -> case id.",
)
@click.option(
    "--failure-text", "failure_texts", multiple=True, metavar="TEXT", help="A whole text that is no answer."
)
@click.option("--prompt-note", metavar="TEXT", help="What is known of the prompt; part of the run.")
@click.option(
    "--skip-bad", is_flag=True, help="Count rows that cannot be read, instead of refusing the file."
)
@click.option("--dry-run", is_flag=True, help="Read and match everything, store nothing.")
@config_option
@store_option
@json_option
def command(
    files: tuple[Path, ...],
    benchmark: str,
    model: str,
    format_name: str,
    data: Path | None,
    condition: str | None,
    repeat: int | None,
    repeats: int | None,
    run_name: str | None,
    pairs: tuple[str, ...],
    ids: Path | None,
    failure_texts: tuple[str, ...],
    prompt_note: str | None,
    skip_bad: bool,
    dry_run: bool,
    config_path: Path | None,
    store: str | None,
    as_json: bool,
) -> int:
    """Read answers that were paid for elsewhere, and score them like any others.

    Every row is checked before anything is stored. The same files again add nothing. Imported answers are
    marked wherever they are shown, and never answer a request of `harness run`.
    """
    from harness.cli.importing import ImportOptions, import_files

    return import_files(
        ImportOptions(
            files=files,
            benchmark=benchmark,
            model=model,
            format_name=format_name,
            data=data,
            condition=condition,
            repeat=repeat,
            repeats=repeats,
            run_name=run_name,
            paths=read_paths(pairs),
            ids=ids,
            failure_texts=failure_texts,
            prompt_note=prompt_note,
            skip_bad=skip_bad,
            dry_run=dry_run,
            config_path=config_path,
            store=store,
            as_json=as_json,
        )
    )
