"""The methods in plain words: what was asked, of whom, how it was read and scored, and when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from harness.benchmarks.base import Benchmark
from harness.graded_words import graded_told
from harness.manifest import Manifest
from harness.phrases import IMPORTED_NOTE, count, listed, spoken
from harness.report.cells import text_cell
from harness.report.document import Cell, Column, Facts, Part, Table, TableRow
from harness.report.model_parameters import DIGITS, model_parameters
from harness.report.part_ids import PartIds
from harness.report.score_view import ConditionView, Json
from harness.report.truth import THRESHOLDS

_METHODS: Final = {"bca": "BCa", "clopper-pearson": "Clopper-Pearson"}


def methods(
    score: Json, effort: Json, manifest: Manifest, benchmark: Benchmark, ids: PartIds, prefix: str
) -> Iterator[Part]:
    """Yield how the numbers of a run came to be."""
    yield Facts(ids.make(prefix, "asked"), "What was asked", [*_asked(score, manifest, benchmark)])
    yield _prompts(effort, ids.make(prefix, "prompts"))
    yield model_parameters(effort, ids.make(prefix, "models"))
    yield Facts(ids.make(prefix, "scoring"), "How it was read and scored", [*_scoring(score, benchmark)])
    yield Facts(ids.make(prefix, "rules"), "Rules of this report", list(THRESHOLDS))
    yield Facts(ids.make(prefix, "sessions"), "When", [*_sessions(effort)])


def _asked(score: Json, manifest: Manifest, benchmark: Benchmark) -> Iterator[tuple[str, str]]:
    yield "benchmark", f"{benchmark.name}: {benchmark.title}"
    yield "run", f"{score['run']['name']}, digest {score['run']['digest']}"
    yield "cases", f"{manifest.n_cases:,}, snapshot {manifest.cases.id}, sha256 {manifest.cases.sha256}"
    if manifest.asked:
        told = ", ".join(f"{name} {n:,}" for name, n in sorted(manifest.asked.items()))
        yield "conditions that not all cases have", f"{told} cases"
    yield "units", f"{manifest.n_units:,}: cases by conditions, models and repeats"
    yield "repeats", f"{manifest.repeats}"
    again = "asked the same again" if manifest.reask == "same" else "asked again with what was wrong"
    yield "attempts", f"at most {manifest.attempts}; an unusable answer is {again}, a refusal is not"
    structured = {"off": "nothing beyond the prompt asks for the form of an answer"}
    yield "structured output", structured.get(manifest.structured, f"asked for: {manifest.structured}")
    yield "reformatter", _reformatter(manifest, benchmark)
    if score["imported"]:
        yield "imported answers", IMPORTED_NOTE
    if manifest.step is not None:
        yield "step", f"{manifest.step.kind} over the run with digest {manifest.step.source}"


def _reformatter(manifest: Manifest, benchmark: Benchmark) -> str:
    used = sorted({one.reformatter for one in manifest.models.values() if one.reformatter is not None})
    if not used:
        return "none: answers that fit no form after the last attempt stay unusable"
    told = f"{listed(used)}, asked once about the last complete answer, which it gets as quoted data"
    if benchmark.reformatter_departure and benchmark.reformatter in used:
        return f"{told}; departs from the paper: {benchmark.reformatter_departure}"
    if benchmark.reformatter is not None and benchmark.reformatter not in used:
        return f"{told}; the benchmark's own would be {benchmark.reformatter}"
    return told


def _prompts(effort: Json, table_id: str) -> Table:
    rows = [_prompt_row(name, one) for name, one in effort["conditions"].items()]
    reformat = effort["reformat"]
    if reformat is not None:
        rows += [_prompt_row(f"reformatter, {name}", one) for name, one in reformat["conditions"].items()]
        quoting = [*_digest(reformat["quoting"]), *_digest(None)]
        rows.append(TableRow("reformatter, quoting", quoting, "other"))
    feedback = effort["policy"]["feedback"]
    if feedback is not None:
        rows.append(TableRow("asking again", [*_digest(feedback), *_digest(None)], "other"))

    heads = ("prompt", "prompt sha256", "schema", "schema sha256")
    return Table(
        table_id,
        "Prompts and schemas",
        [Column(head.replace(" ", "."), head, numeric=False) for head in heads],
        rows,
        names="condition",
        caption=f"The first {DIGITS} digits of each sha256; the JSON has all. A prompt of an imported run is "
        "not known",
    )


def _prompt_row(name: str, one: Json) -> TableRow:
    return TableRow(name, [*_digest(one["prompt"]), *_digest(one["schema"])], "other")


def _digest(ref: Json | None) -> tuple[Cell, Cell]:
    if ref is None:
        return text_cell("none", "free text"), Cell("", None, note="there is no schema")
    return text_cell(ref["id"]), Cell(ref["sha256"][:DIGITS], ref["sha256"])


def _scoring(score: Json, benchmark: Benchmark) -> Iterator[tuple[str, str]]:
    for key in ("parser", "scorer"):
        yield key, f"{score[key]['name']}, sha256 of its code {score[key]['sha256']}"
    for name, values in benchmark.conventions.items():
        chosen = score["conventions"].get(name, values[0])
        usual = "the usual one" if chosen == values[0] else f"NOT the usual one, {values[0]}"
        yield f"convention {name}", f"{chosen} ({usual}); there are: {', '.join(values)}"
    yield (
        "readings",
        (
            "as answered: an unusable answer counts as the worst value of each metric that has one; valid "
            "answers only: unusable ones are left out; what is nobody's answer is in neither"
        ),
    )
    yield from _grading(score.get("grading"))
    for task in score.get("graded", ()):
        yield f"grades of {task['task']}", "; ".join(graded_told(task))
    references = score["references"]
    corrected = f"{len(references['corrected']):,} corrected since the run"
    yield "references", f"sha256 {references['sha256']}, {corrected}"
    if references["inputs_changed"]:
        changed = references["inputs_changed"]
        yield "not corrected", f"their inputs are others now: {len(changed):,} cases: {listed(changed)}"
    facts = score["intervals"]
    yield (
        "intervals",
        (
            f"{facts['level']:.0%}; made by: {listed(_interval_methods(score), 9)}. All but Clopper-Pearson, "
            f"which is for shares of cases, by a bootstrap over cases, or groups of cases, with all their "
            f"repeats ({facts['resamples']:,} resamples, generator {facts['generator']}, seed "
            f"{facts['seed']}, version {facts['version']})"
        ),
    )
    yield (
        "synthetic, simulated, imported",
        ", ".join(
            f"{name}: {'yes' if score[name] else 'no'}" for name in ("synthetic", "simulated", "imported")
        ),
    )
    changed = score["changed_since_run"]["units"]
    yield "read differently than in the run", count(changed, "unit")
    yield "gaps", f"{len(score['gaps']):,} units need an ask that nobody made"


def _interval_methods(score: Json) -> list[str]:
    """Return how intervals were made, the commonest first."""
    made = Counter(
        _METHODS.get(metric["ci_method"], metric["ci_method"])
        for row in score["rows"]
        for metric in row["as_answered"].values()
        if "ci_method" in metric
    )
    return [f"{name} ({times:,} intervals)" for name, times in made.most_common()] or ["none was made"]


def columns_facts(views: Sequence[ConditionView], facts_id: str) -> Facts:
    """Return which metric path each head of the tables of scores stands for, told once for all of them."""
    paths: dict[str, dict[str, list[str]]] = {}
    for view in views:
        for column in view.columns:
            paths.setdefault(spoken(column), {}).setdefault(column.path, []).append(view.condition)
    items = [
        (
            head,
            next(iter(by_path))
            if len(by_path) == 1
            else "; ".join(f"{path} ({listed(where)})" for path, where in by_path.items()),
        )
        for head, by_path in paths.items()
    ]
    return Facts(
        facts_id, "Metric paths of the columns, as CSV, JSON and `compare --metric` have them", items
    )


def _grading(grading: Json | None) -> Iterator[tuple[str, str]]:
    if grading is None:
        return
    raters = listed(grading["raters"])
    match grading["by"]:
        case "imported":
            yield "grades", f"imported, of {raters}"
        case "model":
            simulated = "SIMULATED " if grading["simulated"] else ""
            who = f"{simulated}model {grading['model']} (step {grading['step']})"
            yield "grades", f"of the {who}, not people's"
        case _:
            yield "grades", "none"
    yield (
        "graded units",
        (
            f"{grading['units']:,}; disputed without a consensus {grading['disputed']:,}, waiting for "
            f"another rater {grading['waiting']:,}, of other answers or references "
            f"{grading['of_other_answers']:,}: these do not count"
        ),
    )
    if grading["others"]:
        yield "other grades to be had", listed(grading["others"])


def _sessions(effort: Json) -> Iterator[tuple[str, str]]:
    dates, asked = effort["dates"], effort["asked"]
    yield "sessions", f"{len(effort['sessions']):,}, from {dates['first']} to {dates['last']}"
    if asked["first"] is not None:
        yield "answers", f"asked from {asked['first']} to {asked['last']}, those of earlier runs included"
    yield "harness", f"version {', '.join(effort['versions']) or 'not known'} asked"
