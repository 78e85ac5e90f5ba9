"""The methods in plain words: what was asked, of whom, how it was read and scored, and when."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from harness.benchmarks.base import Benchmark
from harness.canonical import digest
from harness.manifest import Manifest
from harness.phrases import count, listed
from harness.report.cells import text_cell
from harness.report.document import Cell, Column, Facts, Part, RowKind, Table, TableRow
from harness.report.evidence import IMPORTED_NOTE
from harness.report.part_ids import PartIds
from harness.report.score_view import Json
from harness.report.truth import THRESHOLDS

DIGITS: Final = 16
"""So much of a digest is shown; the JSON has all of it."""

LONGEST: Final = 80
"""A parameter of more characters (a schema) is told by its digest."""

_NOT_KNOWN: Final = "not known: answers from files"


def methods(
    score: Json, effort: Json, manifest: Manifest, benchmark: Benchmark, ids: PartIds, prefix: str
) -> Iterator[Part]:
    """Yield how the numbers of a run came to be."""
    yield Facts(ids.make(prefix, "asked"), "What was asked", [*_asked(score, manifest, benchmark)])
    yield _prompts(effort, ids.make(prefix, "prompts"))
    yield _models(effort, ids.make(prefix, "models"))
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


def _models(effort: Json, table_id: str) -> Table:
    served = {row["model"]: row["answers"]["served_models"] for row in effort["models"]}
    return Table(
        table_id,
        "Models and parameters",
        [
            Column("asked", "asked as", "model id at its endpoint", numeric=False),
            Column("sent", "sent with", "parameters as they stand in the requests", numeric=False),
            Column("left_out", "left out", "benchmark defaults that the model does not take", numeric=False),
            Column("images", "images", "how images were made ready", numeric=False),
            Column("reformatter", "reformatter", numeric=False),
            Column("served", "answered as", "what the provider says answered", numeric=False),
            Column("prices", "price", "US dollars per million tokens, and who says so", numeric=False),
        ],
        [
            _model_row(name, one, served.get(name, []))
            for name, one in sorted(effort["params"].items(), key=lambda item: (item[1]["role"], item[0]))
        ],
    )


def _model_row(name: str, one: Json, served: Sequence[Json]) -> TableRow:
    imported = one["imported"]
    simulated = " (SIMULATED)" if one["simulated"] else ""
    kind: RowKind = "model" if one["role"] == "model" else "other"
    return TableRow(
        name if kind == "model" else f"{name} ({one['role']})",
        [
            text_cell(f"{one['model']} at {one['endpoint']}, {one['adapter']}{simulated}"),
            text_cell(_NOT_KNOWN if imported else _sent(one)),
            text_cell(", ".join(one["dropped_params"]) or "nothing"),
            text_cell(str(one["image_recipe"])),
            text_cell(one["reformatter"] or "none"),
            text_cell(_served(served) or "nobody told"),
            text_cell("not known" if imported else _prices(one["prices"])),
        ],
        kind,
    )


def _sent(one: Json) -> str:
    """Return the parameters of the requests; where they differ between conditions, each with its own."""
    bodies: dict[str, list[str]] = {}
    for sent in one["sent"]:
        if sent["purpose"] == "answer":
            bodies.setdefault(_fields(sent["body"] or {}, sent), []).extend(sent["conditions"])
    if not bodies:
        return _fields(one["params"] or {}, {}) + " (as planned; nothing was sent)"
    if len(bodies) == 1:
        return next(iter(bodies))
    return "; ".join(f"{listed(sorted(set(names)))}: {text}" for text, names in bodies.items())


def _fields(body: Mapping[str, Any], sent: Json) -> str:
    fields = [f"{name}={_short(value)}" for name, value in sorted(body.items()) if name != "model"]
    fields += [f"header {name}: {value}" for name, value in sorted((sent.get("headers") or {}).items())]
    return ", ".join(fields) or "no parameters"


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    if len(text) <= LONGEST:
        return text
    return f"({len(text):,} characters of JSON, sha256 {digest(value)[:DIGITS]})"


def _served(served: Sequence[Json]) -> str:
    named = [f"{one['model']} ({one['answers']:,})" for one in served if one["model"] is not None]
    silent = sum(one["answers"] for one in served if one["model"] is None)
    return "; ".join([*named, *([f"not told ({silent:,})"] if silent else [])])


def _prices(prices: Sequence[Json]) -> str:
    return "; then ".join(map(_price, prices)) or "not known"


def _price(price: Json) -> str:
    kinds = (("input", "input"), ("output", "output"), ("cached_input", "cached input"))
    rates = [f"{name} {price[key]:g}" for key, name in kinds if price.get(key) is not None]
    source = f" ({price['source']})" if price.get("source") else ""
    tiers = f"; {count(len(price['tiers']), 'tier')} for long requests" if price.get("tiers") else ""
    return f"{', '.join(rates) or 'not known'}{tiers}{source}"


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
            f"{facts['level']:.0%}: shares of cases by Clopper-Pearson, all else by a bootstrap over cases, "
            f"or groups of cases, with all their repeats (BCa, {facts['resamples']:,} resamples, generator "
            f"{facts['generator']}, seed {facts['seed']}, version {facts['version']})"
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
            f"{grading['units']:,}; disputed without a consensus {grading['disputed']:,}, of other answers "
            f"or references {grading['of_other_answers']:,}: these do not count"
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
