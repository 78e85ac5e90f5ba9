"""What the numbers of a run are, and are no, evidence of: warnings, and what was asked in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.graded_words import graded_warnings, other_grades
from harness.phrases import count, grader, listed, llm_graded, no_evidence
from harness.report.document import Paragraph, Part
from harness.report.score_view import Json, row_name


def warnings(score: Json) -> Iterator[str]:
    """Yield what must stand on every page that shows a number of a run."""
    made_up = no_evidence(synthetic=score["synthetic"], simulated=score["simulated"])
    if made_up is not None:
        yield made_up
    if score["imported"]:
        yield "IMPORTED ANSWERS: prompt and parameters are not known here"
    graded_by = grader(score.get("grading"))
    if graded_by is not None:
        yield llm_graded([graded_by])
    yield from graded_warnings(score.get("graded", ()))
    for told, command in other_grades(score):
        yield f"{told} `{command}`"
    if "step" in score and score["step"]["answers_changed"]:
        changed = count(score["step"]["answers_changed"], "answer")
        yield f"OF EARLIER ANSWERS: {changed} that this step was shown are others now; step them once more"
    incomplete = incomplete_models(score)
    if incomplete:
        yield f"INCOMPLETE: {listed(incomplete)}; incomplete models have no rank"


def incomplete_models(score: Json) -> Sequence[str]:
    """Return the models of which units are still nobody's answer, in any condition."""
    return list(dict.fromkeys(row_name(row) for row in _models(score) if row["incomplete"]))


def all_warnings(scores: Sequence[Json]) -> Sequence[str]:
    """Return the warnings of several runs, each once; of several, with the runs that it is about."""
    whose: dict[str, list[str]] = {}
    for score in scores:
        for text in warnings(score):
            whose.setdefault(text, []).append(score["run"]["name"])
    return [
        text if len(scores) == 1 or len(runs) == len(scores) else f"{text} (run {listed(runs)})"
        for text, runs in whose.items()
    ]


def what_was_asked(score: Json, title: str, n_cases: int, conditions: Sequence[str]) -> Iterator[Part]:
    """Yield in words what a run asked of whom, in its `conditions`, and what its numbers are worth."""
    models = list(dict.fromkeys(row_name(row) for row in _models(score)))
    step = score.get("step")
    repeats = score["repeats"]
    each = "once" if repeats == 1 else f"{repeats} times"
    if step is None:
        were = "was" if len(models) == 1 else "were"
        asked = (
            f"{count(len(models), 'model')} {were} asked {count(n_cases, 'case')} of {title}, "
            f"each case {each} in {count(len(conditions), 'condition')} ({listed(conditions)})."
        )
    else:
        asked = (
            f"The step {step['kind']}: {step['model']} was asked {each} about {count(n_cases, 'answer')} of "
            f"{count(len(models), 'model')} (run {step['source'][:12]}). Rows are named by whose answers "
            "these are."
        )
    yield Paragraph(asked)
    for text in warnings(score):
        yield Paragraph(text, "warning")
    yield from (Paragraph(text, "note") for text in _changes(score))


def _changes(score: Json) -> Iterator[str]:
    """Say what is not as it was when the run was asked."""
    changed = score["changed_since_run"]
    if changed["units"]:
        steps = ", ".join(f"{step}: {units:,}" for step, units in changed["steps"].items())
        yield f"{count(changed['units'], 'unit')} are read differently than when they were asked ({steps})."
    if score["gaps"]:
        yield (
            f"{count(len(score['gaps']), 'gap')}: today's parser needs asks that nobody made; these units "
            "are nobody's answer."
        )
    corrected = score["references"]["corrected"]
    if corrected:
        yield f"References of {count(len(corrected), 'case')} were corrected since: {listed(corrected)}."


def _models(score: Json) -> Iterator[Json]:
    return (row for row in score["rows"] if row["kind"] == "model")
