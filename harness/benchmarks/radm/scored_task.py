"""The scores of RadM-Bench as the engine asks for them; all arithmetic is in the modules that this names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from harness.benchmarks.base import Question
from harness.benchmarks.details import Detail
from harness.benchmarks.radm import details, tables
from harness.benchmarks.radm.ranking import QUESTION_NAMES, TIERS
from harness.benchmarks.radm.scores import unit_numbers, unit_scores
from harness.benchmarks.scored import MetricValue, Scored, ScoreTable, UnitTable
from harness.benchmarks.task import Task

if TYPE_CHECKING:
    from harness.benchmarks.sheets import GradingTask
    from harness.scoring.intervals import Interval
    from harness.scoring.replicates import Statistic, Units
    from harness.scoring.resampling import Resampling

QUESTIONS: Mapping[str, Question] = MappingProxyType(
    {name: Question(values=TIERS) for name in QUESTION_NAMES}
)
"""The tier of each diagnosis, graded by people or by the step `grade`."""


class ScoredTask(Task):
    """What a condition, a transition between two of them, and the cross-language control are worth."""

    scorer: str = "radm-1"
    questions: Mapping[str, Question] = QUESTIONS

    @property
    def gradings(self) -> Mapping[str, GradingTask]:
        """Return the tiers, which people give each diagnosis."""
        from harness.benchmarks.radm.tiers import Tiers

        return {"tiers": Tiers()}

    def unions(self, conditions: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        """Return the pairs of conditions that are compared, of which both are asked; see `radm.tables`."""
        return tables.unions(conditions)

    def table(self, condition: str) -> ScoreTable:
        """Return how the rows of a condition or union are scored and shown."""
        return tables.table(condition)

    def details(self, condition: str) -> Sequence[Detail]:
        """Return what a report shows beside the table; see `radm.details`."""
        if condition in tables.TRANSITIONS:
            return details.transition(*tables.TRANSITIONS[condition])
        return () if condition == tables.LANGUAGES else details.CONDITION

    def unit_numbers(self, unit: Scored) -> Sequence[float]:
        """Return what the metrics need of one unit; see `radm.scores`."""
        return unit_numbers(unit)

    def metrics(
        self, units: UnitTable, condition: str, conventions: Mapping[str, str]
    ) -> Mapping[str, MetricValue]:
        """Return every metric path of one row; see `radm.scores`, `radm.transitions`, `radm.languages`."""
        if condition == tables.LANGUAGES:
            from harness.benchmarks.radm.languages import languages

            return languages(units)
        if condition in tables.TRANSITIONS:
            from harness.benchmarks.radm.transitions import transitions

            return transitions(units)
        from harness.benchmarks.radm.scores import score

        return score(units.numbers)

    def intervals(
        self, units: UnitTable, condition: str, conventions: Mapping[str, str], resampling: Resampling
    ) -> Mapping[str, Interval]:
        """Return the intervals of one row's metrics; see `radm.score_intervals`."""
        if condition == tables.LANGUAGES:
            from harness.benchmarks.radm.languages import language_intervals

            return language_intervals(units, resampling)
        if condition in tables.TRANSITIONS:
            from harness.benchmarks.radm.transitions import transition_intervals

            return transition_intervals(units, resampling)
        from harness.benchmarks.radm.score_intervals import intervals

        return intervals(units, resampling)

    def sums(
        self, units: UnitTable, condition: str, conventions: Mapping[str, str]
    ) -> tuple[Units, Statistic] | None:
        """Return the sums of a condition; see `radm.score_intervals`. Rows of unions are not compared."""
        if condition in tables.UNIONS:
            return None
        from harness.benchmarks.radm.score_intervals import sums

        return sums(units)

    def across(
        self, condition: str, rows: Mapping[str, Mapping[str, MetricValue]]
    ) -> Mapping[str, Mapping[str, MetricValue]]:
        """Return the control's p values, adjusted for all models; see `radm.languages`."""
        if condition != tables.LANGUAGES:
            return {}
        from harness.benchmarks.radm.languages import adjusted

        return adjusted(rows)

    def score_unit(
        self, numbers: Sequence[float], condition: str, conventions: Mapping[str, str]
    ) -> Mapping[str, float | None]:
        """Return the metrics that are means over units, for one unit."""
        return unit_scores(numbers)
