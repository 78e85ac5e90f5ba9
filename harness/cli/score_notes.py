"""What is said below a table of scores: outcomes, what was left out, and what the numbers mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from harness.benchmarks.raters import RESOLVED
from harness.benchmarks.registry import get_benchmark
from harness.benchmarks.scored import MetricColumn, ScoreTable
from harness.cli.score_words import Json, shown_name, some, wrap
from harness.graded_words import graded_told, people_told, rows_told, ungraded_advice
from harness.phrases import IMPORTED_NOTE, count, listed
from harness.report.rounding import rounded


def below(
    score: Json, condition: str, rows: Sequence[Json], columns: Sequence[MetricColumn], width: int
) -> Iterator[str]:
    """Yield what is said of one condition: how units ended, and what is in none of its numbers."""
    yield from _outcomes(condition, rows, width)
    yield from without_value(columns, rows, width)
    yield from _doubtful(columns[0], rows, width)
    yield from _not_shown(score, condition, width)
    yield from _left_out(score, condition, rows, width)
    yield from _common(score, condition, width)


def notes(score: Json, shown: Sequence[str], unseen: Sequence[str], width: int) -> Iterator[str]:
    """Yield what is said of all tables, and which conditions have none."""
    yield ""
    benchmark = get_benchmark(score["benchmark"])
    tables = [benchmark.table(condition) for condition in shown]
    for legend in dict.fromkeys(table.legend for table in tables if table.legend):
        yield from wrap(legend, width)
    yield from _baselines(score, dict(zip(shown, tables, strict=True)), width)
    meaning = "n: units scored; cov%: units with a usable answer"
    if any(score["ranked_by"].get(condition) is not None for condition in shown):
        meaning += "; ranks: by the first column, of complete models"
    yield from wrap(meaning, width)
    yield from wrap(_interval_note(score), width)
    if unseen:
        yield from wrap(f"in the JSON only: {', '.join(unseen)}", width)
    for name, (usual, *_) in benchmark.conventions.items():
        value = score["conventions"].get(name, usual)
        if value != usual:
            yield from wrap(f"convention {name}={value} (usually {usual}): compare like with like", width)
    for note in _grading(score.get("grading"), score.get("graded", ())):
        yield from wrap(note, width)
    for task in score.get("graded", ()):
        for note in graded_told(task):
            yield from wrap(note, width)
        for note in rows_told(task):
            yield from wrap(f"  {note}", width, indent="    ")
    advice = ungraded_advice(score)
    if advice is not None:
        yield from wrap(advice, width)
    if score["imported"]:
        yield from wrap(IMPORTED_NOTE, width)
    repeats, gaps = score["repeats"], len(score["gaps"])
    if repeats > 1:
        yield from wrap(f"numbers are means of {repeats} repeats; their SD is in the JSON", width)
    if gaps:
        yield from wrap(f"{count(gaps, 'gap')}: asks that this parser needs, and nobody made", width)
    changed, corrected = score["changed_since_run"]["units"], len(score["references"]["corrected"])
    if changed:
        steps = ", ".join(f"{step}: {units}" for step, units in score["changed_since_run"]["steps"].items())
        yield from wrap(f"read differently than in the run: {count(changed, 'unit')} ({steps})", width)
    if corrected:
        yield from wrap(f"references of {count(corrected, 'case')} were corrected", width)


def _baselines(score: Json, tables: Mapping[str, ScoreTable], width: int) -> Iterator[str]:
    """Say what each baseline of the tables is; where tables differ in that, in which one."""
    said: dict[str, dict[str, list[str]]] = {}
    for condition, table in tables.items():
        for row in score["rows"]:
            note = table.baseline_notes.get(row["model"])
            if row["kind"] == "baseline" and row["condition"] == condition and note is not None:
                said.setdefault(row["model"], {}).setdefault(note, []).append(condition)
    for name, whats in sorted(said.items()):
        for note, conditions in whats.items():
            where = f" ({', '.join(conditions)})" if len(whats) > 1 else ""
            yield from wrap(f"{name}{where}: {note}", width)


def _interval_note(score: Json) -> str:
    facts = score["intervals"]
    return (
        f"95% CI: of the first column, by a bootstrap over cases (BCa; of means over labels bootstrap-t; "
        f"{facts['resamples']:,} resamples, seed {facts['seed']}), of shares of cases by Clopper-Pearson; "
        "those of all numbers are in the JSON"
    )


def _grading(grading: Json | None, graded: Sequence[Json]) -> Iterator[str]:
    """Say whose grades entered the numbers, and which did not count."""
    if grading is None:
        return
    others = f"; to be had by --grades: {listed(grading['others'], 5)}" if grading["others"] else ""
    raters = ", ".join(grading["raters"])
    match grading["by"]:
        case "imported":
            told = people_told(grading, graded)
            yield f"grades: {told}{' (--grades imported)' if 'people' in told else ''}{others}"
        case "model":
            who = f"{raters}, a SIMULATED model" if grading["simulated"] else f"the model {raters}"
            yield f"grades: given by {who}, NOT by people (step {grading['step']!r}){others}"
        case _:
            yield f"grades: none{others}"
    # What people have not settled is told by task where they grade by tasks: see `graded_told`.
    disputed = grading["disputed"] - sum(task["disputed_grades"] for task in graded)
    if disputed > 0:
        yield f"grades that raters disagree on, without a consensus: {disputed}; they do not count"
    if grading["of_other_answers"]:
        yield (
            "graded before they, or the references of their cases, were others: "
            f"{grading['of_other_answers']} answers; these grades do not count"
        )


def _outcomes(condition: str, rows: Sequence[Json], width: int) -> Iterator[str]:
    models = [row for row in rows if row["kind"] == "model"]
    if not models:
        return
    yield ""
    yield from wrap(f"{condition}: outcomes of units", width)
    for row in models:
        counts = ", ".join(f"{outcome} {units}" for outcome, units in row["outcomes"].items())
        yield from wrap(f"  {shown_name(row)}: {counts} (of {row['n_units']})", width, indent="    ")


def _doubtful(column: MetricColumn, rows: Sequence[Json], width: int) -> Iterator[str]:
    """Say what a reader must know of the intervals that are printed."""
    said: dict[str, list[str]] = {}
    for row in rows:
        metric = row["as_answered"].get(column.path)
        if metric is not None and "ci_note" in metric:
            said.setdefault(metric["ci_note"], []).append(shown_name(row))
    for note, names in said.items():
        yield from wrap(f"  95% CI of {', '.join(names)}: {note}", width, indent="    ")


def without_value(
    columns: Sequence[MetricColumn], rows: Sequence[Json], width: int
) -> Iterator[str]:
    """Say why a column has no value for any model, and the first one, which may rank, for some."""
    models = [row for row in rows if row["kind"] == "model" and row["n_cases"]]
    why: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for column in columns:
        names: dict[str, list[str]] = {}
        for row in models:
            metric = row["as_answered"].get(column.path)
            if metric is not None and metric["value"] is None:
                names.setdefault(metric["reason"], []).append(shown_name(row))
        if column is columns[0] or sum(map(len, names.values())) == len(models):
            for reason, lacking in names.items():
                why.setdefault((reason, tuple(lacking)), []).append(" ".join(column.head).strip())
    for (reason, whose), heads in why.items():
        who = "" if len(whose) == len(models) else f"{', '.join(whose)}: "
        yield from wrap(f"  {who}{', '.join(heads)}: no value: {reason}", width, indent="    ")


def _not_shown(score: Json, condition: str, width: int) -> Iterator[str]:
    """Say which answers a step was not shown, by model, and why."""
    reasons: dict[str, list[str]] = {}
    for one in score["step"]["not_shown"] if "step" in score else []:
        if one["condition"] == condition:
            reasons.setdefault(one["model"], []).append(f"{one['why']} {one['units']}")
    for model, told in reasons.items():
        yield from wrap(f"  {model}: not looked at: {', '.join(told)}", width, indent="    ")


def _left_out(score: Json, condition: str, rows: Sequence[Json], width: int) -> Iterator[str]:
    errors = score["case_errors"].get(condition, [])
    if errors:
        yield from wrap(f"  left out for all models (case_error): {some(errors)}", width, indent="    ")
    for row in rows:
        if row["not_applicable"]:
            listed = some(row["not_applicable"])
            yield from wrap(f"  {row['model']}: not applicable: {listed}", width, indent="    ")
        if row["not_rated"]:
            yield from wrap(f"  {row['model']}: not rated: {some(row['not_rated'])}", width, indent="    ")


def _common(score: Json, condition: str, width: int) -> Iterator[str]:
    common = score["common_cases"].get(condition)
    if common is None:
        return
    yield ""
    yield from wrap(f"{condition}: {common['metric']} on the {common['n_cases']} common cases", width)
    for row in sorted(common["rows"], key=lambda row: (row["rank"] is None, row["rank"] or 0, row["model"])):
        value = "-" if row["value"] is None else rounded(row["value"], 3)
        rank = "-" if row["rank"] is None else row["rank"]
        yield from wrap(f"{rank:>3} {row['model']}  {value}  (n={row['n']})", width, indent="    ")


def agreement(score: Json, width: int) -> Iterator[str]:
    """Say how far a judge agrees with each person who graded the same answers, and they with each other."""
    compared = score.get("agreement", {})
    others = compared.get("of_other_answers", 0)
    if others:
        why = ", and people and step did not see the same ones" if "raters" in compared else ""
        yield ""
        yield from wrap(
            f"grades that are not compared: {others}; their answers were asked again (--again){why}; grades "
            "of the new ones count where their `time` is later",
            width,
        )
    for rater, found in compared.get("raters", {}).items():
        judged = found["n_graded"] - found["not_judged"]
        what = "graded answers" if score["repeats"] == 1 else "verdicts on graded answers"
        what += ", those that one person alone graded among them" if rater == RESOLVED else ""
        yield from _compared(f"with {rater}", found, f"{judged} of {found['n_graded']} {what}", width)
    for pair, found in compared.get("between_people", {}).items():
        what = "answers that both of them graded"
        yield from _compared(f"of {pair} with each other", found, f"{found['n_graded']} {what}", width)


def _or(value: float | None, none: str) -> str:
    return none if value is None else rounded(value, 3)


def _compared(whom: str, found: Json, n: str, width: int) -> Iterator[str]:
    """Say how far two graders agree, by dimension."""
    mean = found["mean_accuracy"]
    interval = "" if mean["ci"] is None else " (95% CI {:.3f}-{:.3f})".format(*mean["ci"])
    value = "-" if mean["value"] is None else rounded(mean["value"], 3)
    yield ""
    yield from wrap(f"agreement {whom}: mean accuracy {value}{interval}, n={n}", width)
    for name, one in found["dimensions"].items():
        values = (one[key]["value"] for key in ("accuracy", "kappa"))
        accuracy, kappa = (_or(value, none) for value, none in zip(values, ("-", "undefined"), strict=True))
        if one["kappa"]["ci"] is not None:
            kappa += " ({}-{})".format(*(rounded(end, 3) for end in one["kappa"]["ci"]))
        counts = ", ".join(f"{cell} {answers}" for cell, answers in one["confusion"].items())
        told = f"  {name}: {accuracy}, kappa {kappa}; {counts}"
        yield from wrap(told + (f" ({one['note']})" if one["note"] else ""), width, indent="    ")
