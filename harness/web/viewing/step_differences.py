"""Answers of steps: what they say of another model's answer, point by point, or the text made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

from harness.benchmarks.base import Case
from harness.benchmarks.medlay.rubric import CRITERIA
from harness.benchmarks.radm.ranking import QUESTION_NAMES, RANKS
from harness.benchmarks.triage.verdicts import DIMENSIONS
from harness.canonical import JSON, canonical_json
from harness.phrases import count
from harness.web.viewing.benchmark_differences import beside, compared, ranks_of, text_summary
from harness.web.viewing.difference_parts import Difference, Part, Row, Verdicts

_FAILS: Final[Mapping[JSON, str]] = {0: "0: no failure", 1: "1: failure"}


def judged(case: Case, condition: str, prediction: JSON, grades: Mapping[str, JSON]) -> Difference:
    """Show the judge's five scores with their reasons; people's grades stand beside, where there are any."""
    parts: list[Part] = []
    summary = ""
    if prediction is not None:
        verdict = cast("Mapping[str, Mapping[str, JSON]]", prediction)
        rows = tuple(
            Row(name, _FAILS[one["score"]] + _beside(grades.get(name)), str(one["reason"]))
            for name, one in ((name, verdict[name]) for name in DIMENSIONS)
        )
        failures = sum(verdict[name]["score"] == 1 for name in DIMENSIONS)
        summary = f"the judge finds {count(failures, 'failure')} of {len(DIMENSIONS)}" if failures else (
            "the judge finds no failure"
        )  # fmt: skip
        parts.append(Verdicts("what the judge says", ("dimension", "score", "reason"), rows))
    parts.append(
        beside("what was judged", "the expert's rationale", case.fields["gt_reasoning"],
               "the model's rationale", case.fields["model_reasoning"])
    )  # fmt: skip
    return Difference(tuple(parts), summary)


def _beside(grade: JSON) -> str:
    return "" if grade is None else f" (people: {_written(grade)})"


def tiered(case: Case, condition: str, prediction: JSON, grades: Mapping[str, JSON]) -> Difference:
    """Show the five candidates with the tiers that the grader gave them, and its reasons."""
    candidates = [case.fields[f"candidate_{rank}"] for rank in range(1, RANKS + 1)]
    if prediction is None:
        return ranks_of(case.fields["diagnosis"], candidates, {})
    entries = cast("Mapping[str, Sequence[Mapping[str, JSON]]]", prediction)["tiers"]
    given = {name: entry["tier"] for name, entry in zip(QUESTION_NAMES, entries, strict=True)}
    found = ranks_of(case.fields["diagnosis"], candidates, given)
    rows = tuple(
        Row(f"rank {rank}", f"tier {_written(entry['tier'])}", str(entry["reason"]))
        for rank, entry in enumerate(entries, start=1)
    )
    reasons = Verdicts("the grader's reasons", ("diagnosis", "tier", "reason"), rows)
    return Difference((*found.parts, reasons), found.summary)


def evaluated(case: Case, condition: str, prediction: JSON, grades: Mapping[str, JSON]) -> Difference:
    """Show the scores of a lay text, attribute by attribute, and all else that the evaluator says."""
    parts: list[Part] = []
    summary = ""
    if prediction is not None:
        said = cast("Mapping[str, JSON]", prediction)
        scores = cast("Mapping[str, JSON]", said.get("scores", said))
        names = {criterion: attribute for attribute, criterion in CRITERIA.items()}
        rows = [Row(names.get(name, name), _written(value)) for name, value in scores.items()]
        if scores is not said:
            rows += [Row(name, _text(value)) for name, value in said.items() if name != "scores"]
            summary = f"verdict {_text(said['verdict'])}, {_text(said['total_score'])} of 10"
        parts.append(Verdicts("what the evaluator says", ("attribute", "score", ""), tuple(rows)))
    parts.append(
        beside("what was scored", "the expert's caption", case.fields["expert_caption"],
               "the model's lay text", case.fields["lay_caption"])
    )  # fmt: skip
    return Difference(tuple(parts), summary)


def normalised(case: Case, condition: str, prediction: JSON, grades: Mapping[str, JSON]) -> Difference:
    """Compare a restated report with the answer that it restates, and with the reference."""
    restated = None if prediction is None else str(prediction)
    report = cast("str | None", case.reference.get("report"))
    raw = case.fields["report"]
    changed = compared("what restating changed", "report as answered", raw, "restatement", restated)
    parts: list[Part] = [changed]
    if report is not None and restated is not None:
        parts.append(compared("against the reference", "reference report", report, "restatement", restated))
    return Difference(tuple(parts), text_summary(changed))


def translated(case: Case, condition: str, prediction: JSON, grades: Mapping[str, JSON]) -> Difference:
    """Show a history and its translation."""
    text = None if prediction is None else str(prediction)
    part = beside("history and translation", "history", case.fields["history"], "translation", text)
    return Difference((part,), "")


def _text(value: JSON) -> str:
    return value if isinstance(value, str) else _written(value)


def _written(value: JSON) -> str:
    return canonical_json(value).decode("utf-8")
