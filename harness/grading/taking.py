"""Whether what came in from a page is an answer to a question of the task."""

from __future__ import annotations

from typing import Final

from harness.benchmarks.sheets import COMMENT, GradingTask
from harness.cache.grades import GradeValue
from harness.canonical import JSON, canonical_json
from harness.errors import GradeRefusedError

LONGEST_COMMENT: Final = 10_000
"""Characters."""


def taken_value(task: GradingTask, question: str, value: JSON) -> GradeValue:
    """Return a value as the task has it: of one of the question's options, or text of a comment.

    Raises GradeRefusedError for anything else; 1, 1.0 and true are three different values.
    """
    if question == COMMENT:
        if not isinstance(value, str) or len(value) > LONGEST_COMMENT:
            raise GradeRefusedError(f"a comment is text of at most {LONGEST_COMMENT:,} characters")
        return value
    asked = next((one for one in task.questions if one.name == question), None)
    if asked is None:
        raise GradeRefusedError(f"this task has no question {question!r}")
    wanted = canonical_json(value)
    for option in asked.options:
        if canonical_json(option.value) == wanted and isinstance(option.value, str | int | float | bool):
            return option.value
    raise GradeRefusedError(f"{question!r} does not have the answer that was given")
