"""A report as data: sections of paragraphs, tables and figures, which every format writes out alike.

What a cell shows is decided once, as `Cell.text`; no writer formats a number. So a number is the same in
HTML, CSV, JSON, Markdown, LaTeX and in the figures, whose data are numbers of tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from harness.canonical import JSON
from harness.offline.row_units import RowKind as ScoredKind

RowKind: TypeAlias = ScoredKind | Literal["published", "other"]
KIND_HEADS: Final[Mapping[RowKind, str]] = {
    "model": "Models",
    "rater": "Raters",
    "baseline": "Baselines",
    "published": "Published figures",
    "other": "Others",
}
"""Every kind of row of a table, in their order, and the head of such a group."""
Tone: TypeAlias = Literal["plain", "note", "warning"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell. `text` is what is shown, in every format; `value` is what it was made of, in full.

    A number has its `n`; `low` to `high` is its interval, and `interval` that as text ("0.41-0.52"), shown
    after or below it. An empty cell has the reason why as its `note`.
    """

    text: str
    value: JSON = None
    n: int | None = None
    low: float | None = None
    high: float | None = None
    interval: str = ""
    note: str = ""
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Column:
    """A column: `id` names it in CSV and JSON (a metric path, say), `head` in pages; `title` explains it."""

    id: str
    head: str
    title: str = ""
    numeric: bool = True


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row. `name` is its head (a model's); `notes` are printed below the table, marked at the name."""

    name: str
    cells: Sequence[Cell]
    kind: RowKind = "model"
    notes: Sequence[str] = ()
    marked: bool = False
    """True where the row must not be read without its notes."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table: every row has a cell for every column; rows of one kind stand together, in order."""

    id: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[TableRow]
    names: str = "model"
    """What the rows are: the head of the first column."""
    caption: str = ""
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Point:
    """A value in a figure, with its interval; `mark` sets those of one kind apart from the others."""

    name: str
    x: float
    y: float = 0.0
    low: float | None = None
    high: float | None = None
    mark: RowKind = "model"


@dataclass(frozen=True, slots=True)
class Intervals:
    """Values of rows with their intervals, a line each, in order from the top; `y` is not used."""

    x_title: str
    points: Sequence[Point]


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Values by row and column, None where there is none; `texts` are the cells as shown.

    `low` and `high` are the ends of the scale.
    """

    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float | None]]
    texts: Sequence[Sequence[str]]
    x_title: str
    value_title: str
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Lines:
    """Series over ordered groups, a line each; `diagonal` draws where a value equals its group's number."""

    x_labels: Sequence[str]
    series: Mapping[str, Sequence[float | None]]
    x_title: str
    y_title: str
    diagonal: bool = False


@dataclass(frozen=True, slots=True)
class Scatter:
    """Points with their names; `front` joins those that no other point beats in both (`better`: x, y)."""

    points: Sequence[Point]
    x_title: str
    y_title: str
    front: Sequence[str] = ()
    """Names of the points on the Pareto front, in the order of x; empty where there is none to show."""
    log_x: bool = False


@dataclass(frozen=True, slots=True)
class Joined:
    """Two values a row, before and after, joined: name -> (before, after)."""

    pairs: Mapping[str, tuple[float, float]]
    before: str
    after: str
    x_title: str


@dataclass(frozen=True, slots=True)
class Stacked:
    """Shares of each row by part, in order; the shares of a row sum to 1 or less."""

    rows: Sequence[str]
    parts: Mapping[str, Sequence[float]]
    x_title: str


@dataclass(frozen=True, slots=True)
class Alluvial:
    """Counts that flow between the levels of consecutive stages, a panel a model.

    `panels`: name -> for each pair of neighbouring stages, counts [from level][to level].
    """

    stages: Sequence[str]
    levels: Sequence[str]
    panels: Mapping[str, Sequence[Sequence[Sequence[int]]]]
    unit: str = "cases"


Drawing: TypeAlias = Intervals | HeatMap | Lines | Scatter | Joined | Stacked | Alluvial


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing; `alt` says what it shows to who cannot see it, `table` is the id of its numbers' table."""

    id: str
    title: str
    alt: str
    drawing: Drawing
    table: str
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """Terms with what is to be said of them, in order: what was sent, versions, dates."""

    id: str
    title: str
    items: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph of plain text; one with a tone stands out."""

    text: str
    tone: Tone = "plain"


Part: TypeAlias = Paragraph | Table | Figure | Facts


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with what stands below it; `sections` are one level lower."""

    id: str
    title: str
    parts: Sequence[Part] = ()
    sections: Sequence[Section] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """A whole report: no clock and no path is in it, so that equal stores give equal bytes.

    `warnings` stand on every page and file (SYNTHETIC DATA, say). Ids are unique, of letters, digits, "-"
    and "_".
    """

    title: str
    sections: Sequence[Section]
    warnings: Sequence[str] = ()
    facts: Mapping[str, JSON] = field(default_factory=dict)
    """What names its runs, for the JSON."""
