"""The tasks `expert` and `reader` of MedLayXPlain: people rate lay texts on scales of five points.

The paper had 100 texts, stratified by modality, rated by two radiologists (completeness, fluency,
simplicity, factual correctness) and two lay people (understandability, fluency, trustworthiness), and
prints for each question the mean and a Cohen's kappa without weights (section 4.2, table 2). It rated the
lay captions of its own data; here it is the answers of a run. What the points mean, and who is shown what,
the paper does not say: both are ours. Radiologists have the expert caption, without which nobody can tell
what is missing or wrong. Lay readers have the text alone, as a patient would. Both may ask for the image.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, Final

from harness.benchmarks.base import Case, Question
from harness.benchmarks.medlay.cases import EXPERT, region_of
from harness.benchmarks.sheets import GradingTask, Option, Sheet, SheetPart, SheetQuestion
from harness.benchmarks.steps import Answer, NoCase

POINTS: Final = (1, 2, 3, 4, 5)
"""Of every scale: 1 is the worst, 5 the best."""

_EXPERT: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = MappingProxyType(
    {
        "completeness": (
            "Completeness: is what matters of the expert's caption in the text?",
            (
                "hardly any of it",
                "important findings are missing",
                "the main finding is there, others are missing",
                "only small things are missing",
                "all that matters is there",
            ),
        ),
        "fluency": (
            "Fluency: is it good, natural language?",
            ("hard to follow at all", "clumsy throughout", "clumsy in places", "reads well", "reads easily"),
        ),
        "simplicity": (
            "Simplicity: is it in words that a patient knows?",
            (
                "the language of experts",
                "many terms left unexplained",
                "some terms left unexplained",
                "plain, with a term here and there",
                "plain throughout",
            ),
        ),
        "factual_correctness": (
            "Factual correctness: is what it says true?",
            (
                "wrong in what matters",
                "several errors, or one that would mislead",
                "an error that would not mislead",
                "only slightly inexact",
                "all true",
            ),
        ),
    }
)
_READER: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = MappingProxyType(
    {
        "understandability": (
            "Understandability: do you know now what was seen, and what it means?",
            (
                "I understood nothing",
                "I understood a little",
                "I understood about half",
                "I understood nearly all",
                "I understood all of it",
            ),
        ),
        "fluency": _EXPERT["fluency"],
        "trustworthiness": (
            "Trustworthiness: would you rely on this text?",
            ("not at all", "hardly", "in part", "largely", "entirely"),
        ),
    }
)


def _names(task: str, asked: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(f"{task}.{name}" for name in asked)


RATED: Final = (*_names("expert", _EXPERT), *_names("reader", _READER))
"""All questions, in the order in which the scores keep them: append only."""

QUESTIONS: Final[Mapping[str, Question]] = MappingProxyType(
    {name: Question(POINTS, averaged=True) for name in RATED}
)
"""Several raters' points count by their mean, as the paper prints them; a consensus stands before that."""


def _questions(
    task: str, asked: Mapping[str, tuple[str, tuple[str, ...]]]
) -> tuple[SheetQuestion, ...]:
    return tuple(
        SheetQuestion(
            f"{task}.{name}",
            title,
            tuple(Option(point, str(point), word) for point, word in zip(POINTS, words, strict=True)),
        )
        for name, (title, words) in asked.items()
    )


class _Ratings(GradingTask):
    """What both tasks share: the sample of the paper."""

    items: ClassVar[int | None] = 100
    calibration: ClassVar[int] = 0
    counts: ClassVar[str] = (
        "the mean of all raters' points, as the paper prints it, once all have rated a text; a consensus "
        "stands before it (ours)"
    )

    def stratum(self, case: Case) -> str:
        """Return the modality of a case."""
        return str(case.reference["modality"])


class ExpertRatings(_Ratings):
    """What radiologists are asked about a lay text."""

    name: ClassVar[str] = "expert"
    title: ClassVar[str] = "Lay texts, rated by radiologists"
    instructions: ClassVar[tuple[str, ...]] = (
        "You see what an expert wrote about a marked region of a medical image, and a text that is to tell a "
        "patient the same. Rate the text on four scales, each by itself: a text can be easy and wrong.",
        "The expert's caption is the measure of what is complete. What the text says beyond it counts "
        "under factual correctness: is it true of this image, and of the disease? Ask for the image where "
        "you doubt.",
        "Rate the text, not the expert: where the expert's caption is wrong, say so in the comment.",
        "Source: MedLayXPlain, section 4.2 and table 2: two radiologists rated 100 texts, stratified by "
        "modality, on scales of five points. What each point means is in our own words.",
    )
    questions: ClassVar[tuple[SheetQuestion, ...]] = _questions("expert", _EXPERT)

    def sheet(self, answer: Answer) -> Sheet | NoCase:
        """Return the expert's caption and the text; the image with its region is there on request."""
        case = answer.case
        return Sheet(
            (
                SheetPart("The expert's caption", case.fields[EXPERT], "reference"),
                SheetPart("The text for the patient", str(answer.prediction), "candidate"),
            ),
            media=case.media,
            region=region_of(case),
        )


class ReaderRatings(_Ratings):
    """What people without medical training are asked about a lay text."""

    name: ClassVar[str] = "reader"
    title: ClassVar[str] = "Lay texts, rated by lay readers"
    instructions: ClassVar[tuple[str, ...]] = (
        "Somebody had a medical image taken, and this text is to explain what can be seen in its marked "
        "region. Read it as if the image were yours, and rate it on three scales, each by itself.",
        "There is no right or wrong: say how it is for you. Do not look anything up while you read.",
        "You may ask for the image. Rate the text all the same, not the image.",
        "Source: MedLayXPlain, section 4.2 and table 2: two people without medical training rated 100 texts "
        "on scales of five points. What each point means is in our own words.",
    )
    questions: ClassVar[tuple[SheetQuestion, ...]] = _questions("reader", _READER)

    def sheet(self, answer: Answer) -> Sheet | NoCase:
        """Return the text alone; the image with its region is there on request."""
        case = answer.case
        return Sheet(
            (SheetPart("The text", str(answer.prediction), "candidate"),),
            media=case.media,
            region=region_of(case),
        )
