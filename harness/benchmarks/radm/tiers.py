"""The task `tiers` of RadM-Bench: people give each of an answer's five diagnoses its tier.

The paper's graders were two board-certified radiologists, blinded to the models, who saw the clinical
history, the reference diagnosis and the candidates in shuffled order. They graded 50 random cases first,
each alone, and went on after a Cohen's kappa of at least .75 (it was .78); then both graded everything and
settled in consensus what they differed on ("Diagnostic Quality Grading"). What the tiers mean is in our own
words, the same as for the model of the step `grade`; tier 0 the paper implies. The history is the case's
own, in its own language.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, cast

from harness.benchmarks.radm.answer_forms import KEY
from harness.benchmarks.radm.ranking import QUESTION_NAMES
from harness.benchmarks.sheets import GradingTask, Option, Sheet, SheetPart, SheetQuestion
from harness.benchmarks.steps import Answer, NoCase
from harness.canonical import JSON

TIER_OPTIONS: Final = (
    Option(0, "0", "none", "does not recognise the disease, or names another one"),
    Option(1, "1", "basic recognition", "names the disease or its class rightly, and no more"),
    Option(2, "2", "partial", "the disease with its location or its cause, not both"),
    Option(3, "3", "comprehensive", "the disease with its location and its cause or mechanism"),
)
"""What the tiers mean, wherever they are put into words for people."""


class Tiers(GradingTask):
    """What radiologists are asked about five ranked diagnoses."""

    name: ClassVar[str] = "tiers"
    title: ClassVar[str] = "Tiers of five ranked diagnoses"
    pooled_as: ClassVar[str] = "diagnoses"
    per_case: ClassVar[int | None] = sys.maxsize
    """A sample has all answers about the cases that are drawn, so that models have theirs in common."""
    counts: ClassVar[str] = (
        "what all raters say alike, else their consensus, as the paper's two radiologists had it; nothing "
        "until all of them have graded an answer, and settled it"
    )
    instructions: ClassVar[tuple[str, ...]] = (
        "You see a patient's clinical history, the final diagnosis of the case, and five candidate "
        "diagnoses, the likeliest first. Grade each candidate by how completely it states the final "
        "diagnosis.",
        "3, comprehensive: it names the disease, where it is, and its cause or mechanism, as far as the "
        "final diagnosis states them. 2, partial: it names the disease, and of location and cause it has "
        "one right. 1, basic recognition: it names the disease or its class rightly, and no more. 0: it "
        "does not recognise the disease, or names another one.",
        "An example: let the final diagnosis be pneumonia of the right lower lobe caused by aspiration. "
        '"Aspiration pneumonia in the lower lobe of the right lung" is 3; "right lower lobe pneumonia" and '
        '"aspiration pneumonia" are 2; "pneumonia" is 1; "pulmonary embolism" is 0.',
        "Each candidate counts by itself, against the final diagnosis alone: neither its rank nor the other "
        "candidates matter, and two that mean the same get the same tier. Synonyms, abbreviations and "
        "eponyms of a disease are that disease, in English or in Chinese. Do not ask for more than the final "
        "diagnosis says: a candidate that means the same is 3, however short.",
        "A location or cause that contradicts the final diagnosis is not right: the candidate gets the tier "
        "that the rest of it deserves. A candidate that fits the history, but not the final diagnosis, is 0.",
        "Source of these rules: RadM-Bench, Diagnostic Quality Grading and scoring methodology; the words "
        "are ours, and 0 is what the paper implies.",
    )
    questions: ClassVar[tuple[SheetQuestion, ...]] = tuple(
        SheetQuestion(name, f"Candidate {rank}", TIER_OPTIONS) for rank, name in enumerate(QUESTION_NAMES, 1)
    )

    def sheet(self, answer: Answer) -> Sheet | NoCase:
        """Return the history, the final diagnosis and the five candidates; the images on request."""
        prediction = cast("Mapping[str, Sequence[JSON]]", answer.prediction)
        case = answer.case
        return Sheet(
            parts=(
                SheetPart("Clinical history", case.fields["history"], "context"),
                SheetPart("Final diagnosis", str(case.reference["diagnosis"]), "reference"),
            ),
            subjects=dict(zip(QUESTION_NAMES, map(str, prediction[KEY]), strict=True)),
            media=case.media,
        )
