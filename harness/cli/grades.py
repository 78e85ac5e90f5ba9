"""`harness grades`: what people and tools say of a run's answers, as files, in and out of the store."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from harness.cache.location import display, find_store
from harness.cli.computed_grades import compute, texts
from harness.cli.options import config_option, json_option, print_json, say, store_option
from harness.config import load_config

if TYPE_CHECKING:
    from harness.cache.grades import NewGrade
    from harness.cache.store import Store
    from harness.grading.checking import GradeCheck
    from harness.grading.files import GradeFormat
    from harness.grading.rows import Fault
    from harness.offline.stored_run import StoredRun

_FORMATS = ("jsonl", "csv")


@click.group("grades", epilog="Example: harness grades import night dentist.csv --rater dentist-1")
def command() -> None:
    """Take over what people and other tools say of a run's answers, compute it, or write it out.

    A file has the columns model, condition, case_id, repeat, rater, question, value and time; repeat (1),
    rater (--rater) and time (now) may be left out. A newer grade of the same rater, answer and question
    supersedes the older one, which is kept.
    """


@command.command("import", epilog="Example: harness grades import night dentist.csv --rater dentist-1")
@click.argument("run")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--rater", metavar="NAME", help="Who gave the grades that name no rater.")
@click.option("--format", "file_format", type=click.Choice(_FORMATS), help="Default: as FILE is named.")
@click.option("--dry-run", is_flag=True, help="Check everything, store nothing.")
@config_option
@store_option
@json_option
def import_(
    run: str,
    file: Path,
    rater: str | None,
    file_format: GradeFormat | None,
    dry_run: bool,
    config_path: Path | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Keep the grades of FILE about answers of RUN (a name, the start of a digest, or latest).

    All or nothing: every line is checked first. The same file again changes nothing. RUN is the run that was
    asked, not that of a judge; grades of restated reports (audit.*) are of the run of the step. A file for
    triage, one row, of the questions that its judge answers:

    \b
      model,condition,case_id,question,value
      o3,both,syn-001,D1_Neglect,1

    Questions of triage: D1_Neglect, D2_Omission, D3_Misinterpretation, D4_Protocol_Confusion and
    D5_Hallucination, each 0 or 1; of radm: tier_1 (first rank) to tier_5, each 0 to 3 (`harness benchmarks
    NAME` lists them all). Beside them, `comment` takes any text.
    """
    from harness.event_loop import run_session

    url = find_store(store, os.environ, load_config(config_path).store, Path.cwd())
    say(f"store: {display(url)}")
    facts = run_session(_import(url, run, file, file_format, rater, dry_run=dry_run))
    if as_json:
        print_json(facts)
    else:
        click.echo(_told(facts))


@command.command("export", epilog="Example: harness grades export night --format csv --out grades.csv")
@click.argument("run")
@click.option("--format", "file_format", type=click.Choice(_FORMATS), default="jsonl", show_default=True)
@click.option("--latest", is_flag=True, help="Only the grades that stand, without those they superseded.")
@click.option(
    "--out", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="Default, and -: stdout."
)
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@config_option
@store_option
def export(
    run: str,
    file_format: GradeFormat,
    latest: bool,
    out: Path | None,
    force: bool,
    config_path: Path | None,
    store: str | None,
) -> None:
    """Write the grades of RUN with their history, so that `harness grades import` reads them back."""
    from harness.cache.grades import standing
    from harness.grading.files import write_grades

    url = find_store(store, os.environ, load_config(config_path).store, Path.cwd())
    say(f"store: {display(url)}")
    history = asyncio.run(_history(url, run))
    grades = standing(history)
    superseded = len(history) - len(grades)
    with _opened(out, force=force) as stream:
        count = write_grades(grades if latest else history, file_format, stream)
    told = f"{superseded} of them superseded by newer ones"
    if latest:
        told = f"without {superseded} superseded ones"
    say(f"grades written to {'stdout' if out is None else str(out)}: {count}, {told}")


async def _import(
    url: str, ref: str, file: Path, file_format: GradeFormat | None, rater: str | None, *, dry_run: bool
) -> dict[str, Any]:
    from harness.cache.store import Store
    from harness.grading.checking import GradeCheck
    from harness.grading.files import format_of, read_rows, refuse
    from harness.moments import now_us
    from harness.offline.stored_run import load_run

    rows, unreadable = read_rows(file, file_format or format_of(file))
    async with await Store.open(url, create=False, warn=say) as store:
        stored = await load_run(store, await store.find_run(ref))
        check = GradeCheck(stored, rater=rater, now_us=now_us())
        grades, faults = check.grades(rows)
        if faults and not check.about_the_run(rows):
            faults += await _of_another_run(store, stored, file)
        refuse(file.name, [*unreadable, *faults])
        added = await store.add_grades(stored.run.id, grades, dry_run=dry_run)
        known = [grade.rater for grade in await store.grades(stored.run.id)]
    _say_notes(check, stored.manifest.benchmark, grades, known)
    return {
        "run": stored.run.name,
        "dry_run": dry_run,
        "lines": len(rows),
        "new": added.new,
        "superseding": added.superseding,
        "known": added.known,
        "raters": sorted({grade.rater for grade in grades}),
        "questions": sorted({grade.question for grade in grades}),
    }


def _say_notes(
    check: GradeCheck, benchmark: str, grades: Sequence[NewGrade], known: Sequence[str]
) -> None:
    """Say what may be a slip of grades that were taken; `known`: all raters of the run."""
    from harness.grading.checking import raters_alike

    for names in raters_alike([*known, *(grade.rater for grade in grades)]):
        say(
            f"note: {' and '.join(map(repr, names))} are different raters here, and are compared apart; if "
            "they are one person, write the name alike and import again"
        )
    for question in check.unnamed(grades):
        say(f"note: no step of {benchmark} reads the question {question!r}; it is kept as it is")


async def _of_another_run(store: Store, stored: StoredRun, file: Path) -> list[Fault]:
    """Say, of a step, whose grades these may be: people mostly grade the answers that a step judged."""
    from harness.grading.rows import Fault
    from harness.offline.step_runs import source_run

    step = stored.manifest.step
    if step is None:
        return []
    source = await source_run(store, step.source)
    whose = f"run {step.source[:12]}, which is not in this store"
    if source is not None:
        command = shlex.join(["harness", "grades", "import", source.name, str(file)])
        whose = f"run {source.name!r}: `{command}`"
    name = f"run {stored.run.name!r} is a step ({step.kind})"
    return [Fault(0, f"{name}, and grades of what it looked at belong to {whose}")]


def _told(facts: dict[str, Any]) -> str:
    if not facts["lines"]:
        return "the file has no grades: nothing was changed"
    if not facts["new"]:
        return f"grades that are here already: {facts['known']}; nothing was changed"
    verb = "would be kept" if facts["dry_run"] else "kept"
    newer = f", {facts['superseding']} of them in place of older ones" if facts["superseding"] else ""
    known = f"; {facts['known']} were here already" if facts["known"] else ""
    return f"grades of run {facts['run']} {verb}: {facts['new']}{newer}{known}"


async def _history(url: str, ref: str) -> tuple[Any, ...]:
    from harness.cache.store import Store

    async with await Store.open(url, create=False, warn=say) as store:
        run = await store.find_run(ref)
        return await store.grade_history(run.id)


command.add_command(compute)
command.add_command(texts)


@contextmanager
def _opened(out: Path | None, *, force: bool) -> Iterator[IO[bytes]]:
    from harness.offline.export import whole_file

    if out is None or out == Path("-"):
        yield sys.stdout.buffer
        return
    with whole_file(out, force=force) as stream:
        yield stream
