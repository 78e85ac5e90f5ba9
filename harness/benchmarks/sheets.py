"""What people who grade answers see and say: sheets made of answers, blinded; tasks that name the questions.

A sheet shows what its task lets a grader see of one answer, and nothing that tells whose answer it is. What a
grader says goes to the store as grades of `Question.name`, one a question, as from a file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final, Literal, TypeAlias

from harness.benchmarks.base import Case
from harness.benchmarks.steps import Answer, NoCase
from harness.canonical import JSON
from harness.media import Media

PartKind: TypeAlias = Literal["context", "reference", "candidate"]

COMMENT: Final = "comment"
"""The question whose value is free text: every sheet has room for one, and no score reads it."""


@dataclass(frozen=True, slots=True)
class Option:
    """One possible grade: the value that is stored, the key that chooses it, its words."""

    value: JSON
    key: str
    label: str
    help: str = ""


@dataclass(frozen=True, slots=True)
class SheetQuestion:
    """One question of a sheet, in the order in which it is asked. `name` is the question of the grade."""

    name: str
    title: str
    options: tuple[Option, ...]
    help: str = ""


@dataclass(frozen=True, slots=True)
class SheetPart:
    """A text that a grader reads: its heading, the text as it stands, what it is."""

    title: str
    text: str
    kind: PartKind


@dataclass(frozen=True, slots=True)
class Sheet:
    """What is shown of one answer.

    `subjects`: question name -> the piece of the answer that it is about (a diagnosis), where there is one:
    it stands beside its question, and not among the parts; it is a candidate's text too.
    `media` of the case, by role: shown when a grader asks for them. `region`: the corners x0, y0, x1, y1 of
    the box that is to be marked on the upright image, in its pixels; None: nothing is.
    """

    parts: tuple[SheetPart, ...]
    subjects: Mapping[str, str] = field(default_factory=dict)
    media: Mapping[str, tuple[Media, ...]] = field(default_factory=dict)
    region: tuple[int, ...] | None = None


class GradingTask(ABC):
    """One way of grading the answers of a benchmark or step by people.

    `instructions` are paragraphs in plain words, with the source of the rules; `pooled` are the questions
    whose grades are taken together for Cohen's kappa, which the scores call `pooled_as`.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    instructions: ClassVar[tuple[str, ...]]
    questions: ClassVar[tuple[SheetQuestion, ...]]
    pooled_as: ClassVar[str] = "all questions"
    counts: ClassVar[str] = "what all raters say alike, else their consensus"
    """What counts where several people graded, and whose rule that is."""
    items: ClassVar[int | None] = None
    """So many answers are drawn unless somebody wants another number; None: all are graded."""
    per_case: ClassVar[int | None] = None
    """Cases are drawn first, and at most so many answers about each; None: answers are drawn."""
    calibration: ClassVar[int] = 50
    """Sheets that all raters grade first; 0: there is no such round."""
    threshold: ClassVar[float] = 0.75
    """Cohen's kappa from which on full grading opens."""

    @property
    def pooled(self) -> tuple[str, ...]:
        """Return the names of all questions: kappa is of all of them together."""
        return tuple(question.name for question in self.questions)

    def follows(self, condition: str) -> bool:
        """Tell whether answers in a condition are graded."""
        return True

    def stratum(self, case: Case) -> str:
        """Return the kind of a case: a sample has answers about each kind as often as there are."""
        return ""

    @abstractmethod
    def sheet(self, answer: Answer) -> Sheet | NoCase:
        """Return what is shown of a unit with a usable answer, or why it is not graded."""
