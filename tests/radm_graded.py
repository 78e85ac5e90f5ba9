"""Graded answers about cases of RadM-Bench, as its scores see them: by hand, and in the paper's size."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.benchmarks.base import Case
from harness.benchmarks.radm.scored_task import ScoredTask
from harness.benchmarks.scored import Scored, UnitTable, Unsettled
from harness.canonical import JSON
from harness.outcomes import UnitOutcome

SUBSPECIALTIES = (
    "abdominal", "breast", "cardiovascular", "chest", "head and neck", "musculoskeletal", "neuroradiology",
    "pediatric", "urogenital",
)  # fmt: skip
FIVE: JSON = {"diagnoses": ["a", "b", "c", "d", "e"]}

TASK = ScoredTask()


@dataclass(frozen=True)
class Unit:
    """One answer: `tiers` of its diagnoses; None: nobody graded it. `usable` False: there is no answer.

    `unsettled`: why tiers that people gave do not stand, from rank 1 on.
    """

    case: Case
    tiers: tuple[int, ...] | None = None
    usable: bool = True
    repeat: int = 1
    condition: str = "text"
    unsettled: tuple[Unsettled, ...] = ()

    @property
    def scored(self) -> Scored:
        """Return it as the engine gives it to scorers."""
        grades: Mapping[str, JSON] = {}
        if self.tiers is not None:
            grades = {f"tier_{rank}": tier for rank, tier in enumerate(self.tiers, 1)}
        outcome = UnitOutcome.VALID if self.usable else UnitOutcome.UNPARSABLE
        why_not = {f"tier_{rank}": why for rank, why in enumerate(self.unsettled, 1)}
        return Scored(self.case, self.condition, outcome, FIVE if self.usable else None, grades, why_not)


def case(
    name: str,
    subset: str = "RadEdu",
    subspecialty: str = "chest",
    *,
    rare: bool = False,
    group: str | None = None,
) -> Case:
    """Return a case; those of RealClin are Chinese."""
    language = "zh" if subset == "RealClin" else "en"
    reference: dict[str, JSON] = {
        "diagnosis": "x", "rare": rare, "subset": subset, "subspecialty": subspecialty, "language": language
    }  # fmt: skip
    return Case(name, {"history": "h"}, {}, reference, group)


def table_of(units: Iterable[Unit], conditions: Sequence[str] = ("text",)) -> UnitTable:
    """Return units as one row of the scores has them, in the order of cases, repeats and conditions."""
    places: dict[str, int] = {}
    clusters: dict[str, int] = {}
    rows = []
    for unit in units:
        place = places.setdefault(unit.case.id, len(places))
        cluster = clusters.setdefault(unit.case.group or f"case {unit.case.id}", len(clusters))
        member = list(conditions).index(unit.condition)
        rows.append((place, unit.repeat, member, cluster, TASK.unit_numbers(unit.scored)))
    rows.sort(key=lambda row: row[:3])
    return UnitTable(
        np.array([row[4] for row in rows], dtype=np.float64).reshape(
            len(rows), len(TASK.table("text").numbers)
        ),
        np.array([row[0] for row in rows], dtype=np.int64),
        np.array([row[3] for row in rows], dtype=np.int64),
        np.array([row[1] for row in rows], dtype=np.int32),
        np.array([row[2] for row in rows], dtype=np.int32),
        tuple(conditions),
    )


def paper_cases(seed: int = 3) -> list[Case]:
    """Return 360 cases of each subset, 40 a subspecialty, of which 164 and 31 are rare."""
    found = []
    for subset, rare in (("RadEdu", 164), ("RealClin", 31)):
        dice = random.Random(f"{seed}/{subset}")
        chosen = set(dice.sample(range(360), rare))
        found += [
            case(f"{subset}-{number:03}", subset, SUBSPECIALTIES[number % 9], rare=number in chosen)
            for number in range(360)
        ]
    return found


def drawn_tiers(dice: random.Random, skill: float) -> tuple[int, ...]:
    """Return five tiers: the more skill, the more and the better hits."""
    return tuple(
        dice.choices((0, 1, 2, 3), (1 - skill, skill * 0.5, skill * 0.3, skill * 0.2))[0] for _ in range(5)
    )
