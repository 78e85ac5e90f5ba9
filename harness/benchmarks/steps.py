"""Steps: later model calls over the answers of a run, asked, kept, resumed and scored like a benchmark's.

A step is a benchmark whose cases are made from another run's units, one case a unit. It sees of them what
`step_case` shows, and nothing else.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, Final, NoReturn, TypeAlias, cast

from harness.benchmarks.base import Case, CaseSet, Prompt, Question, Subject
from harness.benchmarks.prompts import check_placeholders, placeholders, render
from harness.benchmarks.registry import BENCHMARKS
from harness.benchmarks.task import Task
from harness.cache.rows import UnitId
from harness.canonical import JSON, canonical_json
from harness.errors import ConfigError
from harness.media import Media
from harness.media_reading import MediaReader
from harness.messages import Message, Schema, TextPart
from harness.outcomes import UnitOutcome

SOURCE: Final = "source"
"""Name of the entry of a step case's reference that says which unit it was made from."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A unit of the run that a step follows, with its case as it is scored now."""

    unit: UnitId
    case: Case
    outcome: UnitOutcome
    prediction: JSON


@dataclass(frozen=True, slots=True)
class Graded:
    """A unit that people graded, and what the step said of it.

    `prediction` None: the step has no usable answer about it (never asked, unusable, or not yet). `repeat`
    counts the step's own repeats. `grades`: rater -> question -> the value that stands. `group`: equal for
    answers about one case of the benchmark, or one group of cases. `waiting`: question -> raters whose grades
    are not what people came to yet, since others of their grading have not given theirs.
    """

    unit: UnitId
    repeat: int
    prediction: JSON
    grades: Mapping[str, Mapping[str, JSON]]
    group: str
    waiting: Mapping[str, frozenset[str]] = field(default_factory=dict)


CONSENSUS: Final = "consensus"
"""The rater whose grade stands where others disagree: what they agreed on afterwards."""


def is_consensus(rater: str) -> bool:
    """Tell whether a rater's name says that these are no person's grades, but what several came to."""
    return rater.strip().casefold() == CONSENSUS


def agreed_grade(raters: Mapping[str, JSON], question: Question | None = None) -> JSON:
    """Return the grade that stands of what raters say: their consensus, else what all say; else None.

    Of an averaged question it is the mean of all raters instead of None: a whole number where it is one and
    all grades are. `question` None: one that is not averaged.
    """
    for rater, value in raters.items():
        if is_consensus(rater):
            return value
    said = list(raters.values())
    if len({canonical_json(value) for value in said}) == 1:
        return said[0]
    return mean_grade(said) if question is not None and question.averaged else None


def mean_grade(values: Sequence[JSON]) -> int | float:
    """Return the mean of grades that are numbers, a whole number where it is one and all of them are.

    Raises ValueError for one that is no number.
    """
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if not numbers or len(numbers) != len(values):
        raise ValueError(f"a mean is made of numbers alone, not of {list(values)!r}")
    whole, rest = divmod(sum(numbers), len(numbers)) if all(isinstance(n, int) for n in numbers) else (0, 1)
    return int(whole) if rest == 0 else math.fsum(numbers) / len(numbers)


@dataclass(frozen=True, slots=True)
class NoCase:
    """Why a step does not look at a unit, in a few words that are counted."""

    why: str


@dataclass(frozen=True, slots=True)
class StepCase:
    """What a step makes of a unit: what its prompt may name, and what its answer is compared with."""

    fields: Mapping[str, str]
    reference: Mapping[str, JSON]
    media: Mapping[str, tuple[Media, ...]] = field(default_factory=dict)
    """Of the case that was asked about, by role: the step shows them too."""


Made: TypeAlias = StepCase | NoCase


class Step(Task, ABC):
    """A benchmark of this kind; a subclass says what is shown, asked and counted.

    `name` is that of the benchmark that it belongs to, a dot, and its `kind`; it has one condition, its kind.
    """

    kind: ClassVar[str]
    benchmark: ClassVar[str]
    title: str
    default_model: str | None = None
    """Catalogue name of the model that the paper names; None: the user must choose."""
    no_default: str = "since its paper names none"
    """Why there is no default model, if there is none."""
    fields: ClassVar[frozenset[str]]
    """What the prompt may name, and must, of a step case."""
    shows_media: ClassVar[bool] = False
    """Whether its cases have media, whose files must be found."""

    scorer: str
    questions: Mapping[str, Question] = MappingProxyType({})
    """What the step says of an answer, one grade a question, and people can be asked as well.

    Where the benchmark's own questions are among them, a run of the step can grade the run that it follows.
    """
    own_questions: Mapping[str, Question] = MappingProxyType({})
    """What people are asked about the step's own answers: grades of its own run, which its scores use."""

    @property
    def name(self) -> str:
        """Return the name under which the step is known as a benchmark."""
        return f"{self.benchmark}.{self.kind}"

    @property
    def conditions(self) -> tuple[str, ...]:
        """Return the one condition."""
        return (self.kind,)

    @property
    def main_conditions(self) -> tuple[str, ...]:
        """Return the one condition."""
        return (self.kind,)

    def follows(self, condition: str) -> bool:
        """Tell whether the step is about the answers of a condition."""
        return True

    @abstractmethod
    def step_case(self, answer: Answer) -> Made:
        """Return what the step is shown of a unit with a usable answer, or why it is not shown any."""

    @abstractmethod
    def prompt(self, condition: str) -> Prompt:
        """Return our own prompt."""

    def schema(self, condition: str) -> Schema | None:
        """Return the schema that an answer must fit; None: free text."""
        return None

    def check_prompt(self, prompt: Prompt, condition: str) -> None:
        """Raise ConfigError for a prompt that names anything else, or leaves anything out."""
        check_placeholders(prompt, self.fields)
        missing = sorted(self.fields - placeholders(prompt))
        if missing:
            listed = ", ".join(f"{{{name}}}" for name in missing)
            raise ConfigError(f"prompt {prompt.id!r} lacks {listed}, which the step {self.kind!r} is about")

    def render(self, case: Case, condition: str, prompt: Prompt) -> tuple[Message, ...]:
        """Return the one user turn of a case."""
        text = render(prompt, {name: case.fields[name] for name in self.fields})
        return (Message("user", (TextPart(text),)),)

    def subject(self, case: Case) -> Subject | None:
        """Return whose answer a case is about."""
        source = source_of(case)
        return Subject(source.model, source.condition)

    def grades_of(self, prediction: JSON) -> Mapping[str, JSON]:
        """Return what one of the step's answers says: question -> grade, of `questions`."""
        return {}

    def agreement(self, graded: Sequence[Graded]) -> Mapping[str, JSON] | None:
        """Return how far the step agrees with people, as it stands in the scores; None: nobody compares.

        `graded` are all units of the followed run that have a grade of one of `questions`, in the order of
        units and then repeats: at least one.
        """
        return None

    def sample_dir(self) -> Path:
        """Raise ConfigError: a step's cases come from a run."""
        self._no_folder()

    def write_sample(self, out: Path) -> None:
        """Raise ConfigError: a step's cases come from a run."""
        self._no_folder()

    def check(self, folder: Path) -> list[str]:
        """Raise ConfigError: a step's cases come from a run."""
        self._no_folder()

    def load(self, folder: Path, media: MediaReader | None = None) -> CaseSet:
        """Raise ConfigError: a step's cases come from a run."""
        self._no_folder()

    @property
    def no_cases(self) -> str:
        """Return what to tell somebody who takes the step for a benchmark with case files."""
        return (
            f"{self.name!r} is a step and has no case files: `harness step {self.kind} RUN` makes its cases "
            f"from the answers of a run of {self.benchmark}"
        )

    def _no_folder(self) -> NoReturn:
        raise ConfigError(self.no_cases)


def steps_of(benchmark: str) -> Iterator[Step]:
    """Yield the steps of a benchmark: those that its package holds; a step has none."""
    package = BENCHMARKS.get(benchmark)
    if package is not None:
        steps: Mapping[str, Step] = getattr(import_module(package), "steps", {})
        yield from steps.values()


def step_case_of(answer: Answer, made: StepCase) -> Case:
    """Return the case of a step, with an id that tells its unit."""
    unit, case = answer.unit, answer.case
    return Case(
        id=id_of_unit(unit),
        fields=made.fields,
        media=made.media,
        reference={
            **made.reference,
            SOURCE: {
                "model": unit.model,
                "condition": unit.condition,
                "case_id": unit.case_id,
                "repeat": unit.repeat,
            },
        },
        # All that is asked about one case of the benchmark is resampled together.
        group=case.group or case.id,
        tags=case.tags,
    )


def source_of(case: Case) -> UnitId:
    """Return the unit that a step's case was made from."""
    source = cast("Mapping[str, JSON]", case.reference[SOURCE])
    return UnitId(
        str(source["model"]), str(source["condition"]), str(source["case_id"]), cast(int, source["repeat"])
    )


def id_of_unit(unit: UnitId) -> str:
    """Return the id of the case that a step makes of a unit."""
    return "|".join(map(_escaped, (unit.model, unit.condition, unit.case_id, str(unit.repeat))))


def id_of_case(case_id: str) -> str:
    """Return the id of the case that a step makes of a whole case: it tells no unit."""
    return _escaped(case_id)


def unit_of_id(case_id: str) -> UnitId | None:
    """Return the unit that the id of a step's case tells; None for an id of another form."""
    parts = [part.replace("%7C", "|").replace("%25", "%") for part in case_id.split("|")]
    if len(parts) != 4 or not (parts[3].isascii() and parts[3].isdigit()):
        return None
    return UnitId(parts[0], parts[1], parts[2], int(parts[3]))


def _escaped(part: str) -> str:
    return part.replace("%", "%25").replace("|", "%7C")
