"""`harness grades compute` and `texts`: metrics of text answers, computed here or elsewhere."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cache.location import display, find_store
from harness.cli.options import config_option, json_option, print_json, say, store_option
from harness.config import load_config

if TYPE_CHECKING:
    from harness.grading.computing import Computed, Wanted
    from harness.grading.text_metrics import MetricOptions


@click.command(
    "compute", epilog="Example: harness grades compute bertscore night --model-path models/large"
)
@click.argument("metric")
@click.argument("run")
@click.option(
    "--model-path",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Folder with the model and its tokenizer; nothing is downloaded.",
)
@click.option("--device", default="cpu", show_default=True, help="cpu, cuda or cuda:1, say.")
@click.option("--batch", default=16, show_default=True, type=click.IntRange(1), help="Answers at once.")
@click.option("--layer", type=click.IntRange(1), help="Default: bert-score's, where it is known.")
@click.option("--limit", type=click.IntRange(1), help="Compute so many answers at most.")
@click.option("--again", is_flag=True, help="Compute those too that have a value already.")
@click.option("--dry-run", is_flag=True, help="Load the model and count; compute and store nothing.")
@config_option
@store_option
@json_option
def compute(
    metric: str,
    run: str,
    model_path: Path | None,
    device: str,
    batch: int,
    layer: int | None,
    limit: int | None,
    again: bool,
    dry_run: bool,
    config_path: Path | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Compute METRIC of every text answer of RUN, and keep the values as grades.

    METRIC is bertscore: its F against the reference text of the case, by a model that lies in DIR. It needs:

    \b
      pip install 'mllm-harness[bertscore]'

    The rater names the model, its weights' digest and the layer, so that values of two models never mix. What
    has a value is not computed again unless its answer was asked again and differs. Interrupted, what was
    computed is kept, and the same command goes on. Unusable answers get no value here: the scores count them.
    """
    from harness.event_loop import run_session
    from harness.grading.computing import Wanted
    from harness.grading.text_metrics import MetricOptions

    url = find_store(store, os.environ, load_config(config_path).store, Path.cwd())
    say(f"store: {display(url)}")
    options = MetricOptions(model_path, device, batch, layer)
    wanted = Wanted(batch, again=again, limit=limit, dry_run=dry_run)
    facts, notes = run_session(_compute(url, run, metric, options, wanted))
    for note in notes:
        say(f"note: {note}")
    if as_json:
        print_json(facts)
    else:
        click.echo(_told(facts))


@click.command("texts", epilog="Example: harness grades texts night --out texts.jsonl")
@click.argument("run")
@click.option(
    "--out",
    metavar="FILE",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to write: JSON lines.",
)
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@click.option(
    "--data",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Where the images lie. Default: where the run read them.",
)
@config_option
@store_option
@json_option
def texts(
    run: str,
    out: Path,
    force: bool,
    data: Path | None,
    config_path: Path | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Write the text answers of RUN with their reference texts, for a metric of an environment of its own.

    One line an answer: model, condition, case_id, repeat, time, answer, reference, source (the text that the
    answer words anew, an expert's caption say) and images (paths, null where a file was not found). Copy the
    first five, add question and value, and `harness grades import RUN FILE --rater TOOL-VERSION` takes them.
    Values are 0 to 1, not percent. Only usable answers are written: the scores count the others.
    """
    url = find_store(store, os.environ, load_config(config_path).store, Path.cwd())
    say(f"store: {display(url)}")
    facts = asyncio.run(_texts(url, run, out, data, force=force))
    if facts["images_not_found"]:
        say(
            f"note: images that were not found where the run read them: {facts['images_not_found']}; give "
            "--data the folder of the case files"
        )
    if as_json:
        print_json(facts)
    else:
        click.echo(f"texts written to {out}: {facts['answers']}{_left_out(facts)}")


async def _compute(
    url: str, ref: str, name: str, options: MetricOptions, wanted: Wanted
) -> tuple[dict[str, Any], list[str]]:
    from harness.cache.store import Store
    from harness.grading.computing import Computing
    from harness.grading.text_metrics import open_metric
    from harness.offline.chosen_grades import IMPORTED, chosen_grades
    from harness.offline.stored_run import load_run

    async with await Store.open(url, create=False, warn=say) as store:
        stored = await load_run(store, await store.find_run(ref))
        metric = await asyncio.to_thread(open_metric, name, options)
        say(f"rater: {metric.rater}")
        work = Computing(store, stored, metric, wanted, tell=say)
        try:
            found = await work.run()
        except asyncio.CancelledError:
            say(
                f"interrupted: computed {work.found.computed}, kept {work.found.kept} new; the same command "
                "goes on"
            )
            raise
        facts = {"run": stored.run.name, "metric": name, "dry_run": wanted.dry_run, **found.to_json()}
        chosen = await chosen_grades(store, stored, None)
        steps = () if chosen is None else tuple(way for way in chosen.others if way != IMPORTED)
        named = metric.question in stored.benchmark.questions
        notes = [*metric.notes(), *_notes(found, stored.manifest.benchmark, steps, named=named)]
    return facts, notes


def _notes(found: Computed, benchmark: str, steps: Sequence[str], *, named: bool) -> Iterator[str]:
    """Say what the values are good for; `steps` grade the same run, which `score` took unasked before."""
    if found.beyond:
        yield (
            f"values beyond the range of {found.question!r}: {found.beyond}; these answers have no value"
        )
    if not named:
        yield f"no score of {benchmark} uses {found.question!r}; `harness grades export` writes the values"
    elif found.others:
        told = ", ".join(f"{name} ({units})" for name, units in found.others.items())
        choice = shlex.quote(f"imported:{found.rater}")
        yield (
            f"others graded {found.question!r} too: {told}; where two differ neither counts in the scores. "
            f"Choose raters, of all questions that you need: `harness score --grades {choice}`"
        )
    if named and steps:
        yield (
            "`harness score` takes these and other imported grades now, and those of a step in a table of "
            f"their own: --grades {' or '.join(map(shlex.quote, steps))}"
        )


def _told(facts: Mapping[str, Any]) -> str:
    name = facts["metric"]
    known = f"; {facts['known']} have one already" if facts["known"] else ""
    left = f"; left by --limit: {facts['left']}" if facts["left"] else ""
    rest = f"{known}{left}{_left_out(facts)}"
    if facts["dry_run"]:
        return f"{name} would be computed of {facts['open'] - facts['left']} answers{rest}"
    if not facts["open"]:
        return f"all answers have their {name} already ({facts['known']}): nothing was changed"
    return f"{name} computed of {facts['computed']} answers, {facts['kept']} new values kept{rest}"


def _left_out(facts: Mapping[str, Any]) -> str:
    """Say which units were passed over, and why."""
    why = [f"{name} {count}" for name, count in facts["unusable"].items()]
    if facts["without_text"]:
        why.append(f"answers that are no text {facts['without_text']}")
    if facts.get("without_reference"):
        why.append(f"without a reference text {facts['without_reference']}")
    return f"; passed over: {', '.join(why)}" if why else ""


async def _texts(url: str, ref: str, out: Path, data: Path | None, *, force: bool) -> dict[str, Any]:
    from harness.cache.store import Store
    from harness.grading.answer_texts import Passed, media_of, write_texts
    from harness.moments import now_us
    from harness.offline.export import whole_file
    from harness.offline.step_media import media_places
    from harness.offline.stored_run import load_run

    async with await Store.open(url, create=False, warn=say) as store:
        now = now_us()
        stored = await load_run(store, await store.find_run(ref))
        wanted = media_of(stored)
        places = await media_places(store, stored.benchmark, stored.cases.cases, data)
        passed = Passed()
        with whole_file(out, force=force) as stream:
            count = await write_texts(
                store, stored, stream, places=places, now_us=now, passed=passed
            )
    return {
        "run": stored.run.name,
        "file": str(out),
        "answers": count,
        "without_text": passed.no_text,
        "unusable": dict(sorted(passed.unusable.items())),
        "images_not_found": len(set(wanted) - places.keys()),
    }
