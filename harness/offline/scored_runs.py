"""The scores of a run with the numbers of its units: as stored, or made anew where they are out of date."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from harness.benchmarks.scored import UnitTable
from harness.offline.score_rows import RowKind
from harness.offline.stored_run import StoredRun

Json: TypeAlias = Mapping[str, Any]


class RowKey(NamedTuple):
    """What names a row of a run's scores."""

    kind: RowKind
    name: str
    condition: str


@dataclass(frozen=True, slots=True)
class RowNumbers:
    """The units that a row's `as_answered` numbers are made of, and what became of all that it wants.

    `units.cases` are places in the run's `case_index`. `outcomes` (units of `units`) are places in
    `row_units.OUTCOMES`.
    """

    units: UnitTable
    outcomes: NDArray[np.uint8]


class ScoredRun(Protocol):
    """A run with its scores.

    `score` is `Score.to_json()`; `effort` what its answers took (`harness.offline.effort`); `rows` all whose
    units are kept: models, raters, and baselines of one answer.
    """

    stored: StoredRun
    score: Json
    effort: Json
    rows: Sequence[RowKey]

    async def numbers(self, row: RowKey) -> RowNumbers:
        """Return the units of a row. Raises KeyError for a row that is not kept."""
        ...
