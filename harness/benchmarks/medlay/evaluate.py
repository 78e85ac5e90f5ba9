"""`harness step evaluate` of MedLayXPlain: MedLayEval, or another scorer, served at an endpoint.

Source: the paper, section G.6. The scorer is shown the image, at most 448 pixels a side, and one line with
the expert's caption and the lay text, each cut to 1,500 characters. MedLayEval has a regression head and
writes no text, so what serves it answers with its five numbers as one JSON object (see docs/medlay.md). What
is served is named by the model alone: whoever serves something else has it under MedLayEval's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, Final, cast

from harness.benchmarks.base import Case, Prompt, Question
from harness.benchmarks.medlay.attributes import ATTRIBUTES, MEDLAYEVAL, questions_of
from harness.benchmarks.medlay.cases import EXPERT
from harness.benchmarks.medlay.evaluators import LAY, Evaluator
from harness.benchmarks.medlay.roi import image_part
from harness.benchmarks.prompts import load_prompt, load_schema, render
from harness.canonical import JSON
from harness.messages import Message, Schema, TextPart

LONGEST_CAPTION: Final = 1_500
"""Characters of a caption that the scorer is shown."""


class Evaluate(Evaluator):
    """The scorer as the engine sees it."""

    kind: ClassVar[str] = "evaluate"
    title: str = "Lay texts scored by MedLayEval, or another scorer at an endpoint"
    no_default: str = "since who has the weights of MedLayEval serves it under some name"
    fields: ClassVar[frozenset[str]] = frozenset({EXPERT, LAY})
    scorer: str = "medlay-evaluate-1"
    image_recipe: str | None = "fit:max_side=448"
    evaluator: ClassVar[str] = MEDLAYEVAL
    questions: Mapping[str, Question] = MappingProxyType(questions_of(MEDLAYEVAL))
    legend: ClassVar[str] = (
        "scores of the scorer named above, 0 to 100: mean of 5 (the paper's S), and its attributes modality, "
        "anatomy, finding, factual, readability"
    )

    def prompt(self, condition: str) -> Prompt:
        """Return the form of the scorer's input."""
        return load_prompt("medlay-evaluate-v1")

    def schema(self, condition: str) -> Schema | None:
        """Return the schema of an answer: five numbers from 0 to 1."""
        return load_schema("medlay-evaluate-v1")

    def render(self, case: Case, condition: str, prompt: Prompt) -> tuple[Message, ...]:
        """Return the one user turn of a case: the image, then the line with both captions, cut."""
        values = {name: case.fields[name][:LONGEST_CAPTION] for name in self.fields}
        text = render(prompt, values).removesuffix("\n")
        return (Message("user", (image_part(case), TextPart(text))),)

    def attribute_scores(self, prediction: Mapping[str, JSON]) -> Mapping[str, float]:
        """Return the five scores."""
        return {name: float(cast("float", prediction[name])) for name in ATTRIBUTES}
