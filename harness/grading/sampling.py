"""Which answers of a run are graded: a sample by a stored seed, stratified, with so many answers a case.

An answer's place in the draw is the SHA-256 of the seed and its unit: so the same seed draws the same answers
on every machine and in every version, and whatever else is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from operator import itemgetter
from typing import Final

from harness.cache.rows import UnitId
from harness.canonical import JSON, digest

NOT_DRAWN: Final = "not drawn"
"""Why a usable answer is not graded: the sample has no room for it."""


@dataclass(frozen=True, slots=True)
class Drawable:
    """An answer that can be graded, with the kind of its case."""

    unit: UnitId
    stratum: str = ""


def draw(
    answers: Iterable[Drawable], items: int | None, seed: int, per_case: int | None = None
) -> list[UnitId]:
    """Return the units that are drawn, in the order of the draw; `items` None: all of them.

    Each stratum has its share of the sample, by largest remainders, and at least one where there is room for
    all strata. With `per_case` cases are drawn, and at most so many answers of each; where that does not
    fill a stratum's share, further answers of its cases do. Raises ValueError for items or answers a case
    below 1.
    """
    if (items is not None and items < 1) or (per_case is not None and per_case < 1):
        raise ValueError("at least one answer is drawn, and one of each case")
    placed = [(_place(seed, list(astuple(one.unit))), one) for one in answers]
    placed.sort(key=itemgetter(0))
    strata: dict[str, list[UnitId]] = {}
    for _, one in placed:
        strata.setdefault(one.stratum, []).append(one.unit)
    wanted = shares({name: len(units) for name, units in strata.items()}, items)
    chosen = {
        unit for name, units in strata.items() for unit in _by_case(units, seed, per_case)[: wanted[name]]
    }
    return [one.unit for _, one in placed if one.unit in chosen]


def shares(sizes: Mapping[str, int], items: int | None) -> dict[str, int]:
    """Return how many are drawn of each stratum, by its size; all where `items` is None or no less."""
    total = sum(sizes.values())
    if items is None or items >= total:
        return dict(sizes)
    found = {name: items * size // total for name, size in sizes.items()}
    # The largest remainders first; of equal ones the larger stratum, then by name.
    order = sorted(sizes, key=lambda name: (-(items * sizes[name] % total), -sizes[name], name))
    for name in order[: items - sum(found.values())]:
        found[name] += 1
    if items >= len(sizes):
        for name in sorted(name for name, n in found.items() if n == 0):
            most = max(sorted(found), key=lambda other: found[other])
            found[most] -= 1
            found[name] = 1
    return found


def _by_case(units: Sequence[UnitId], seed: int, per_case: int | None) -> list[UnitId]:
    """Return units as they are taken: cases in a drawn order, a few of each, then the rest."""
    if per_case is None:
        return list(units)
    cases: dict[str, list[UnitId]] = {}
    for unit in units:
        cases.setdefault(unit.case_id, []).append(unit)
    order = sorted(cases, key=lambda case: _place(seed, case))
    first = [unit for case in order for unit in cases[case][:per_case]]
    return first + [unit for case in order for unit in cases[case][per_case:]]


def _place(seed: int, what: JSON) -> str:
    return digest([seed, what])
