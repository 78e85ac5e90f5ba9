"""`harness step judge` of triage: a model looks for five failures in the rationale of each answer.

Source: Dental-TriageBench, sections 5.2 and H, table 7. The judge gets exactly the paper's five fields, no
image and no label that both agree on; the prompt, its rules and the protocol are in our own words. It judges
answers in the condition `both` alone: a rationale cannot neglect a complaint, or omit a finding on a
radiograph, that the model was not shown.

An answer of the judge counts only if it fits the schema, and then as it stands. One that contradicts itself
(a 1 without a reason, a 0 with one) is not corrected: `triage.judge_scores` counts it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Final, cast

from harness.benchmarks.base import Case, Prompt, Question
from harness.benchmarks.prompts import load_prompt, load_schema, render
from harness.benchmarks.quoting import quoted
from harness.benchmarks.scored import MetricColumn, MetricValue, Scored, ScoreTable, UnitTable
from harness.benchmarks.steps import Answer, Graded, Made, NoCase, Step, StepCase
from harness.benchmarks.triage.agreement import agreement
from harness.benchmarks.triage.taxonomy import LABELS, code_of, code_of_labels
from harness.benchmarks.triage.verdicts import DIMENSIONS, NUMBERS, verdict_numbers, verdict_scores
from harness.canonical import JSON
from harness.messages import Message, Schema, TextPart

if TYPE_CHECKING:
    from harness.scoring.intervals import Interval
    from harness.scoring.resampling import Resampling

_QUOTED: Final = ("chief_complaint", "gt_reasoning", "model_reasoning")
_HEADS: Final = ("negl", "omit", "misr", "prot", "hall")

_TABLE: Final = ScoreTable(
    numbers=NUMBERS,
    main_metric=None,
    columns=(
        MetricColumn("failure.any.case_share", ("any", "fail"), better="lower", best=0),
        *(
            MetricColumn(f"failure.{dimension}.case_share", (dimension[:2], head), better="lower", best=0)
            for dimension, head in zip(DIMENSIONS, _HEADS, strict=True)
        ),
        MetricColumn("failure.mean_count", ("fail", "/case"), 2, better="lower", best=0),
    ),
    legend=(
        "shares of judged answers whose rationale fails: D1 neglects the complaint, D2 omits a finding, D3 "
        "misreads one, D4 departs from the protocol, D5 invents; any: at least one of them; fail/case: "
        "dimensions a case; n: answers with a verdict"
    ),
    one_reading="judged (an answer without a verdict is in no number)",
)


class TriageJudge(Step):
    """The judge as the engine sees it."""

    kind: ClassVar[str] = "judge"
    benchmark: ClassVar[str] = "triage"
    title: str = "Failures in triage rationales, judged by a model"
    fields: ClassVar[frozenset[str]] = frozenset(
        {"chief_complaint", "missing_labels", "extra_labels", "gt_reasoning", "model_reasoning"}
    )
    scorer: str = "triage-judge-1"
    questions: Mapping[str, Question] = MappingProxyType({name: Question((0, 1)) for name in DIMENSIONS})
    """What people grade answers by as the judge does."""
    # The paper's judge is in the catalogue, but nothing can be sent to it any more.
    default_model: str | None = None
    no_default: str = (
        "since the paper's judge, gemini-3-pro, is retired (gemini-3.1-pro stands in for it there)"
    )

    def follows(self, condition: str) -> bool:
        """Tell whether answers in a condition are judged: only where the model was shown everything."""
        return condition == "both"

    def step_case(self, answer: Answer) -> Made:
        """Return the five fields of an answer; nothing where one of the two rationales is missing."""
        prediction = cast("Mapping[str, JSON]", answer.prediction)
        given, expected = str(prediction["reasoning"]), str(answer.case.reference.get("rationale", ""))
        if not expected.strip():
            return NoCase("the case has no expert rationale")
        if not given.strip():
            return NoCase("no rationale")
        truth, named = code_of_labels(answer.case.reference["labels"]), code_of(prediction)
        return StepCase(
            fields={
                "chief_complaint": answer.case.fields["chief_complaint"],
                "missing_labels": _listed(truth & ~named),
                "extra_labels": _listed(named & ~truth),
                "gt_reasoning": expected,
                "model_reasoning": given,
            },
            reference={},
        )

    def prompt(self, condition: str) -> Prompt:
        """Return our own prompt."""
        return load_prompt("triage-judge-v1")

    def schema(self, condition: str) -> Schema | None:
        """Return the schema of a verdict: each dimension with its score and reason."""
        return load_schema("triage-judge-v1")

    def render(self, case: Case, condition: str, prompt: Prompt) -> tuple[Message, ...]:
        """Return the one user turn of a case; what patients, experts and models wrote is quoted data."""
        texts = quoted({name: case.fields[name] for name in _QUOTED})
        text = render(prompt, {name: texts.get(name, case.fields[name]) for name in self.fields})
        return (Message("user", (TextPart(text),)),)

    def table(self, condition: str) -> ScoreTable:
        """Return how the rows of a judged model are scored and shown."""
        return _TABLE

    def unit_numbers(self, unit: Scored) -> Sequence[float]:
        """Return whether there is a verdict, and what it says; see `triage.verdicts`."""
        return verdict_numbers(unit.prediction)

    def metrics(
        self, units: UnitTable, condition: str, conventions: Mapping[str, str]
    ) -> Mapping[str, MetricValue]:
        """Return every metric path of one judged model; see `triage.judge_scores`."""
        from harness.benchmarks.triage.judge_scores import score

        return score(units)

    def intervals(
        self, units: UnitTable, condition: str, conventions: Mapping[str, str], resampling: Resampling
    ) -> Mapping[str, Interval]:
        """Return the intervals of these metrics."""
        from harness.benchmarks.triage.judge_scores import intervals

        return intervals(units, resampling)

    def agreement(self, graded: Sequence[Graded]) -> Mapping[str, JSON] | None:
        """Return how far the judge agrees with each rater, by dimension; see `triage.agreement`."""
        return agreement(graded)

    def score_unit(
        self, numbers: Sequence[float], condition: str, conventions: Mapping[str, str]
    ) -> Mapping[str, float | None]:
        """Return what one verdict says; nothing without one."""
        return verdict_scores(numbers)


def _listed(code: int) -> str:
    """Return labels as a JSON list in the order of the taxonomy, or that there are none."""
    found = [label for place, label in enumerate(LABELS) if code >> place & 1]
    return json.dumps(found, ensure_ascii=False) if found else "none"
