"""The task `judge` of triage: a person looks for the judge's five failures in the rationales of a run.

The paper had one senior dentist check its judge on 60 answers: 20 cases were drawn, and for each the
answers of 3 models; the dentist had the judge's own definitions (section H.2). So people see exactly what
the step `judge` shows its model, and the radiograph only if they ask for it. The grades belong to the run
of triage; the scores of its step `judge` say how far the two agree (`triage.agreement`).
"""

from __future__ import annotations

import json
from typing import ClassVar, Final

from harness.benchmarks.sheets import GradingTask, Option, PartKind, Sheet, SheetPart, SheetQuestion
from harness.benchmarks.steps import Answer, NoCase
from harness.benchmarks.triage.judge import TriageJudge
from harness.benchmarks.triage.verdicts import DIMENSIONS

_PARTS: Final[tuple[tuple[str, str, PartKind], ...]] = (
    ("chief_complaint", "The patient's complaint", "context"),
    ("missing_labels", "Labels that the expert chose and this answer did not", "context"),
    ("extra_labels", "Labels that this answer chose and the expert did not", "context"),
    ("gt_reasoning", "The expert's explanation", "reference"),
    ("model_reasoning", "The explanation to be judged", "candidate"),
)
"""Field of the step's case, its heading, what it is."""

_LABELS: Final = ("missing_labels", "extra_labels")

_OPTIONS: Final = (
    Option(0, "n", "no", "the explanation does not fail in this way"),
    Option(1, "y", "yes", "it does, for at least one finding"),
)
_ASKED: Final = (
    (
        "Neglects the complaint",
        "passes over the main symptom or wish entirely; one that is understood imperfectly is no neglect",
    ),
    (
        "Omits a finding",
        "says nothing of an important finding on the radiograph that the expert names",
    ),
    (
        "Misreads the radiograph",
        "has the right finding or place, but its severity, extent, depth or nature wrong",
    ),
    (
        "Departs from the protocol",
        "agrees with the expert on the finding in every respect, and draws the wrong referral from it",
    ),
    (
        "Invents",
        "states a symptom, tooth, structure or finding that neither complaint nor expert supports",
    ),
)


class JudgeCheck(GradingTask):
    """What dentists are asked about the rationale of a triage."""

    name: ClassVar[str] = "judge"
    title: ClassVar[str] = "Failures in triage rationales"
    items: ClassVar[int | None] = 60
    per_case: ClassVar[int | None] = 3
    calibration: ClassVar[int] = 0
    counts: ClassVar[str] = (
        "each rater by itself, as the paper's one dentist; several together by what they say alike, else "
        "their consensus (ours)"
    )
    instructions: ClassVar[tuple[str, ...]] = (
        "Somebody triaged a patient from the complaint and a panoramic radiograph, chose referral labels and "
        "explained the choice; an expert wrote down how the same case should be read. Find out what went "
        "wrong in the explanation, and where each error began.",
        "Labels that differ show you where to look, and are no failure by themselves: a failure must be seen "
        "in the explanation. An explanation can be wrong although all its labels are right.",
        "Each finding, tooth or symptom has at most one cause, the first that fits in this order: it is "
        "invented (D5), the complaint is neglected (D1), a finding is omitted (D2), it is misread (D3), the "
        "protocol is departed from (D4). Different findings may have different causes: several questions can "
        "be answered with yes.",
        "A finding that is mentioned with the wrong severity is misread, not omitted. Labels that are "
        "missing or superfluous because of a misread finding belong to that failure, and are no departure "
        "from the protocol.",
        "The expert's explanation is the measure, also where you would read the radiograph otherwise; say so "
        "in the comment.",
        "Source of these rules: Dental-TriageBench, sections 5.2 and H and table 7; the words are ours. The "
        "paper's dentist graded 60 answers: 20 cases with 3 answers each.",
    )
    questions: ClassVar[tuple[SheetQuestion, ...]] = tuple(
        SheetQuestion(name, f"{name.partition('_')[0]} {title}", _OPTIONS, help)
        for name, (title, help) in zip(DIMENSIONS, _ASKED, strict=True)
    )

    def follows(self, condition: str) -> bool:
        """Tell whether answers in a condition are graded: those that the judge is shown."""
        return TriageJudge().follows(condition)

    def sheet(self, answer: Answer) -> Sheet | NoCase:
        """Return what the judge is shown; NoCase where it is shown nothing."""
        made = TriageJudge().step_case(answer)
        if isinstance(made, NoCase):
            return made
        texts = {**made.fields, **{field: _one_a_line(made.fields[field]) for field in _LABELS}}
        parts = tuple(SheetPart(title, texts[field], kind) for field, title, kind in _PARTS)
        return Sheet(parts, media=answer.case.media)


def _one_a_line(labels: str) -> str:
    """Return the step's list of labels, JSON or "none", as people read it."""
    return "\n".join(f"- {label}" for label in json.loads(labels)) if labels.startswith("[") else labels
