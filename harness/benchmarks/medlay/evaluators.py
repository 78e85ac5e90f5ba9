"""What the steps `verify` and `evaluate` share: both give five attributes of each lay text of a run.

Their grades are those of the run that they follow: `harness score RUN --grades STEP_RUN`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from harness.benchmarks.details import Detail
from harness.benchmarks.medlay.attributes import ATTRIBUTES, SCALE
from harness.benchmarks.medlay.cases import EXPERT, ROI, ROLE
from harness.benchmarks.medlay.details import by_attribute
from harness.benchmarks.scored import MetricColumn, MetricValue, Scored, ScoreTable, UnitTable
from harness.benchmarks.steps import Answer, Made, NoCase, Step, StepCase
from harness.canonical import JSON

if TYPE_CHECKING:
    from harness.scoring.intervals import Interval
    from harness.scoring.resampling import Resampling

LAY: Final = "lay_caption"
"""The field with the lay text that is looked at: a model's answer, never the reference."""

STATED: Final = "modality"

_HEADS: Final = ("mod", "anat", "find", "fact", "read")


class Evaluator(Step):
    """A step that scores lay texts by the five attributes; its grades are those of `evaluator`."""

    benchmark: ClassVar[str] = "medlay"
    shows_media: ClassVar[bool] = True
    evaluator: ClassVar[str]
    flags: ClassVar[tuple[str, ...]] = ()
    """What else is kept of each answer, 0 or 1 each."""
    columns: ClassVar[tuple[MetricColumn, ...]] = ()
    legend: ClassVar[str]

    @abstractmethod
    def attribute_scores(self, prediction: Mapping[str, JSON]) -> Mapping[str, float]:
        """Return attribute -> score from 0 to 1 of an answer that fits the schema."""

    def flag_values(self, prediction: Mapping[str, JSON]) -> Sequence[float]:
        """Return the values of `flags`."""
        return ()

    def step_case(self, answer: Answer) -> Made:
        """Return the image with its region, the expert's caption, the answer, and the stated modality."""
        case = answer.case
        if not case.media.get(ROLE):
            return NoCase("the case has no usable image")
        return StepCase(
            fields={
                EXPERT: case.fields[EXPERT],
                LAY: str(answer.prediction),
                STATED: str(case.reference["modality"]),
                ROI: case.fields[ROI],
            },
            reference={},
            media={ROLE: case.media[ROLE]},
        )

    def grades_of(self, prediction: JSON) -> Mapping[str, JSON]:
        """Return the five scores as grades of the answer."""
        assert isinstance(prediction, Mapping), "a prediction fits the schema"
        scores = self.attribute_scores(prediction)
        return {f"{self.evaluator}.{name}": score for name, score in scores.items()}

    def table(self, condition: str) -> ScoreTable:
        """Return how the rows are scored and shown; they have no order of merit.

        An answer that its model never gave is in none of them: only the scores of the run itself count it.
        """
        from harness.benchmarks.medlay.attribute_means import names

        return ScoreTable(
            numbers=names(self.flags),
            main_metric=None,
            columns=(
                MetricColumn(f"{self.evaluator}.overall", ("mean", "of 5"), 1, best=SCALE),
                *(
                    MetricColumn(f"{self.evaluator}.{name}", ("", head), 1, best=SCALE)
                    for name, head in zip(ATTRIBUTES, _HEADS, strict=True)
                ),
                *self.columns,
            ),
            legend=self.legend,
            one_reading="scored (an answer that was not scored is in no number)",
        )

    def details(self, condition: str) -> Sequence[Detail]:
        """Return what a report shows beside the table; see `medlay.details`."""
        return (by_attribute(self.evaluator),)

    def unit_numbers(self, unit: Scored) -> Sequence[float]:
        """Return whether there is an answer, its attributes and its flags."""
        if unit.prediction is None:
            return (0.0,) * (1 + len(ATTRIBUTES) + len(self.flags))
        assert isinstance(unit.prediction, Mapping), "a prediction fits the schema"
        scores = self.attribute_scores(unit.prediction)
        return (1.0, *(scores[name] for name in ATTRIBUTES), *self.flag_values(unit.prediction))

    def metrics(
        self, units: UnitTable, condition: str, conventions: Mapping[str, str]
    ) -> Mapping[str, MetricValue]:
        """Return every metric path of one model; see `attribute_means`."""
        from harness.benchmarks.medlay.attribute_means import metrics

        return metrics(units, self.evaluator, self.flags)

    def intervals(
        self, units: UnitTable, condition: str, conventions: Mapping[str, str], resampling: Resampling
    ) -> Mapping[str, Interval]:
        """Return the intervals of these metrics."""
        from harness.benchmarks.medlay.attribute_means import intervals

        return intervals(units, self.evaluator, self.flags, resampling)

    def score_unit(
        self, numbers: Sequence[float], condition: str, conventions: Mapping[str, str]
    ) -> Mapping[str, float | None]:
        """Return what one unit scores."""
        from harness.benchmarks.medlay.attribute_means import unit_scores

        return unit_scores(numbers, self.evaluator, self.flags)
