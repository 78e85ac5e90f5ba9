"""What is compared: the units of one row of scores, and where they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from harness.benchmarks.scored import UnitTable

Kind: TypeAlias = Literal["model", "rater", "baseline"]

NO_ANSWER: Final = "no answer yet"
"""Why a case of an incomplete model is left out."""


@dataclass(frozen=True, slots=True, eq=False)
class RunCases:
    """The cases of one run by place: their ids, and digests of their contents and references.

    Contenders of one run share the object. Cases of two runs are the same where id and digest are. An id
    may stand at several places if no contender wants two of them (answers of several models to one case).
    """

    run: str
    ids: Sequence[str]
    digests: Sequence[str]


@dataclass(frozen=True, slots=True)
class Provenance:
    """What the numbers of a contender are no evidence of, and how its answers came to be.

    `settings` are those of its run (prompt, schema ...) as a reader sees them, `parameters` those of its
    model; where runs differ in them, the comparison says so. `graded_by` names the model whose grades its
    numbers are made of. `notes` are further sentences about it.
    """

    synthetic: bool = False
    simulated: bool = False
    imported: bool = False
    graded_by: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    parameters: str = ""
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Contender:
    """A model, rater or baseline with the units that its numbers are made of.

    `units.cases` are places in `cases`, `usable` (units) says which units have a prediction. `wanted` are
    the places that its run asks in this condition, `absent` says why some of them have not all their units;
    where it says nothing, nobody answered yet. `to_complete` counts the units that are nobody's answer.
    """

    label: str
    name: str
    kind: Kind
    run: str
    run_digest: str
    cases: RunCases
    units: UnitTable
    usable: NDArray[np.bool_]
    wanted: Sequence[int]
    repeats: int = 1
    absent: Mapping[int, str] = field(default_factory=dict)
    to_complete: int = 0
    provenance: Provenance = field(default_factory=Provenance)

    def __post_init__(self) -> None:
        if self.usable.shape != (len(self.units),):
            raise ValueError(f"{len(self.units)} units of {self.label!r}, {self.usable.shape} of outcomes")

    @property
    def incomplete(self) -> bool:
        """True if some of its units are nobody's answer: it has no rank."""
        return self.to_complete > 0
