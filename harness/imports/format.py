"""What a format of result files must offer; `registry` names them all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from harness.imports.documents import Document
from harness.imports.hints import Hints
from harness.imports.source import SourceFile
from harness.imports.stated import Stated


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a file. `number` counts from 1, lines where the file has lines; `body` is kept as it is.

    `problem` says why the row cannot be read; there is no body then.
    """

    number: int
    body: bytes
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Which ask one answer of a row belongs to. `id` is the tool's, a text or a number.

    `repeat` and `attempt` count from 1; None: the row does not say.
    """

    id: str | int
    choice: int = 0
    repeat: int | None = None
    attempt: int | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """What a file says of itself: the model that was asked, the tool's version, notes for the user."""

    model: str | None = None
    tool_version: str | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class Format(Protocol):
    """One tool's result files. `places` and `state` are pure; only they are used when answers are scored."""

    name: str
    noun: str
    """What a row is called in messages: line, row, sample."""
    first_position: int | None
    """The number of the first case, where a tool numbers cases by their position; None where it does not."""
    positions_only: bool
    """True if the tool knows cases by nothing but their position."""

    mapped: frozenset[str]
    """The fields that `--map` can point to: all others have one place in this format."""

    def fits(self, source: SourceFile) -> bool:
        """Tell whether a file is of this format, by its name and first bytes."""
        ...

    def head(self, source: SourceFile) -> Head:
        """Return what the file says of itself. Raises ImportFileError."""
        ...

    def rows(self, source: SourceFile) -> Iterator[Row]:
        """Yield every row. Raises ImportFileError where the file as a whole cannot be read."""
        ...

    def places(self, document: Document, hints: Hints) -> Sequence[Place]:
        """Return the asks that a row answers. Raises BadRowError that says what was looked for."""
        ...

    def state(self, document: Document, hints: Hints) -> Stated:
        """Return what a row states of the answer that the hints mean. Raises BadRowError."""
        ...
