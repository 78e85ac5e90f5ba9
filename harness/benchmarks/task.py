"""What benchmarks have in common: the answer to each question of the engine where there is nothing to say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from inspect import getfile
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from harness.answers.readings import TextReader
from harness.benchmarks.base import Benchmark, Case, Filled, Prompt, Question, Subject
from harness.benchmarks.details import Detail
from harness.benchmarks.scored import BaselineRow, MetricValue, UnitTable
from harness.canonical import JSON
from harness.errors import ConfigError
from harness.messages import Schema
from harness.new_folder import copy_folder

if TYPE_CHECKING:
    from harness.benchmarks.sheets import GradingTask
    from harness.scoring.replicates import Statistic, Units


class Task:
    """Base of all benchmarks and steps: without reformatter, unions, baselines, grades or conventions.

    See `harness.benchmarks.base.Benchmark` for what each of these says.
    """

    reformatter: str | None = None
    reformatter_departure: str | None = None
    default_params: Mapping[str, JSON] = MappingProxyType({})
    image_recipe: str | None = None
    conventions: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    questions: Mapping[str, Question] = MappingProxyType({})
    strata: Sequence[str] = ()
    partial_conditions: frozenset[str] = frozenset()

    @property
    def gradings(self) -> Mapping[str, GradingTask]:
        """Return nothing: people are asked nothing here."""
        return {}

    def asks(self, case: Case, condition: str) -> bool:
        """Return True: every condition is asked of every case."""
        return True

    def compared_texts(self, case: Case, condition: str) -> tuple[str | None, str | None]:
        """Return no texts: there is no expert's to compare an answer with, and none that it words anew."""
        return None, None

    def aliases(self, value: JSON) -> JSON:
        """Return the value as it is."""
        return value

    def text_reader(self, condition: str) -> TextReader | None:
        """Return None: text answers stand as they are."""
        return None

    def reformat_schema(self, condition: str) -> Schema | None:
        """Return None: nobody restates answers."""
        return None

    def reformat_prompt(self, condition: str) -> Prompt:
        """Raise ConfigError: nobody restates answers."""
        raise ConfigError("this benchmark has no reformatter; use --reformatter none")

    def fill(self, value: JSON, answer: str) -> Filled:
        """Return the value as it is: nobody restates answers."""
        return Filled(value)

    def sample_dir(self) -> Path:
        """Return the folder `sample` beside the module of the benchmark: the bundled synthetic one."""
        return Path(getfile(type(self))).parent / "sample"

    def write_sample(self, out: Path) -> None:
        """Copy the bundled sample, its SYNTHETIC mark included. Raises ConfigError unless `out` is empty."""
        copy_folder(self.sample_dir(), out)

    def unions(self, conditions: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        """Return nothing: conditions are scored by themselves alone."""
        return {}

    def subject(self, case: Case) -> Subject | None:
        """Return None: these are cases of their own."""
        return None

    def prepared(self, conventions: Mapping[str, str]) -> AbstractContextManager[Benchmark]:
        """Give the benchmark as it is."""
        return nullcontext(cast("Benchmark", self))

    def tools_here(self, conventions: Mapping[str, str]) -> Mapping[str, bool]:
        """Return nothing: all that metrics take is in this package and what it requires."""
        return {}

    def sums(
        self, units: UnitTable, condition: str, conventions: Mapping[str, str]
    ) -> tuple[Units, Statistic] | None:
        """Return None: rows are not compared."""
        return None

    def details(self, condition: str) -> Sequence[Detail]:
        """Return nothing: there is the table alone."""
        return ()

    def across(
        self, condition: str, rows: Mapping[str, Mapping[str, MetricValue]]
    ) -> Mapping[str, Mapping[str, MetricValue]]:
        """Return nothing: no number of a row depends on other rows."""
        return {}

    def constant_answers(self, cases: Iterable[Case], condition: str) -> Mapping[str, JSON]:
        """Return nothing: there are no baselines of one answer."""
        return {}

    def baselines(
        self, cases: Mapping[str, Iterable[Case]], conventions: Mapping[str, str]
    ) -> Mapping[str, BaselineRow]:
        """Return nothing: there are no other baselines."""
        return {}
