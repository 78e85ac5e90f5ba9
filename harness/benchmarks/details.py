"""What a report shows of a benchmark beside its leaderboard, by metric paths: tables and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class Measured:
    """A metric path and what a reader calls it; `better` and `best` as in `MetricColumn`."""

    path: str
    label: str
    better: Literal["higher", "lower"] | None = "higher"
    best: float | None = 1.0


@dataclass(frozen=True, slots=True)
class Breakdown:
    """One metric over groups of cases or classes: a row a model, a column a group.

    `paths`: label of a group -> metric path, in order; `groups` and `values` are the titles of the two axes.
    `figure`: a heat map; lines over groups that are in an order; lines beside the diagonal, where the values
    would be equal to the groups' own numbers; or none.
    """

    id: str
    title: str
    paths: Mapping[str, str]
    groups: str
    values: str
    figure: Literal["heat", "lines", "diagonal"] | None
    better: Literal["higher", "lower"] | None = "higher"
    best: float | None = 1.0
    without: str | None = None
    """Only models that have no value of this path are shown; None: all rows."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """Shares of a confusion matrix, one a model: `paths` has row label -> column label -> metric path."""

    id: str
    title: str
    paths: Mapping[str, Mapping[str, str]]
    rows: str
    columns: str


@dataclass(frozen=True, slots=True)
class Against:
    """Two metrics of each model, one against the other, as points."""

    id: str
    title: str
    x: Measured
    y: Measured


@dataclass(frozen=True, slots=True)
class Change:
    """A metric of each model before and after (raw and normalised, say), as two joined points."""

    id: str
    title: str
    before: Measured
    after: Measured


@dataclass(frozen=True, slots=True)
class Flow:
    """How the units of each model move between levels of a metric from condition to condition (alluvial).

    `conditions` are in order; a report shows it where a run asks them all. `path` is one that
    `Benchmark.score_unit` gives; `levels` has label -> least value, ascending, and the first takes everything
    below the second.
    """

    id: str
    title: str
    conditions: Sequence[str]
    path: str
    levels: Mapping[str, float]


Detail: TypeAlias = Breakdown | Matrix | Against | Change | Flow
