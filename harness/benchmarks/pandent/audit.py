"""The task `audit` of the step `normalise`: people hold restated reports against the ones as answered.

The paper had a random sample of 200 restated reports looked through by clinicians, who confirmed that they
say what the generated reports said (Report Normalization). It tells neither their questions nor how many
differed: these four are ours, and ask for what the paper wants kept: tooth numbers, diagnoses, clinical
details. The answers belong to the run of the step. No reference is shown: whether a report is right is not
the question.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, Final

from harness.benchmarks.base import Question
from harness.benchmarks.sheets import GradingTask, Option, Sheet, SheetPart, SheetQuestion
from harness.benchmarks.steps import Answer, NoCase

_ASKED: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "meaning_kept": (
            "Is the meaning kept?",
            "a dentist who reads only the restatement would know and do the same",
        ),
        "added": (
            "Is anything added?",
            "a finding, a tooth, a detail or a denial that the report does not state",
        ),
        "lost": ("Is anything lost?", "a finding, a tooth or a detail that the restatement leaves out"),
        "changed": (
            "Is anything changed?",
            "a tooth number, side, severity, certainty or diagnosis that is another one now",
        ),
    }
)
ASKED: Final = tuple(_ASKED)
"""What is asked of each restatement, 0 or 1 each."""

QUESTIONS: Final[Mapping[str, Question]] = MappingProxyType(
    {f"audit.{name}": Question((0, 1)) for name in ASKED}
)
_OPTIONS: Final = (Option(0, "n", "no"), Option(1, "y", "yes"))


class Audit(GradingTask):
    """What clinicians are asked about a restated report."""

    name: ClassVar[str] = "audit"
    title: ClassVar[str] = "Do restated reports say what the reports said?"
    items: ClassVar[int | None] = 200
    calibration: ClassVar[int] = 0
    counts: ClassVar[str] = (
        "what all say alike, else their consensus; no share while one is missing (ours: the paper does not "
        "say)"
    )
    instructions: ClassVar[tuple[str, ...]] = (
        "A language model has rewritten a report on a panoramic radiograph in another style. Compare the "
        "two: the restatement must say what the report says, no more, no less, and nothing else.",
        "Whether the report is right does not matter here, and the radiograph is not shown: an error of the "
        "report that the restatement repeats is no error of the restatement.",
        "The meaning is kept where a dentist who reads only the restatement would know and do the same. "
        "Other words, another order and other formatting change no meaning; neither does leaving out what "
        "says nothing (greetings, advice to see a dentist).",
        "Then say what is wrong, each by itself. Added: it states or denies something that the report says "
        'nothing of; "no caries" is added where the report is silent about caries. Lost: a finding, tooth or '
        "detail of the report is missing. Changed: both speak of it, and not alike: another tooth, side, "
        "extent, certainty or diagnosis. One difference is one of the three.",
        "A small addition, loss or change can leave the meaning as it was: both answers stand by themselves. "
        "Say in the comment which finding it is about.",
        "Source: PanDent, Report Normalization: clinicians looked through 200 restated reports drawn at "
        "random. The questions are ours, since the paper prints none.",
    )
    questions: ClassVar[tuple[SheetQuestion, ...]] = tuple(
        SheetQuestion(f"audit.{name}", title, _OPTIONS, help) for name, (title, help) in _ASKED.items()
    )

    def sheet(self, answer: Answer) -> Sheet | NoCase:
        """Return the report as it was answered and its restatement, both of which are models' texts."""
        report = answer.case.fields["report"]
        if not report.strip():
            return NoCase("the report is blank")
        return Sheet(
            (
                SheetPart("The report as it was written", report, "candidate"),
                SheetPart("The restatement", str(answer.prediction), "candidate"),
            )
        )
