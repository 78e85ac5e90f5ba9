"""Steps about the cases of a run, not about what was answered: one call a case, however many were asked.

Their cases are made from the run's snapshot alone, so no answer, outcome or later session changes them.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Final

from harness.benchmarks.base import Case, Subject
from harness.benchmarks.steps import Answer, Made, Step, StepCase, id_of_case

SOURCE_CASE: Final = "source_case"
"""Name of the entry of such a case's reference that says which case it was made from."""


class CaseStep(Step):
    """A step of this kind; a subclass says what is shown, asked and counted."""

    @abstractmethod
    def made_of(self, case: Case) -> Made:
        """Return what the step is shown of a case, or why it is not shown any."""

    def step_case(self, answer: Answer) -> Made:
        """Return what the step is shown of an answer: its case."""
        return self.made_of(answer.case)

    def subject(self, case: Case) -> Subject | None:
        """Return None: rows are by the model that the step asks."""
        return None


def case_of_case(case: Case, made: StepCase) -> Case:
    """Return the case that a step makes of a case."""
    return Case(
        id=id_of_case(case.id),
        fields=made.fields,
        media=made.media,
        reference={**made.reference, SOURCE_CASE: case.id},
        group=case.group or case.id,
        tags=case.tags,
    )
