"""The step `normalise`: clinical reports restated in the style of the references, and scored again.

The paper scores each report raw and after a language model has rewritten it (its appendix B, prompt A), and
prints the raw scores with the difference. It names no such model: here the user must. The step sees a report
as it was answered, quoted, and nothing of its case: no image, no finding, no reference.

**Restating can add.** In the paper's table 1 reports that score .02 raw score .42 restated: a text in the
style of the references scores high whatever it says. So both scores stand side by side, over the same pairs,
with counts of what only the restatement speaks of (`report_content`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Final, cast

from harness.benchmarks.base import Benchmark, Case, Prompt, Question
from harness.benchmarks.details import Detail
from harness.benchmarks.pandent.audit import QUESTIONS
from harness.benchmarks.pandent.details import NORMALISE
from harness.benchmarks.pandent.questions import REPORT
from harness.benchmarks.pandent.report_tools import (
    REPORT_CONVENTIONS,
    ReportTools,
    open_tools,
    tools_here,
)
from harness.benchmarks.prompts import load_prompt, render
from harness.benchmarks.quoting import quoted
from harness.benchmarks.scored import MetricColumn, MetricValue, Scored, ScoreTable, UnitTable
from harness.benchmarks.steps import Answer, Made, Step, StepCase
from harness.messages import Message, TextPart

if TYPE_CHECKING:
    from harness.benchmarks.sheets import GradingTask
    from harness.scoring.intervals import Interval
    from harness.scoring.resampling import Resampling

_COLUMNS: Final = (
    MetricColumn("raw.bleu_4", ("raw", "B4")),
    MetricColumn("normalised.bleu_4", ("norm", "B4")),
    MetricColumn("delta.bleu_4", ("delta", "B4"), better=None, best=None),
    MetricColumn("audit.meaning_kept.share", ("audit", "kept"), optional=True),
    MetricColumn("audit.added.share", ("audit", "added"), optional=True, better="lower", best=0),
    MetricColumn("audit.lost.share", ("audit", "lost"), optional=True, better="lower", best=0),
    MetricColumn("audit.changed.share", ("audit", "chngd"), optional=True, better="lower", best=0),
    MetricColumn("added.findings_mean", ("added", "find"), 1, better="lower", best=0),
    MetricColumn("added.half_share", ("added", "half"), better="lower", best=0),
    MetricColumn("added.teeth_mean", ("added", "teeth"), 2, better="lower", best=0),
    MetricColumn("dropped.findings_mean", ("lost", "find"), 1, better="lower", best=0),
    MetricColumn("dropped.teeth_mean", ("lost", "teeth"), 2, better="lower", best=0),
    MetricColumn("delta.rouge_l", ("delta", "R-L"), better=None, best=None),
    MetricColumn("delta.meteor15", ("delta", "MET15"), better=None, best=None),
    MetricColumn("delta.average", ("delta", "avg"), better=None, best=None),
)
_LEGEND: Final = (
    "raw, norm: the reports as answered, and as restated; delta: norm less raw, of the same reports; "
    "added, lost: findings (of 21) and teeth a report that only the restatement speaks of, or only the "
    "answer; half: share of restatements that add 11 findings or more; audit: shares of the restatements "
    "that people looked through. WHERE FINDINGS ARE ADDED, norm AND delta SCORE THE NORMALISER, NOT THE "
    "MODEL"
)


class Normalise(Step):
    """The step as the engine sees it; `tools` are what scoring clinical reports takes."""

    kind = "normalise"
    benchmark = "pandent"
    title = "PanDent: clinical reports restated in the style of the references"
    fields = frozenset({"report"})
    scorer = "pandent.normalise-1"
    conventions: Mapping[str, tuple[str, ...]] = REPORT_CONVENTIONS

    own_questions: Mapping[str, Question] = QUESTIONS

    def __init__(self, tools: ReportTools | None = None) -> None:
        self._tools = tools

    @property
    def gradings(self) -> Mapping[str, GradingTask]:
        """Return the audit: people hold restatements against the reports as they were answered."""
        from harness.benchmarks.pandent.audit import Audit

        return {"audit": Audit()}

    def follows(self, condition: str) -> bool:
        """Tell whether a condition asks for clinical reports."""
        return condition == REPORT

    def step_case(self, answer: Answer) -> Made:
        """Return the report of a unit; its reference is kept for the scores alone."""
        return StepCase(
            fields={"report": str(answer.prediction)},
            reference={"report": answer.case.reference["report"]},
        )

    def render(self, case: Case, condition: str, prompt: Prompt) -> tuple[Message, ...]:
        """Return the one user turn of a case; the report is quoted data."""
        text = render(prompt, quoted({"report": case.fields["report"]}))
        return (Message("user", (TextPart(text),)),)

    def prompt(self, condition: str) -> Prompt:
        """Return our own prompt."""
        return load_prompt("pandent-normalise-v1")

    def table(self, condition: str) -> ScoreTable:
        """Return how the rows are scored and shown; they have no order of merit."""
        from harness.benchmarks.pandent.restatement_scores import NUMBERS

        return ScoreTable(
            numbers=NUMBERS,
            main_metric=None,
            columns=_COLUMNS,
            legend=_LEGEND,
            one_reading="restated (an answer without a restatement is in no number)",
        )

    @contextmanager
    def _opened(self, conventions: Mapping[str, str]) -> Iterator[Benchmark]:
        with open_tools(conventions) as tools:
            yield cast("Benchmark", Normalise(tools))

    def prepared(self, conventions: Mapping[str, str]) -> AbstractContextManager[Benchmark]:
        """Give the step with what scoring clinical reports takes, and end that afterwards."""
        return self._opened(conventions)

    def details(self, condition: str) -> Sequence[Detail]:
        """Return what a report shows beside the table; see `pandent.details`."""
        return NORMALISE

    def tools_here(self, conventions: Mapping[str, str]) -> Mapping[str, bool]:
        """Return whether each METEOR can be computed here, unless it is switched off."""
        return tools_here(conventions)

    def unit_numbers(self, unit: Scored) -> Sequence[float]:
        """Return what the metrics need of one restatement; see `restatement_scores`."""
        from harness.benchmarks.pandent.restatement_scores import restatement_numbers

        assert self._tools is not None, "scoring goes through `prepared`"
        reference = unit.case.reference["report"]
        return restatement_numbers(
            unit.case.fields["report"],
            None if unit.prediction is None else str(unit.prediction),
            None if reference is None else str(reference),
            self._tools,
            unit.grades,
            unit.unsettled,
        )

    def metrics(
        self, units: UnitTable, condition: str, conventions: Mapping[str, str]
    ) -> Mapping[str, MetricValue]:
        """Return every metric path of one row."""
        from harness.benchmarks.pandent.restatement_scores import restatement_metrics

        return restatement_metrics(units.numbers, self._tools)

    def intervals(
        self, units: UnitTable, condition: str, conventions: Mapping[str, str], resampling: Resampling
    ) -> Mapping[str, Interval]:
        """Return the intervals of one row's metrics."""
        from harness.benchmarks.pandent.restatement_scores import restatement_intervals

        return restatement_intervals(units, resampling)

    def score_unit(
        self, numbers: Sequence[float], condition: str, conventions: Mapping[str, str]
    ) -> Mapping[str, float | None]:
        """Return the metrics that are means over units, for one unit."""
        from harness.benchmarks.pandent.restatement_scores import restatement_unit_scores

        return restatement_unit_scores(numbers)
