"""What a benchmark must offer; the engine knows nothing else about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias, cast

from harness.canonical import JSON
from harness.errors import ConfigError, UnknownNameError
from harness.media import Media
from harness.messages import Message, Schema
from harness.outcomes import UnitOutcome

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from harness.media_reading import MediaReader

UnitNumbers: TypeAlias = "NDArray[np.float64]"
"""Shape (units, numbers): what a benchmark's `unit_numbers` gives, a row a unit."""


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
class MetricValue:
    """One number with its n, or null with a reason. `sd` is over repeats, where there are several."""

    value: float | None
    n: int
    reason: str | None = None
    sd: float | None = None
    ci: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class MetricColumn:
    """One metric of the printed table: its path in the scores, its two head lines, and its decimals."""

    path: str
    head: tuple[str, str]
    decimals: int = 3


@dataclass(frozen=True, slots=True)
class Scored:
    """One unit as scorers see it; `prediction` None when the unit is unusable."""

    case: Case
    outcome: UnitOutcome
    prediction: JSON


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
    numbers: tuple[str, ...]
    """What the scores keep of a unit: the names of its numbers (see `unit_numbers`)."""
    conventions: Mapping[str, tuple[str, ...]]
    """Named options of the scores, each with its values, the default first."""
    main_metric: str
    """Path of the metric that ranks."""
    table_columns: tuple[MetricColumn, ...]
    """What the printed table shows, the main metric first; a narrow terminal drops the last ones."""
    table_legend: str
    """What the heads of the columns mean, for the notes under the table."""
    baseline_notes: Mapping[str, str]
    """Baseline name -> what it is, for the same notes."""

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

    def reformat_schema(self, condition: str) -> Schema | None:
        """Return the reformatter's schema, in which a field may be null."""
        ...

    def reformat_prompt(self, condition: str) -> Prompt:
        """Return the reformatter's prompt, with the placeholder {answer}."""
        ...

    def fill(self, value: JSON, answer: str) -> Filled:
        """Apply the filling policy to a reformatter's answer about `answer`."""
        ...

    def unit_numbers(self, unit: Scored) -> Sequence[float]:
        """Return all that the metrics need of one unit: as many numbers as `numbers` has names.

        Nothing else of a unit is kept while a run is scored. Raises ValueError for a reference that
        cannot be scored.
        """
        ...

    def metrics(self, units: UnitNumbers, conventions: Mapping[str, str]) -> Mapping[str, MetricValue]:
        """Return every metric path of one row; a unit without a prediction counts as the worst value.

        `conventions` has all of the benchmark's (see `chosen_conventions`), here and below.
        """
        ...

    def score_unit(
        self, numbers: Sequence[float], conventions: Mapping[str, str]
    ) -> Mapping[str, float | None]:
        """Return what a unit with these numbers scores by itself, by path; None where there is no value.

        Averaged over a row's units they are the row's values of these paths.
        """
        ...

    def baselines(
        self, cases: Iterable[Case], conventions: Mapping[str, str]
    ) -> Mapping[str, Mapping[str, MetricValue]]:
        """Return baseline name -> metrics, over the cases given in any order."""
        ...


def chosen_conventions(benchmark: Benchmark, wanted: Mapping[str, str]) -> dict[str, str]:
    """Return every convention with the value that is wanted, else its default. Raises ConfigError."""
    for name, value in wanted.items():
        known = benchmark.conventions.get(name)
        if known is None:
            raise ConfigError(
                f"unknown convention {name!r} of {benchmark.name}; known: {', '.join(benchmark.conventions)}"
            )
        if value not in known:
            raise ConfigError(f"convention {name!r} cannot be {value!r}; known: {', '.join(known)}")
    return {name: wanted.get(name, values[0]) for name, values in benchmark.conventions.items()}


BENCHMARKS = {"triage": "harness.benchmarks.triage"}


def get_benchmark(name: str) -> Benchmark:
    """Return a benchmark by name; each package holds one, named `benchmark`."""
    if name not in BENCHMARKS:
        raise UnknownNameError(f"unknown benchmark {name!r}; known: {', '.join(sorted(BENCHMARKS))}")
    return cast(Benchmark, import_module(BENCHMARKS[name]).benchmark)
