"""What a benchmark must offer; the engine knows nothing else about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from harness.answers.readings import TextReader
from harness.benchmarks.details import Detail
from harness.benchmarks.scored import BaselineRow, MetricValue, Scored, ScoreTable, UnitTable
from harness.canonical import JSON, canonical_json
from harness.media import Media
from harness.messages import Message, Schema

if TYPE_CHECKING:
    from harness.benchmarks.sheets import GradingTask
    from harness.media_reading import MediaReader
    from harness.scoring.intervals import Interval
    from harness.scoring.replicates import Statistic, Units
    from harness.scoring.resampling import Resampling


@dataclass(frozen=True, slots=True)
class Case:
    """One benchmark item.

    `fields` are what prompts may name ({chief_complaint}); `media` by role, in order; `reference` is the
    expert truth, which no request ever sees. `problem` is set when a medium cannot be used: the case
    then ends as `case_error` for every model.
    """

    id: str
    fields: Mapping[str, str]
    media: Mapping[str, tuple[Media, ...]]
    reference: Mapping[str, JSON]
    group: str | None = None
    tags: tuple[str, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class CaseSet:
    """All cases of a benchmark as loaded from a folder; `cases` may be decoded anew each time.

    `raters`: rater name -> case id -> prediction in the schema's form. `synthetic` is True for cases that
    we made: every table that shows numbers from them says so.
    """

    cases: Sequence[Case]
    raters: Mapping[str, Mapping[str, JSON]] = field(default_factory=dict)
    synthetic: bool = False


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt file: `id` is its stem for ours, its file name for the user's own."""

    id: str
    sha256: str
    text: str


@dataclass(frozen=True, slots=True)
class Filled:
    """A reformatter's answer after our policy filled it.

    `value` None: it asserted nothing at all. `unsupported` lists what it asserts without support in the
    answer it was given.
    """

    value: JSON
    filled_keys: tuple[str, ...] = ()
    unsupported: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """What people, a step's model or an outside tool say of one unit, and the scores use.

    A grade is one of `values`; without values it is a number from `low` to `high`, both included. Where
    several raters differ without a consensus none counts, or their mean if the question is `averaged`.
    """

    values: tuple[JSON, ...] = ()
    low: float = 0.0
    high: float = 1.0
    averaged: bool = False

    def takes(self, value: JSON) -> bool:
        """Tell whether a grade may have this value."""
        if self.values:
            return canonical_json(value) in set(map(canonical_json, self.values))
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and self.low <= cast("float", value) <= self.high

    @property
    def range_text(self) -> str:
        """Return the values as a sentence names them."""
        if self.values:
            return " or ".join(canonical_json(value).decode("ascii") for value in self.values)
        return f"a number from {self.low:g} to {self.high:g}"


class Subject(NamedTuple):
    """Whose answers a step is about: the model and the condition of the run that it follows."""

    model: str
    condition: str


class Benchmark(Protocol):
    """A task definition."""

    name: str
    title: str
    conditions: tuple[str, ...]
    """All conditions, the main ones first."""
    main_conditions: tuple[str, ...]
    reformatter: str | None
    """Catalogue name of the default reformatter."""
    reformatter_departure: str | None
    """What to print when the default differs from the paper's; None when it does not."""
    default_params: Mapping[str, JSON]
    """Decoding parameters that the paper states; empty where it states none."""
    image_recipe: str | None
    """How images are made ready where the paper fixes that (`harness.recipes`); None: as they are."""
    scorer: str
    """Name and version of the scoring code, e.g. "triage-1"."""
    conventions: Mapping[str, tuple[str, ...]]
    """Named options of the scores, each with its values, the default first."""
    questions: Mapping[str, Question]
    """What is graded of a unit, and enters its scores as `Scored.grades`; empty: nothing is."""

    strata: Sequence[str]
    """The fields of a reference that name groups of cases, beside their tags: units are looked at by them."""
    partial_conditions: frozenset[str]
    """The conditions that `asks` may decline; all others are asked of every case."""

    @property
    def gradings(self) -> Mapping[str, GradingTask]:
        """Return name -> a way of grading answers by people, on sheets; see `harness.benchmarks.sheets`."""
        ...

    def asks(self, case: Case, condition: str) -> bool:
        """Tell whether a condition is asked of a case; where it is not, there is no unit.

        Depends on what a run's snapshot keeps of a case alone, and not on whether its media can be used: a
        case with a `problem` is asked, and ends as `case_error`.
        """
        ...

    def compared_texts(self, case: Case, condition: str) -> tuple[str | None, str | None]:
        """Return a text answer's reference text, and the text that it words anew, for outside metrics."""
        ...

    def sample_dir(self) -> Path:
        """Return the folder of the bundled synthetic sample."""
        ...

    def write_sample(self, out: Path) -> None:
        """Copy the bundled sample into a new or empty folder. Raises ConfigError."""
        ...

    def check(self, folder: Path) -> list[str]:
        """Return everything that is wrong with a folder of case files."""
        ...

    def load(self, folder: Path, media: MediaReader | None = None) -> CaseSet:
        """Read a folder of case files. Raises CaseFileError that names the line and the mend.

        `media` tells what its media files are; None: each of them is read.
        """
        ...

    def schema(self, condition: str) -> Schema | None:
        """Return the schema that an answer must fit."""
        ...

    def prompt(self, condition: str) -> Prompt:
        """Return our own prompt of a condition."""
        ...

    def check_prompt(self, prompt: Prompt, condition: str) -> None:
        """Raise ConfigError where a prompt cannot serve a condition."""
        ...

    def render(self, case: Case, condition: str, prompt: Prompt) -> tuple[Message, ...]:
        """Return the messages of a case: text and media, nothing of the reference."""
        ...

    def aliases(self, value: JSON) -> JSON:
        """Return the value with documented label aliases replaced; the same object when there are none."""
        ...

    def text_reader(self, condition: str) -> TextReader | None:
        """Return how text answers are read where there is no schema; None: they stand as they are."""
        ...

    def reformat_schema(self, condition: str) -> Schema | None:
        """Return the reformatter's schema, in which a field may be null."""
        ...

    def reformat_prompt(self, condition: str) -> Prompt:
        """Return the reformatter's prompt, with the placeholder {answer}."""
        ...

    def fill(self, value: JSON, answer: str) -> Filled:
        """Apply the filling policy to a reformatter's answer about `answer`."""
        ...

    def unions(self, conditions: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        """Return union -> the conditions whose units are scored together besides, of those a run asks.

        A union has rows of its own, as if it were a condition; its name is that of no condition.
        """
        ...

    def table(self, condition: str) -> ScoreTable:
        """Return how the rows of a condition or union are scored and shown.

        The conditions of a union have as many numbers as the union.
        """
        ...

    def subject(self, case: Case) -> Subject | None:
        """Return whose answer a case of a step is about, which names its row; None for a case of its own."""
        ...

    def prepared(self, conventions: Mapping[str, str]) -> AbstractContextManager[Benchmark]:
        """Give the benchmark as a run is scored by, with whatever that takes, and end that afterwards."""
        ...

    def tools_here(self, conventions: Mapping[str, str]) -> Mapping[str, bool]:
        """Return which programs and data of others that metrics take, and go without, are on this machine.

        Found by looking alone: nothing is started. What a convention switches off is left out.
        """
        ...

    def unit_numbers(self, unit: Scored) -> Sequence[float]:
        """Return all that the metrics need of one unit: as many numbers as its table has names.

        Nothing else of a unit is kept while a run is scored. Raises ValueError for a reference that
        cannot be scored.
        """
        ...

    def metrics(
        self, units: UnitTable, condition: str, conventions: Mapping[str, str]
    ) -> Mapping[str, MetricValue]:
        """Return every metric path of one row; a unit without a prediction counts as the worst value.

        `condition` may be a union. The units are those of a single repeat. `conventions` has all of the
        benchmark's (see `chosen_conventions`), here and below.
        """
        ...

    def intervals(
        self, units: UnitTable, condition: str, conventions: Mapping[str, str], resampling: Resampling
    ) -> Mapping[str, Interval]:
        """Return metric path -> interval of one row, of all its repeats together; a path may be left out."""
        ...

    def sums(
        self, units: UnitTable, condition: str, conventions: Mapping[str, str]
    ) -> tuple[Units, Statistic] | None:
        """Return what each unit adds to sums and the metrics that are made of them, to compare models by.

        The paths are those of the table's columns that are functions of sums, or more; their values are
        those of `metrics`. Every unit of `units` has its row in order, and its case's cluster, also where it
        adds nothing. None: the rows of this condition are not compared.
        """
        ...

    def details(self, condition: str) -> Sequence[Detail]:
        """Return what a report shows of a condition or union beside its table."""
        ...

    def across(
        self, condition: str, rows: Mapping[str, Mapping[str, MetricValue]]
    ) -> Mapping[str, Mapping[str, MetricValue]]:
        """Return model -> further metrics of its row that all models' rows are needed for.

        `rows`: the metrics of every complete model in a condition or union, in one of the two readings. An
        adjustment for many comparisons is such a number.
        """
        ...

    def score_unit(
        self, numbers: Sequence[float], condition: str, conventions: Mapping[str, str]
    ) -> Mapping[str, float | None]:
        """Return what a unit with these numbers scores by itself, by path; None where there is no value.

        Averaged over a row's units they are the row's values of these paths.
        """
        ...

    def constant_answers(self, cases: Iterable[Case], condition: str) -> Mapping[str, JSON]:
        """Return baseline name -> the one prediction that it gives to each of these cases.

        It is scored as a model's would be; `condition` is no union.
        """
        ...

    def baselines(
        self, cases: Mapping[str, Iterable[Case]], conventions: Mapping[str, str]
    ) -> Mapping[str, BaselineRow]:
        """Return baseline name -> metrics or units of those that are no constant answer.

        `cases` has the conditions of a union in their order, or the one, each with the cases that count in
        it, in any order. Units are for one condition only.
        """
        ...
