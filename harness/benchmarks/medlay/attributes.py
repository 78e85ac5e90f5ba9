"""What others say of a lay text: five attributes by an evaluator or a judge, and metrics of other tools.

Every one is a number from 0 to 1 for one answer, and shown times 100, as the paper prints them. They come as
grades: from files (`harness grades import`, the rater being the tool's name and version) or from the steps
`evaluate` and `verify`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from harness.benchmarks.base import Question

ATTRIBUTES: Final = ("modality", "anatomy", "finding", "factual", "readability")
"""The paper's five attributes, in its order."""

SCALE: Final = 100.0
"""What numbers from 0 to 1 are multiplied by, here and in the benchmark's own scores: as the paper prints."""

MEDLAYEVAL: Final = "medlayeval"
"""Scores of the paper's evaluator, or of what is served in its place: see the step `evaluate`."""

RUBRIC: Final = "rubric"
"""Scores of the verifier's rubric by any vision model, halved: see the step `verify`. No MedLayEval."""

EVALUATORS: Final = (MEDLAYEVAL, RUBRIC)

OUTSIDE: Final = ("ratescore", "green", "bertscore")
"""RaTEScore, GREEN and the F of BERTScore, one number an answer."""

GRADED: Final = (*OUTSIDE, *(f"{name}.{attribute}" for name in EVALUATORS for attribute in ATTRIBUTES))
"""All questions, in the order in which the scores keep them."""

QUESTIONS: Final[Mapping[str, Question]] = MappingProxyType({name: Question() for name in GRADED})


def questions_of(evaluator: str) -> dict[str, Question]:
    """Return the five questions of one evaluator."""
    return {f"{evaluator}.{attribute}": QUESTIONS[f"{evaluator}.{attribute}"] for attribute in ATTRIBUTES}
