"""`harness step grade` of RadM-Bench: a model gives each of an answer's five diagnoses its tier.

The paper's graders were two board-certified radiologists, blinded, who saw only the clinical history, the
reference diagnosis and the candidates ("Diagnostic Quality Grading"). A model in their place is an extension
of ours: its tiers are marked as a model's wherever they are used, and `radm.grade_agreement` says how far it
agrees with people who graded the same answers.

The grader is shown what they were shown, and nothing that tells whose answer it is or in which condition it
was given: the history is the case's own, also where the model had its translation, so that the same five
diagnoses of a case are one and the same request. The paper shuffled its answers; here each is a request of
its own, so that none can colour another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Final, cast

from harness.benchmarks.base import Case, Prompt, Question
from harness.benchmarks.prompts import load_prompt, load_schema, render
from harness.benchmarks.quoting import quoted
from harness.benchmarks.radm.answer_forms import KEY
from harness.benchmarks.radm.ranking import (
    MOST,
    QUESTION_NAMES,
    RANKS,
    TIERS,
    TOP,
    fifths,
    first_hit,
    tiers_of,
)
from harness.benchmarks.radm.scored_task import QUESTIONS
from harness.benchmarks.scored import MetricColumn, MetricValue, Scored, ScoreTable, UnitTable
from harness.benchmarks.steps import Answer, Graded, Made, Step, StepCase
from harness.canonical import JSON
from harness.messages import Message, Schema, TextPart

if TYPE_CHECKING:
    from harness.scoring.intervals import Interval
    from harness.scoring.resampling import Resampling

NUMBERS: Final = ("graded", "fifths", "first_hit", "best_tier")
"""Whether there are tiers (1 or 0), and what they come to; see `radm.ranking`."""

_CANDIDATES: Final = tuple(f"candidate_{rank}" for rank in range(1, RANKS + 1))

_TABLE: Final = ScoreTable(
    numbers=NUMBERS,
    main_metric=None,
    columns=(
        MetricColumn("score", ("", "score"), best=MOST),
        *(MetricColumn(f"top{k}", (f"top-{k}", "acc")) for k in TOP),
        *(
            MetricColumn(f"tier.{tier}.share", ("best", f"tier {tier}"), better=None, best=None)
            for tier in reversed(TIERS)
        ),
    ),
    legend=(
        "LLM-graded: a model gave these tiers, no radiologist; score: mean of max(weight of rank x tier), 0 "
        "to 3, of graded answers alone; top-k: share of them with a tier of 1 or more within the first k; "
        "best tier: share whose best diagnosis has it; n: graded answers. `harness score RUN --grades "
        "STEP_RUN` scores the run by them, unusable answers included; higher, lower: the grader's tier is "
        "above, below the person's"
    ),
    one_reading="LLM-graded (an answer that the grader gave no tiers is in no number)",
)


class RadMGrade(Step):
    """The grader as the engine sees it."""

    kind: ClassVar[str] = "grade"
    benchmark: ClassVar[str] = "radm"
    title: str = "Tiers of ranked diagnoses, LLM-graded: by a model, and by no radiologist"
    fields: ClassVar[frozenset[str]] = frozenset({"history", "diagnosis", *_CANDIDATES})
    no_default: str = "since the paper's graders were two radiologists"
    scorer: str = "radm-grade-1"
    questions: Mapping[str, Question] = QUESTIONS

    def step_case(self, answer: Answer) -> Made:
        """Return the history of the case, its reference diagnosis, and the five candidates in order."""
        prediction = cast("Mapping[str, Sequence[JSON]]", answer.prediction)
        candidates = dict(zip(_CANDIDATES, map(str, prediction[KEY]), strict=True))
        case = answer.case
        return StepCase(
            fields={
                "history": case.fields["history"],
                "diagnosis": str(case.reference["diagnosis"]),
                **candidates,
            },
            reference={},
        )

    def prompt(self, condition: str) -> Prompt:
        """Return our own prompt, the same for both languages."""
        return load_prompt("radm-grade-v1")

    def schema(self, condition: str) -> Schema | None:
        """Return the schema of five tiers, each with a reason."""
        return load_schema("radm-grade-v1")

    def render(self, case: Case, condition: str, prompt: Prompt) -> tuple[Message, ...]:
        """Return the one user turn of a case; all that it shows is quoted data."""
        texts = quoted({name: case.fields[name] for name in sorted(self.fields)})
        return (Message("user", (TextPart(render(prompt, texts)),)),)

    def grades_of(self, prediction: JSON) -> Mapping[str, JSON]:
        """Return question -> tier of one of the grader's answers, which fits the schema."""
        entries = cast("Mapping[str, Sequence[Mapping[str, JSON]]]", prediction)["tiers"]
        return {name: entry["tier"] for name, entry in zip(QUESTION_NAMES, entries, strict=True)}

    def table(self, condition: str) -> ScoreTable:
        """Return how the rows of a graded model are scored and shown."""
        return _TABLE

    def unit_numbers(self, unit: Scored) -> Sequence[float]:
        """Return `NUMBERS` of one of the grader's answers; all 0 without tiers."""
        tiers = None if unit.prediction is None else tiers_of(self.grades_of(unit.prediction))
        return (0, 0, 0, 0) if tiers is None else (1, fifths(tiers), first_hit(tiers), max(tiers))

    def metrics(
        self, units: UnitTable, condition: str, conventions: Mapping[str, str]
    ) -> Mapping[str, MetricValue]:
        """Return every metric path of one graded model; see `radm.grade_scores`."""
        from harness.benchmarks.radm.grade_scores import score

        return score(units.numbers)

    def intervals(
        self, units: UnitTable, condition: str, conventions: Mapping[str, str], resampling: Resampling
    ) -> Mapping[str, Interval]:
        """Return the intervals of these metrics."""
        from harness.benchmarks.radm.grade_scores import intervals

        return intervals(units, resampling)

    def agreement(self, graded: Sequence[Graded]) -> Mapping[str, JSON] | None:
        """Return how far the grader agrees with each person, and they with each other."""
        from harness.benchmarks.radm.grade_agreement import agreement

        return agreement([(one, self._tiers(one.prediction)) for one in graded])

    def score_unit(
        self, numbers: Sequence[float], condition: str, conventions: Mapping[str, str]
    ) -> Mapping[str, float | None]:
        """Return what one answer scores by its tiers; nothing without them."""
        from harness.benchmarks.radm.grade_scores import unit_scores

        return unit_scores(numbers)

    def _tiers(self, prediction: JSON) -> Mapping[str, JSON]:
        return {} if prediction is None else self.grades_of(prediction)
