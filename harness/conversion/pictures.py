"""A file that is converted, one decoded picture of it, and the stack of them that a clip is made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from harness.errors import ConversionError

Array = NDArray[Any]
Function = Literal["LINEAR", "LINEAR_EXACT", "SIGMOID"]

MAX_PIXELS: Final = 100_000_000
"""Of one picture: 10,000 x 10,000, more than any detector has."""
MAX_FRAMES: Final = 20_000
"""Of one file, or slices of a volume in one direction."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file as the user gave it: its `path`, and its `name` relative to the folder that was given."""

    path: Path
    name: str


def fault(source: Source, what: str) -> ConversionError:
    """Return the error that says what is wrong with a file."""
    return ConversionError(f"{str(source.path)!r}: {what}")


@dataclass(frozen=True, slots=True)
class Window:
    """Values become grey by centre and width (PS3.3 C.11.2.1.2, C.11.2.1.3)."""

    centre: float
    width: float
    function: Function = "LINEAR"
    origin: str = "given"

    def to_json(self) -> dict[str, Any]:
        """Return what stands in the record."""
        return {
            "from": self.origin, "centre": self.centre, "width": self.width, "function": self.function,
        }


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Values become grey by a look-up table of the file (PS3.3 C.11.2.1.1); `values` lie in 0..1."""

    first: int
    values: NDArray[np.float64]
    origin: str = "tag"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and self.key() == other.key()

    def __hash__(self) -> int:
        return hash(self.key())

    def key(self) -> tuple[int, bytes]:
        """Return what makes two tables the same."""
        return self.first, self.values.tobytes()

    def to_json(self) -> dict[str, Any]:
        """Return what stands in the record: no entry of the table."""
        return {"from": self.origin, "table_entries": len(self.values)}


View = Window | Table


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A picture of shape (rows, columns), or (rows, columns, 3) of 8 bits where it is in `colour`.

    `values` are those of the quantity (Hounsfield units, say); `views` are the windows that the file offers;
    `spacing` is (between rows, between columns) in any unit, None where unknown; values within `padding` lie
    outside the picture and have no say in its window.
    """

    values: Array
    views: tuple[View, ...] = ()
    inverted: bool = False
    spacing: tuple[float, float] | None = None
    padding: tuple[float, float] | None = None

    @property
    def colour(self) -> bool:
        """Whether it is RGB and has no window."""
        return self.values.ndim == 3


class Stack(Protocol):
    """Pictures of one kind in one order: a slice, a sequence or one phase of it."""

    @property
    def sources(self) -> tuple[Source, ...]:
        """Return the files that they are made of."""

    @property
    def frames(self) -> tuple[tuple[int, int], ...]:
        """Return (index of the source, index within it) of each picture in order."""

    @property
    def part(self) -> str:
        """Return which part of the sources this is, as `t01`; empty where it is all."""

    @property
    def orientation(self) -> str:
        """Return how the pictures lie."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what a user should know of them."""

    @property
    def function(self) -> Function:
        """Return how a window that the user gives is applied."""

    @property
    def moving(self) -> bool:
        """Return whether it is a sequence, which becomes a clip where nothing else is wished."""

    def pictures(self, indices: Sequence[int]) -> Iterator[Picture]:
        """Decode the pictures at these places one at a time. Raises ConversionError naming the file."""
